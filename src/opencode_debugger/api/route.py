"""The route class of every REST route: FastAPI describes it, this binds its arguments, strictly and fast."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, cast

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from ..auth.scopes import operation_of
from ..errors import RelayError
from ..models.problems import errors_of
from ..models.reading import QueryOf, decoded, pairs_of


class RelayRoute(APIRoute):
    """Handlers take the request, path parameters, at most one query model and at most one body."""

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        # Of the models of all answers only the document knows: a quarter of the relay's start, if they were built here.
        super().__init__(path, endpoint, **{**options, "responses": None})
        self.options = options
        self.operation = operation_of(endpoint.__name__)
        self.endpoint_arguments = Arguments(self)
        self.app = self.answer

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Asked of each route until one is the right one: most are seen at once not to be."""
        return super().matches(scope) if self.path_regex.match(scope["path"]) else (Match.NONE, {})

    def described(self) -> APIRoute:
        return APIRoute(self.path, self.endpoint, **self.options)

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
        query, wrong = self.query.read(pairs_of(request.scope["query_string"]))
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
        try:
            return self.check_body(content), []
        except ValidationError as error:
            return None, errors_of(error, "body")

    @cached_property
    def check_body(self) -> Callable[[Any], Any]:
        assert self.body is not None
        info = self.body.field_info
        return TypeAdapter[Any](cast(Any, Annotated[info.annotation, info])).validate_python


async def read_json(request: Request) -> Any:
    body = await request.body()
    if not body:
        return None
    check_content_type(request.headers.get("content-type", ""))
    return decoded(body, "body")


def check_content_type(value: str) -> None:
    kind = value.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        given = f"'{kind[:100]}'" if kind else "missing"
        message = f"The body must be JSON, but its Content-Type is {given}"
        raise RelayError("UNSUPPORTED_MEDIA_TYPE", message, content_type=kind[:100])
