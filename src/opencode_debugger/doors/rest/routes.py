"""A route for each spelling of each operation: checks who asks, reads what is asked, strictly, and has it done."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property, partial
from typing import Annotated, Any

import msgspec
from pydantic import BeforeValidator, Field, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from ...config import CHOOSING_PROGRAMS
from ...errors import RelayError
from ...models.envelope import to_json
from ...models.fields import MAX_INTEGER, integer_text
from ...models.named import checker_of, request_model
from ...models.problems import errors_of, validation_refusal
from ...models.reading import QueryReader, decode_json, pairs_of
from ...models.requests.breakpoints import NAME_PATTERN
from ...operations.asking_client import asking_client, client_from_headers
from ...operations.door_words import set_door
from ...operations.operation import ID, Operation, Route
from ...operations.table import OPERATIONS, SUBJECTS
from ...relay.service import Relay
from ...text.render import is_stop_report, make_room
from ..performing import perform
from . import signing_in, sse, timeline_export
from .answer_form import AnswerForm, prefers, read_form, without_form
from .front_page import address_of
from .recording_download import download_recording
from .responses import formed_response, with_page_link

PREFIX = "/api/v1"


def text_id(description: str, example: str) -> Any:
    return Annotated[str, Field(description=description, max_length=128, examples=[example])]


def whole_number(description: str, example: int) -> Any:
    checks = (Field(ge=0, le=MAX_INTEGER), BeforeValidator(integer_text))
    return Annotated[int, *checks, Field(description=description, examples=[example])]


PATH_PARAMETERS: dict[str, Any] = {
    "session_id": text_id("Session identifier.", "sess_a1b2c3d4"),
    "breakpoint_id": text_id("Breakpoint identifier.", "bp_1"),
    "data_breakpoint_id": text_id("Data breakpoint identifier.", "dbp_1"),
    "watch_id": text_id("Watch identifier.", "w_1"),
    "thread_id": whole_number("Thread identifier.", 1),
    "entry_id": whole_number("Number of an entry of the timeline.", 17),
    "call_id": whole_number("Number of a recorded call.", 41),
    "frame_id": whole_number("Frame: 0 is the top.", 0),
    "variables_reference": whole_number("Reference from a scope or a variable.", 1000),
    "name": Annotated[str, Field(description="Name of the profile.", pattern=NAME_PATTERN, examples=["checkout-bug"])],
}
"""Parameters in paths: their types, and how they are described."""


async def get_health(request: Request, form: AnswerForm, params: dict[str, Any]) -> Response:
    health = request.app.state.relay.health()
    return formed_response(form, "health", to_json(health), 200 if health.status == "healthy" else 503)


async def get_info(request: Request, form: AnswerForm, params: dict[str, Any]) -> Response:
    info = await request.app.state.relay.info()
    methods: dict[str, list[str]] = {}
    for route in request.app.routes:
        if isinstance(route, OperationRoute):
            methods.setdefault(route.path, []).append(route.route.method)
    told = msgspec.structs.replace(info, endpoints=list(methods), methods=methods)
    return formed_response(form, "server_info", to_json(told))


async def update_config(request: Request, form: AnswerForm, params: dict[str, Any]) -> Response:
    if params["changes"].keys() & CHOOSING_PROGRAMS:
        request.scope["caller"].require("choose_programs")
    return formed_response(form, "update_config", to_json(await request.app.state.relay.update_config(**params)))


async def export_timeline(request: Request, form: AnswerForm, params: dict[str, Any]) -> Response:
    relay, operation = request.app.state.relay, OPERATIONS["export_timeline"]
    answer = await perform(relay, operation, request.scope["caller"], params)
    if form.is_text or form.is_lean or wants_json(request):
        return formed_response(form, operation.name, answer)
    named = f'attachment; filename="{timeline_export.file_name(answer)}"'
    return HTMLResponse(timeline_export.timeline_page(answer), headers={"Content-Disposition": named, "Vary": "Accept"})


def wants_json(request: Request) -> bool:
    asked = dict(pairs_of(request.scope["query_string"])).get("format")
    return asked == "json" or prefers(request.scope, "application/json")


ONLY_WHILE_AWAITED = ("run_program", "attach_program")
"""Operations that are not carried out for a client that has gone: nobody would know of the session."""


async def require_client(request: Request) -> None:
    if await request.is_disconnected():
        raise ClientDisconnect


async def while_awaited(request: Request, performing: Awaitable[bytes]) -> bytes:
    """Wait for an answer as long as the client does. Who hangs up ends the wait, and not what is waited for."""
    answering, leaving = asyncio.ensure_future(performing), asyncio.ensure_future(hung_up(request))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ClientDisconnect
        return answering.result()
    finally:
        answering.cancel()
        leaving.cancel()


async def hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


OWN_ANSWERS: dict[str, Callable[[Request, AnswerForm, dict[str, Any]], Awaitable[Response]]] = {
    "health": get_health,
    "server_info": get_info,
    "update_config": update_config,
    "export_timeline": export_timeline,
    "sign_in": signing_in.sign_in,
    "sign_out": signing_in.sign_out,
    "make_sign_in_code": signing_in.make_code,
}
"""Operations whose REST answer is more than the operation's, such as a status of its own."""
STREAMS: dict[str, Callable[[Request, dict[str, Any]], Awaitable[Response]]] = {
    "follow_output": sse.follow_output,
    "follow_events": sse.follow_events,
    "follow_sessions": sse.follow_sessions,
    "export_recording": download_recording,
}


