"""The API's description as an OpenAPI document, made from the table of operations."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from pydantic import JsonValue
from pydantic.json_schema import DefsRef, GenerateJsonSchema

from ... import __version__
from ...answers.envelopes import Envelope, ErrorEnvelope
from ...errors import CATALOGUE
from ...models.named import checker_of, request_model
from ...operations.operation import Operation, Route
from ...text.render import answer_type
from .answer_form import TEXT
from .recording_download import DOWNLOADS
from .routes import PATH_PARAMETERS, PREFIX, OperationRoute, operation_routes
from .sse import EVENT_STREAM, LONGEST_ID

TAGS = [
    {"name": "Server", "description": "Server health and information."},
    {"name": "Sessions", "description": "Create, list, watch and delete debug sessions."},
    {"name": "Program Control", "description": "Launch a program, or attach to one."},
    {"name": "Breakpoints", "description": "Set, change, list and remove breakpoints, before launch or at any time."},
    {"name": "Breakpoint Profiles", "description": "Named sets of breakpoints, saved and applied to any session."},
    {"name": "Execution", "description": "Continue, pause and step; each can wait and return the next stop."},
    {"name": "Inspection", "description": "Threads, stacks, variables and expressions of a paused program."},
    {"name": "Native", "description": "Native programs: memory, machine code, breakpoints on data, going back."},
    {"name": "Output", "description": "Program output and events, read from a cursor."},
]

DESCRIPTION = """\
Debug real programs with single HTTP calls. A first session, with nothing but curl:

```bash
BASE=http://127.0.0.1:{port}/api/v1

# 1. Run to the first stop: where, why, source, locals, stack, output; the answer has data.session_id
curl -X POST $BASE/run -H 'Content-Type: application/json' \\
     -d '{"script": "/home/dev/myproject/main.py", "breakpoints": ["main.py:42 if x > 3"]}'

# 2. Look and move
curl -X POST $BASE/sessions/$ID/evaluate -H 'Content-Type: application/json' -d '{"expression": "len(items)"}'
curl -X POST $BASE/sessions/$ID/step-over
curl -X POST "$BASE/sessions/$ID/continue?wait=30"

# 3. What it wrote, and the end
curl $BASE/sessions/$ID/output
curl -X DELETE $BASE/sessions/$ID
```

Every answer has the envelope `{"success", "data", "error", "meta"}`. An error has a `code`, a `message` that says \
what happened, and `details.suggestion` that says what to call next. With `format=text` or `Accept: text/plain` an \
answer is short plain text instead, and with `lean=true` its `data` has no zero, empty or repeated fields.

A relay that requires tokens wants one in every request, `Authorization: Bearer TOKEN`, with the scopes that the call \
lists.
"""

TOKEN = {"type": "http", "scheme": "bearer", "description": "Made by `opencode-debugger token create`."}

ALSO = {"DEBUGPY_ERROR": (502, "Connection to the debugger lost")}
"""Codes that a route may also give with another status than the catalogue's."""

ANSWER_FORM = "queries:AnswerFormQuery"
PLAIN_TEXT: JsonValue = {"type": "string", "description": "The same in short, for people and models to read."}
HTML = "text/html"
AS_TEXT: JsonValue = {"schema": {"$ref": "#/components/schemas/PlainText"}}

LAST_EVENT_ID: JsonValue = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Id of the last event that was read: the stream goes on after it. Browsers send it by themselves.",
    "schema": {"type": "string", "maxLength": LONGEST_ID, "pattern": "^[A-Za-z0-9_=-]*$"},
}
EVENTS: dict[str, dict[str, JsonValue]] = {
    "follow_output": {"enum": ["output", "dropped", "cleared", "terminated", "error"]},
    "follow_events": {"description": "Type of the event."},
    "follow_sessions": {"enum": ["sessions", "session_changed", "session_deleted", "error"]},
}
"""Names of the events that a stream sends."""


def openapi_document(port: int) -> dict[str, JsonValue]:
    routes = list(operation_routes())
    shapes = SchemaTable(routes)
    paths: dict[str, dict[str, JsonValue]] = {}
    for each in routes:
        described = describe_route(each, shapes)
        paths.setdefault(PREFIX + each.route.path, {})[each.route.method.lower()] = described
    text, mit = DESCRIPTION.replace("{port}", str(port)), {"name": "MIT", "identifier": "MIT"}
    about = {"title": "OpenCode Debug Relay Server", "description": text, "license": mit, "version": __version__}
    components = {"schemas": shapes.definitions, "securitySchemes": {"token": TOKEN}}
    parts: dict[str, Any] = {"info": about, "paths": paths, "components": components, "tags": TAGS}
    return {"openapi": "3.1.0", **{name: without_nulls(part) for name, part in parts.items()}}


