"""Commands of a client: read, acknowledged, carried out side by side, answered."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import msgspec

from ..errors import RelayError
from ..models.envelope import to_json
from ..models.reading import decoded
from ..models.streams import message
from .actions import ACTIONS, carry_out, operation_called
from .connection import Close, Connection
from .wire import Gone, Stalled

LOG = logging.getLogger(__name__)

AT_ONCE = 16
"""Commands of one connection that are carried out at a time."""
ECHOED = 64 * 1024
LONGEST_ID = 1000
LONGEST_ACTION = 100
SETTLING = 20.0
OWN = ("action", "id", "params")
"""Fields of a command that are not parameters of its action."""


@dataclass(frozen=True)
class Command:
    given: dict[str, Any]
    text: bytes

    @property
    def label(self) -> dict[str, Any]:
        """What tells its answers from those of others."""
        action = self.given.get("action")
        named = {"action": action} if isinstance(action, str) and len(action) <= LONGEST_ACTION else {}
        return {**named, "id": msgspec.Raw(to_json(self.given["id"]))} if "id" in self.given else named

    @property
    def echo(self) -> Any:
        """All of it, unless it is very long."""
        return msgspec.Raw(self.text) if len(self.text) <= ECHOED else {**self.label, "truncated": True}

    @property
    def operation(self) -> str:
        action = self.given.get("action")
        if not isinstance(action, str):
            raise invalid("action", "An action is required, such as step", action)
        return operation_called(action)

    @property
    def params(self) -> dict[str, Any]:
        beside = {name: value for name, value in self.given.items() if name not in OWN}
        params = self.given.get("params")
        if params is None:
            return beside
        if not isinstance(params, dict):
            raise invalid("params", "Must be a JSON object", params)
        if beside:
            first = next(iter(beside))
            raise invalid(first, "Give parameters beside action, or all of them in params, not both", beside[first])
        return params


def command_from(given: str | bytes) -> Command:
    if isinstance(given, bytes):
        raise RelayError(
            "INVALID_REQUEST", "Commands are text, and this is a binary message", suggestion="Send JSON as text"
        )
    text = given.encode()
    content = decoded(text, "command")
    if not isinstance(content, dict):
        raise invalid("", "Must be a JSON object", content)
    command = Command(content, text)
    if len(to_json(content.get("id"))) > LONGEST_ID:
        raise invalid("id", f"Must have at most {LONGEST_ID} characters as JSON", None)
    return command


def invalid(field: str, text: str, value: Any) -> RelayError:
    shown = value if value is None or len(to_json(value)) <= 300 else None
    return RelayError(
        "INVALID_REQUEST",
        f"{field}: {text}" if field else f"A command {text[0].lower()}{text[1:]}",
        suggestion='Send a command such as {"action": "step", "id": 1}',
        errors=[{"field": field, "message": text, "value": shown}],
    )


class Commands:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._underway: set[asyncio.Task[None]] = set()

    async def listen(self) -> Close:
        while True:
            await self._take(await self._connection.receive())

    async def _take(self, given: str | bytes) -> None:
        try:
            command = command_from(given)
        except RelayError as error:
            await self._send("error", error.to_dict())
            return
        await self._send("ack", command.echo)
        try:
            operation = command.operation
            self._connection.caller.require(operation)
            params = ACTIONS[operation].params(command.params)
            if len(self._underway) >= AT_ONCE:
                raise RelayError("TOO_MANY_COMMANDS", f"{AT_ONCE} commands are being carried out already")
        except RelayError as error:
            if error.code == "UNAUTHORIZED":
                raise  # the token is no longer good: it is over
            await self._send("error", {**command.label, **error.to_dict()})
            return
        task = asyncio.get_running_loop().create_task(self._carry_out(command, operation, params))
        self._underway.add(task)
        task.add_done_callback(self._underway.discard)

    async def _carry_out(self, command: Command, operation: str, params: dict[str, Any]) -> None:
        connection = self._connection
        try:
            answer = await carry_out(connection.relay, connection.session_id, operation, params)
            kind, payload = "result", {**command.label, "data": msgspec.Raw(answer)}
        except RelayError as error:
            kind, payload = "error", {**command.label, **error.to_dict()}
        except Exception as error:
            LOG.exception("%s failed", operation)
            failed = RelayError("INTERNAL_ERROR", f"Unexpected server error: {type(error).__name__}")
            kind, payload = "error", {**command.label, **failed.to_dict()}
        try:
            await self._send(kind, payload)
        except (Gone, Stalled):
            LOG.debug("nobody is there for the answer to %s", operation)

    async def _send(self, kind: str, payload: Any) -> None:
        await self._connection.send([message(self._connection.session_id, kind, payload)])

    async def settle(self) -> None:
        """Waits for what is being carried out, such as the end of the session."""
        if self._underway:
            await asyncio.wait(self._underway, timeout=SETTLING)

    async def stop(self) -> None:
        """Nobody waits any more. What programs were told to do they do."""
        for task in self._underway:
            task.cancel()
        await asyncio.gather(*self._underway, return_exceptions=True)
