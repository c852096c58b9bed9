"""Commands of a client: read, acknowledged, carried out side by side, answered. Their actions are operations."""

import asyncio
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import msgspec
from pydantic import Field, ValidationError

from ...errors import RelayError
from ...models.envelope import encode_message, to_json
from ...models.fields import Identifier
from ...models.named import checker_of, request_model
from ...models.problems import did_you_mean, errors_of, validation_refusal
from ...models.reading import as_body, decode_json
from ...models.requests.base import RequestModel
from ...models.requests.queries import QueryModel
from ...operations.operation import ID, Operation
from ...operations.table import OPERATIONS
from ...text.render import make_room, render_answer
from ..performing import perform
from ..transport.uvicorn_websocket import Gone, Stalled
from .connection import Close, Connection

LOG = logging.getLogger(__name__)

AT_ONCE = 16
"""Commands of one connection that are carried out at a time."""
ECHOED = 64 * 1024
LONGEST_ID = 1000
LONGEST_ACTION = 100
SETTLING = 20.0
OWN = ("action", "id", "params", "format")
"""Fields of a command that are not parameters of its action."""

Number = Annotated[Identifier, Field(strict=True)]
Name = Annotated[str, Field(strict=True, max_length=128)]
NUMBERS = frozenset({"frame_id", "variables_reference"})


class NoParameters(RequestModel):
    """For actions without parameters."""


class Action:
    """An operation as an action: what REST has in path, query and body is one object here."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self._needed = [name for name in operation.routes[0].path_names if name != ID]
        self.ids = [*self._needed, *operation.optional_ids]
        self._renamed = {old: new for route in operation.routes for old, new in route.renamed.items()}

    @cached_property
    def params_model(self) -> Any:
        name = self.operation.action_takes or self.operation.takes
        model = request_model(name) if name else NoParameters
        is_query = isinstance(model, type) and issubclass(model, QueryModel)
        return as_body(model) if is_query else model

    def read_params(self, given: dict[str, Any]) -> dict[str, object]:
        """Return the operation's parameters; all that is wrong with what was given is told at once."""
        rest = {name: value for name, value in given.items() if name not in self.ids}
        params: dict[str, object] = {}
        errors: list[Any] = []
        for name in self.ids:
            if given.get(name) is None and name not in self._needed:
                continue
            try:
                if name not in given:
                    errors.append({"type": "missing", "loc": ("body", name), "msg": "", "input": None})
                else:
                    checked = checker_of(Number if name in NUMBERS else Name).validate_python(given[name])
                    params[self._renamed.get(name, name)] = checked
            except ValidationError as error:
                errors += errors_of(error, "body", name)
        try:
            checked = checker_of(self.params_model).validate_python(rest)
        except ValidationError as error:
            errors += errors_of(error, "body")
        if errors:
            raise validation_refusal(errors, self.params_model, self.ids)
        return {**checked.params(), **params}


ACTIONS = {operation.name: Action(operation) for operation in OPERATIONS.values() if operation.is_action}
ALSO_CALLED = {other: operation.name for operation in OPERATIONS.values() for other in operation.also_called}


def action_called(name: str) -> Action:
    """Return the action that a name means; `step-over` is `step_over`."""
    plain = name.replace("-", "_")
    operation = ALSO_CALLED.get(plain, plain)
    if operation in ACTIONS:
        return ACTIONS[operation]
    known = sorted([*ACTIONS, *ALSO_CALLED])
    message = f"There is no action '{name[:100]}'{did_you_mean(plain, known)}"
    errors = [{"field": "action", "message": message, "value": name[:100]}]
    raise RelayError("INVALID_REQUEST", message, suggestion="Use one of details.actions", errors=errors, actions=known)


@dataclass(frozen=True)
class Command:
    given: dict[str, Any]
    text: bytes

    @property
    def answer_label(self) -> dict[str, Any]:
        """Label that tells the command's answers from those of others."""
        action = self.given.get("action")
        named = {"action": action} if isinstance(action, str) and len(action) <= LONGEST_ACTION else {}
        return {**named, "id": msgspec.Raw(to_json(self.given["id"]))} if "id" in self.given else named

    @property
    def echoed_text(self) -> Any:
        """All of it, unless it is very long."""
        return msgspec.Raw(self.text) if len(self.text) <= ECHOED else {**self.answer_label, "truncated": True}

    @property
    def find_action(self) -> Action:
        name = self.given.get("action")
        if not isinstance(name, str):
            raise invalid_command("action", "An action is required, such as step", name)
        return action_called(name)

    @property
    def is_for_text(self) -> bool:
        """Tell whether the data of its answer is to be text."""
        form = self.given.get("format", "json")
        if form not in ("json", "text"):
            raise invalid_command("format", "Must be json or text", form)
        return bool(form == "text")

    @property
    def operation_params(self) -> dict[str, Any]:
        beside = {name: value for name, value in self.given.items() if name not in OWN}
        params = self.given.get("params")
        if params is None:
            return beside
        if not isinstance(params, dict):
            raise invalid_command("params", "Must be a JSON object", params)
        if beside:
            first, text = next(iter(beside)), "Give parameters beside action, or all of them in params, not both"
            raise invalid_command(first, text, beside[first])
        return params