def without_nulls(value: JsonValue) -> JsonValue:
    """Leave out what has no value, such as the default of a parameter that may be left out."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


REFERENCE = "#/components/schemas/{%s}"


class SchemaTable:
    """JSON schemas of what is sent and answered, under names that are used once."""

    def __init__(self, routes: Iterable[OperationRoute]) -> None:
        sent = {name for each in routes for name in (each.operation.body_of(each.route), query_of(each)) if name}
        sent.add(ANSWER_FORM)
        answered: list[Any] = [ErrorEnvelope]
        answered += dict.fromkeys(envelope_of(each.operation) for each in routes if each.operation.answer)
        models = [request_model(name) for name in sorted(sent)]
        generator = GenerateJsonSchema(ref_template=REFERENCE % "model")
        mode: Literal["validation"] = "validation"
        requests, definitions = generator.generate_definitions([(m, mode, checker_of(m).core_schema) for m in models])
        answers, components = msgspec.json.schema_components(answered, ref_template=REFERENCE % "name")
        self._schemas: dict[object, dict[str, Any]] = dict(zip(answered, answers, strict=True))
        self._schemas.update((model, schema) for (model, _), schema in requests.items())
        queries = {request_model(name).__name__ for each in routes if (name := query_of(each) or ANSWER_FORM)}
        self._queries = {name: definitions.pop(DefsRef(name)) for name in queries}
        named: dict[str, Any] = {str(name): schema for name, schema in definitions.items()}
        self.definitions = dict(sorted((named | components | {"PlainText": PLAIN_TEXT}).items()))

    def schema_of(self, model: object) -> dict[str, JsonValue]:
        return dict(self._schemas[model])

    def query_parameters(self, name: str) -> list[JsonValue]:
        shape = self._queries[request_model(name).__name__]
        needed = shape.get("required", ())
        return [
            describe_parameter(name, "query", name in needed, never_null(dict(field)))
            for name, field in shape["properties"].items()
        ]


def query_of(each: OperationRoute) -> str | None:
    return each.operation.query_of(each.route)


def envelope_of(operation: Operation) -> object:
    return Envelope.__class_getitem__(answer_type(operation.name))  # type: ignore[attr-defined]


def describe_route(each: OperationRoute, shapes: SchemaTable) -> dict[str, JsonValue]:
    operation, route = each.operation, each.route
    description = (route.description or operation.description).split("\n\n")
    described: dict[str, JsonValue] = {
        "tags": [each.tag], "summary": route.summary or operation.summary,
        "description": "\n\n".join(" ".join(paragraph.split()) for paragraph in description), "operationId": route.name,
    }
    parameters: list[JsonValue] = [
        describe_parameter(name, "path", True, checker_of(PATH_PARAMETERS[name]).json_schema())
        for name in route.path_names
    ]
    if query := query_of(each):
        parameters += shapes.query_parameters(query)
    if not operation.is_file:
        parameters += [LAST_EVENT_ID] if operation.is_stream else shapes.query_parameters(ANSWER_FORM)
    if parameters:
        described["parameters"] = parameters
    if body := operation.body_of(route):
        described["requestBody"] = request_body(shapes.schema_of(request_model(body)), operation.may_be_empty)
    described["responses"] = describe_responses(operation, route, shapes)
    described["security"] = [{"token": [*sorted(operation.scopes)]}, {}]
    return described


def describe_parameter(name: str, place: str, is_required: bool, shape: dict[str, JsonValue]) -> JsonValue:
    shape = {**shape, "title": name.replace("_", " ").title()}
    return {"name": name, "in": place, "required": is_required, "schema": shape, "description": shape["description"]}


def never_null(shape: dict[str, Any]) -> dict[str, JsonValue]:
    """A query string has no null: an optional parameter is left out."""
    branches = [branch for branch in shape.pop("anyOf", []) if branch.get("type") != "null"]
    if len(branches) == 1:
        return {**branches[0], **shape}
    return {"anyOf": branches, **shape} if branches else shape


def request_body(shape: dict[str, JsonValue], may_be_empty: bool) -> JsonValue:
    if may_be_empty:
        content: JsonValue = {"anyOf": [shape, {"type": "null"}], "title": "Body"}
        return {"content": {"application/json": {"schema": content}}}
    content = shape if "$ref" in shape else {**shape, "title": "Body"}
    return {"required": True, "content": {"application/json": {"schema": content}}}


def describe_responses(operation: Operation, route: Route, shapes: SchemaTable) -> JsonValue:
    content = describe_content(operation, shapes)
    described: dict[str, JsonValue] = {str(route.status): {"description": operation.outcome, "content": content}}
    if operation.name == "health":
        described["503"] = {"description": "Server is unhealthy", "content": content}
    failed: dict[str, JsonValue] = {"application/json": {"schema": shapes.schema_of(ErrorEnvelope)}, TEXT: AS_TEXT}
    for status, text in sorted(by_status(operation.errors_of(route)).items()):
        described[str(status)] = {"description": text, "content": failed}
    return described


def describe_content(operation: Operation, shapes: SchemaTable) -> dict[str, JsonValue]:
    if operation.is_file:
        return {kind: {"schema": {"description": "The file."}} for kind, _ in DOWNLOADS.values()}
    if operation.is_stream:
        return {EVENT_STREAM: {"schema": stream_event(operation.name)}}
    content: dict[str, JsonValue] = {
        "application/json": {"schema": shapes.schema_of(envelope_of(operation))}, TEXT: AS_TEXT}
    return content | ({HTML: {"schema": {"type": "string"}}} if operation.name == "export_timeline" else {})


def stream_event(operation: str) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "description": "One event of the stream.",
        "required": ["event", "data"],
        "properties": {
            "event": {"type": "string", **EVENTS[operation]},
            "data": {"type": "string", "description": "JSON, such as an entry of the output."},
            "id": {"type": "string", "description": "Cursor behind it, for Last-Event-ID."},
        },
    }


def by_status(codes: Iterable[str]) -> dict[int, str]:
    texts: dict[int, list[str]] = {}
    for code in codes:
        texts.setdefault(CATALOGUE[code].status, []).append(f"`{code}`")
        if code in ALSO:
            status, reason = ALSO[code]
            texts.setdefault(status, []).append(f"`{code}` ({reason})")
    return {status: ", ".join(parts) for status, parts in texts.items()}
