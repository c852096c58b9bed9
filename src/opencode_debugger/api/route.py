"""The route class of every REST route: FastAPI describes it, this binds its arguments, strictly and fast."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, cast

import msgspec
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from ..auth.scopes import operation_of
from ..errors import RelayError

_POSITION = re.compile(r" \(byte (\d+)\)")
_decode = msgspec.json.Decoder().decode


class RelayRoute(APIRoute):
    """Handlers take the request, path parameters, at most one query model and at most one body."""

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.operation = operation_of(endpoint.__name__)
        self.endpoint_arguments = Arguments(self)
        self.app = self.answer

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["caller"].require(self.operation)
        request = Request(scope, receive)
        arguments = await self.endpoint_arguments.bind(request)
        response = await self.endpoint(request, **arguments)
        await response(scope, receive, send)


class Arguments:
    def __init__(self, route: APIRoute) -> None:
        dependant = route.dependant
        self.path = dependant.path_params
        self.query_name, self.query = "", QueryOf(None)
        for field in dependant.query_params:
            self.query_name, self.query = field.name, QueryOf(cast(type[BaseModel], field.field_info.annotation))
        self.body = dependant.body_params[0] if dependant.body_params else None

    async def bind(self, request: Request) -> dict[str, Any]:
        values: dict[str, Any] = {}
        errors: list[Any] = []
        for field in self.path:
            given = request.scope["path_params"][field.name]
            values[field.name], wrong = field.validate(given, loc=("path", field.name))
            errors += wrong
        query, wrong = self.query.read(request)
        errors += wrong
        if self.query_name:
            values[self.query_name] = query
        if self.body is not None:
            values[self.body.name], wrong = self.validated_body(await read_json(request))
            errors += wrong
        if errors:
            raise RequestValidationError(errors)
        return values

    def validated_body(self, content: Any) -> tuple[Any, list[Any]]:
        assert self.body is not None
        if content is None and not self.body.field_info.is_required():
            return None, []
        if content is None:
            return None, [{"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}]
        return self.body.validate(content, loc=("body",))


class QueryOf:
    """The query string as one model; without a model, no parameter is known."""

    def __init__(self, model: type[BaseModel] | None) -> None:
        self.model = model
        self.names = list(model.model_fields) if model else []
        needed = model and any(field.is_required() for field in model.model_fields.values())
        self.default = model() if model and not needed else None

    def read(self, request: Request) -> tuple[BaseModel | None, list[Any]]:
        given = self.checked(request) if request.scope["query_string"] else {}
        if self.model is None or (not given and self.default is not None):
            return self.default, []
        try:
            return self.model.model_validate(given), []
        except ValidationError as error:
            return None, [{**item, "loc": ("query", *item["loc"])} for item in error.errors(include_url=False)]

    def checked(self, request: Request) -> dict[str, str]:
        given: dict[str, str] = {}
        for name, value in request.query_params.multi_items():
            if name not in self.names:
                raise parameter_error(name, f"Unknown parameter '{name[:100]}'", value, self.names)
            if name in given:
                raise parameter_error(name, f"Parameter '{name}' is given twice", value, self.names)
            given[name] = value
        return given


def parameter_error(name: str, reason: str, value: str, known: list[str]) -> RelayError:
    message = reason + did_you_mean(name, [other for other in known if other != name])
    problem = {"field": name[:100], "message": message, "value": value[:200]}
    return RelayError("INVALID_PARAMETER", message, parameter=name[:100], errors=[problem], known_parameters=known)


def did_you_mean(name: str, known: list[str]) -> str:
    nearest = get_close_matches(name[:100], known, n=1)
    return f". Did you mean '{nearest[0]}'?" if nearest else ""


async def read_json(request: Request) -> Any:
    """The body; msgspec refuses what the standard library lets through: NaN, lone surrogates, deep nesting."""
    body = await request.body()
    if not body:
        return None
    check_content_type(request.headers.get("content-type", ""))
    try:
        return _decode(body)
    except (ValueError, RecursionError) as error:
        raise malformed(body, error) from None


def check_content_type(value: str) -> None:
    kind = value.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        given = f"'{kind[:100]}'" if kind else "missing"
        message = f"The body must be JSON, but its Content-Type is {given}"
        raise RelayError("UNSUPPORTED_MEDIA_TYPE", message, content_type=kind[:100])


def malformed(body: bytes, error: Exception) -> RelayError:
    reason, position = explain(body, error)
    before = body[:position]
    line, column = before.count(b"\n") + 1, position - before.rfind(b"\n")
    nearby = body[max(0, position - 20) : position + 20].decode(errors="replace")
    return RelayError(
        "INVALID_REQUEST",
        f"The body is not valid JSON: {reason}",
        suggestion=f"Correct the JSON at line {line}, column {column}",
        position=position,
        line=line,
        column=column,
        errors=[{"field": "", "message": reason, "value": nearby}],
    )


def explain(body: bytes, error: Exception) -> tuple[str, int]:
    try:
        body.decode()
    except UnicodeDecodeError as invalid:
        return "it is not valid UTF-8", invalid.start
    if isinstance(error, RecursionError):
        return "it is nested too deeply", 0
    text = str(error)
    found = _POSITION.search(text)
    reason = _POSITION.sub("", text).removeprefix("JSON is malformed: ").partition(" - at ")[0]
    return reason, int(found.group(1)) if found else len(body)