def command_from(given: str | bytes) -> Command:
    if isinstance(given, bytes):
        message = "Commands are text, and this is a binary message"
        raise RelayError("INVALID_REQUEST", message, suggestion="Send JSON as text")
    text = given.encode()
    content = decode_json(text, "command")
    if not isinstance(content, dict):
        raise invalid_command("", "Must be a JSON object", content)
    command = Command(content, text)
    if len(to_json(content.get("id"))) > LONGEST_ID:
        raise invalid_command("id", f"Must have at most {LONGEST_ID} characters as JSON", None)
    return command


def invalid_command(field: str, text: str, value: Any) -> RelayError:
    shown = value if value is None or len(to_json(value)) <= 300 else None
    message = f"{field}: {text}" if field else f"A command {text[0].lower()}{text[1:]}"
    suggestion = 'Send a command such as {"action": "step", "id": 1}'
    errors = [{"field": field, "message": text, "value": shown}]
    return RelayError("INVALID_REQUEST", message, suggestion=suggestion, errors=errors)


class Commands:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._underway: set[asyncio.Task[None]] = set()

    async def listen_for_commands(self) -> Close:
        while True:
            await self._take_command(await self._connection.receive())

    async def _take_command(self, given: str | bytes) -> None:
        try:
            command = command_from(given)
        except RelayError as error:
            await self._send_answer("error", error.to_dict())
            return
        await self._send_answer("ack", command.echoed_text)
        try:
            action = command.find_action
            self._connection.caller.require(action.operation.name)
            as_text = command.is_for_text
            params = action.read_params(command.operation_params)
            if len(self._underway) >= AT_ONCE:
                raise RelayError("TOO_MANY_COMMANDS", f"{AT_ONCE} commands are being carried out already")
        except RelayError as error:
            if error.code == "UNAUTHORIZED":
                raise  # the token is no longer good: it is over
            await self._send_answer("error", {**command.answer_label, **error.to_dict()})
            return
        work = self._carry_out(command, action.operation, params, as_text)
        task = asyncio.get_running_loop().create_task(work)
        self._underway.add(task)
        task.add_done_callback(self._underway.discard)

    async def _carry_out(self, command: Command, operation: Operation, params: dict[str, Any], as_text: bool) -> None:
        connection = self._connection
        try:
            params[ID] = connection.session_id
            data = await (self._answer_in_text(operation, params) if as_text else self._answer(operation, params))
            kind, payload = "result", {**command.answer_label, "data": data}
        except Exception as error:
            if not isinstance(error, RelayError):
                LOG.exception("%s failed", operation.name)
                error = RelayError("INTERNAL_ERROR", f"Unexpected server error: {type(error).__name__}")
            kind, payload = "error", {**command.answer_label, **error.to_dict()}
        try:
            await self._send_answer(kind, payload)
        except (Gone, Stalled):
            LOG.debug("nobody is there for the answer to %s", operation.name)

    async def _answer(self, operation: Operation, params: dict[str, Any]) -> msgspec.Raw:
        return msgspec.Raw(await perform(self._connection.relay, operation, self._connection.caller, params))

    async def _answer_in_text(self, operation: Operation, params: dict[str, Any]) -> str:
        base = self._connection.relay.root_of(self._connection.session_id)
        answer = await self._answer(operation, make_room(operation.name, params))
        return render_answer(operation.name, bytes(answer), base, budget=params.get("budget"))

    async def _send_answer(self, kind: str, payload: Any) -> None:
        await self._connection.wire.send_texts([encode_message(self._connection.session_id, kind, payload)])

    async def settle_running(self) -> None:
        """Waits for what is being carried out, such as the end of the session."""
        if self._underway:
            await asyncio.wait(self._underway, timeout=SETTLING)

    async def stop_waiting(self) -> None:
        """Stop all waits. What programs were told to do they do."""
        for task in self._underway:
            task.cancel()
        await asyncio.gather(*self._underway, return_exceptions=True)
