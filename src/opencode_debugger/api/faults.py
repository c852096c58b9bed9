"""Every failure in the envelope: errors of the relay, of the framework, and requests that are not valid."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .. import logs
from ..errors import RelayError
from ..models import envelope
from ..models.problems import refusal
from .answers import JsonBytes
from .nearest import allowed_methods, is_websocket, nearest_route


def install(app: FastAPI) -> None:
    app.add_exception_handler(RelayError, relay_error)
    app.add_exception_handler(RequestValidationError, invalid_request)
    app.add_exception_handler(HTTPException, framework_error)


def refused(error: RelayError, headers: tuple[tuple[bytes, bytes], ...] = ()) -> JsonBytes:
    return JsonBytes(envelope.failure(error, logs.request_id.get()), error.status, headers)


async def relay_error(request: Request, error: Exception) -> Response:
    return refused(cast(RelayError, error))


async def invalid_request(request: Request, error: Exception) -> Response:
    body = request.scope["route"].body_field
    errors = cast(RequestValidationError, error).errors()
    return refused(refusal(errors, body.field_info.annotation if body else None))


async def framework_error(request: Request, error: Exception) -> Response:
    status = cast(HTTPException, error).status_code
    if status == 404:
        return refused(route_not_found(request))
    if status == 405:
        return method_not_allowed(request)
    detail = str(cast(HTTPException, error).detail)
    return refused(RelayError("INVALID_REQUEST" if status < 500 else "INTERNAL_ERROR", detail, status=status))


def route_not_found(request: Request) -> RelayError:
    path = request.scope["path"][:200]
    message, details = f"There is no {request.method} {path}", dict[str, Any](path=path)
    if "//" in path:
        details["suggestion"] = "A part of the path is empty: is the variable that should hold the session's id set?"
    elif is_websocket(request.app, path):
        details["suggestion"] = (
            "This is the address of a WebSocket: open it as one. "
            "GET /api/v1/sessions/{id}/output/stream and events/stream have the same in plain HTTP"
        )
    elif nearest := nearest_route(request.app, request.method, path):
        details["suggestion"] = f"Did you mean {nearest}? GET /api/v1/info lists the endpoints, /docs describes them"
    return RelayError("ROUTE_NOT_FOUND", message, **details)


def method_not_allowed(request: Request) -> Response:
    allowed = allowed_methods(request.app, request.scope["path"])
    message = f"{request.method} is not allowed here: use {' or '.join(allowed)}"
    error = RelayError("METHOD_NOT_ALLOWED", message, allowed=allowed, method=request.method)
    return refused(error, ((b"allow", ", ".join(allowed).encode()),))