class OperationRoute(StarletteRoute):
    def __init__(self, operation: Operation, route: Route, tag: str) -> None:
        super().__init__(PREFIX + route.path, self.make_response, methods=[route.method])
        self.methods = {route.method}  # without HEAD
        self.operation = operation
        self.route = route
        self.tag = tag
        self.arguments = RequestArguments(operation, route)
        self.app = self.answer_request

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell most requests at once that they are for another route."""
        return super().matches(scope) if self.path_regex.match(scope["path"]) else (Match.NONE, {})

    async def answer_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = client_from_headers(scope["headers"])
        asking_client.set(client)
        set_door(client.door)
        scope["caller"].require(self.operation.name)
        response = await self.make_response(Request(scope, receive))
        await response(scope, receive, send)

    async def make_response(self, request: Request) -> Response:
        form, params = await self.arguments.bind_request(request)
        name, relay = self.operation.name, request.app.state.relay
        if name in STREAMS:
            return await STREAMS[name](request, params)
        if name in OWN_ANSWERS:
            return await OWN_ANSWERS[name](request, form, params)
        if name in ONLY_WHILE_AWAITED:
            params["still_awaited"] = partial(require_client, request)
        budget, base = params.get("budget"), None
        if form.is_text:
            base, params = project_of(relay, params), make_room(name, params)
        is_wait = bool(params.get("wait")) and not self.operation.by_relay
        performing = perform(relay, self.operation, request.scope["caller"], params)
        answer = await (while_awaited(request, performing) if is_wait else performing)
        if (form.has_link or request.app.state.page_links) and is_stop_report(name):
            answer = with_page_link(answer, page_base(request))
        if form.is_text and name in ONLY_WHILE_AWAITED:
            base = project_of(relay, msgspec.json.decode(answer))
        return formed_response(form, name, answer, self.route.status, base, budget)


def page_base(request: Request) -> str:
    """Return the address at which the client has reached the relay; of what other doors ask, that of the relay."""
    is_from_wire = "guard" in request.scope
    return address_of(request) if is_from_wire else str(request.app.state.page_address)


def project_of(relay: Relay, params: dict[str, Any]) -> str | None:
    """Return the folder from which paths of a request or of an answer are meant."""
    root: str | None = params.get("project_root")
    return relay.root_of(params[ID]) if root is None and ID in params else root


class RequestArguments:
    """Path, query and body of a request as the parameters of its operation; all that is wrong is told at once."""

    def __init__(self, operation: Operation, route: Route) -> None:
        self._route = route
        self._query_name = operation.query_of(route)
        self._body_name = operation.body_of(route)
        self._may_be_empty = operation.may_be_empty
        self._is_stream = operation.is_stream

    @cached_property
    def _query_reader(self) -> QueryReader:
        return QueryReader(request_model(self._query_name) if self._query_name else None)

    async def bind_request(self, request: Request) -> tuple[AnswerForm, dict[str, Any]]:
        ids: dict[str, Any] = {}
        errors: list[Any] = []
        for name in self._route.path_names:
            try:
                checked = checker_of(PATH_PARAMETERS[name]).validate_python(request.scope["path_params"][name])
                ids[self._route.renamed.get(name, name)] = checked
            except ValidationError as error:
                errors += errors_of(error, "path", name)
        form, pairs = AnswerForm(), pairs_of(request.scope["query_string"])
        if not self._is_stream:
            form, wrong = read_form(request.scope, pairs)
            errors += wrong
            pairs = without_form(pairs)
        query, wrong = self._query_reader.read_pairs(pairs)
        errors += wrong
        params: dict[str, Any] = {} if query is None else query.params()
        if self._body_name is not None:
            body, wrong = self._read_body(self._body_name, await read_json(request))
            errors += wrong
            params |= body
        if errors:
            raise validation_refusal(errors, request_model(self._body_name) if self._body_name else None)
        return form, params | ids

    def _read_body(self, name: str, content: Any) -> tuple[dict[str, Any], list[Any]]:
        if content is None:
            missing = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}
            return {}, [] if self._may_be_empty else [missing]
        try:
            return checker_of(request_model(name)).validate_python(content).params(), []
        except ValidationError as error:
            return {}, errors_of(error, "body")


async def read_json(request: Request) -> Any:
    body = await request.body()
    if not body:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        given = f"'{kind[:100]}'" if kind else "missing"
        message = f"The body must be JSON, but its Content-Type is {given}"
        raise RelayError("UNSUPPORTED_MEDIA_TYPE", message, content_type=kind[:100])
    return decode_json(body, "body")


def operation_routes() -> Iterator[OperationRoute]:
    for subject in SUBJECTS:
        for operation in subject.OPERATIONS:
            for route in operation.routes:
                yield OperationRoute(operation, route, subject.TAG)
