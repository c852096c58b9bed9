"""Every failure in the envelope: errors of the relay, of the framework, and requests that are not valid."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from ...errors import RelayError
from ...models.synonyms import ROUTES
from .answer_form import form_of_refusal
from .responses import JsonBytes, refused_response

ALIKE = 0.85


def refused_answer(request: Request, error: RelayError, headers: tuple[tuple[bytes, bytes], ...] = ()) -> JsonBytes:
    return refused_response(form_of_refusal(request.scope), error, headers)


async def relay_error(request: Request, error: Exception) -> Response:
    return refused_answer(request, cast(RelayError, error))


async def framework_error(request: Request, error: Exception) -> Response:
    status = cast(HTTPException, error).status_code
    if status == 404:
        return refused_answer(request, route_not_found(request))
    if status == 405:
        routes = (route for route in routes_of(request.app) if route.path_regex.match(request.scope["path"]))
        allowed = sorted(set().union(*(route.methods or () for route in routes)))
        message = f"{request.method} is not allowed here: use {' or '.join(allowed)}"
        refused = RelayError("METHOD_NOT_ALLOWED", message, allowed=allowed, method=request.method)
        return refused_answer(request, refused, ((b"allow", ", ".join(allowed).encode()),))
    detail = str(cast(HTTPException, error).detail)
    code = "INVALID_REQUEST" if status < 500 else "INTERNAL_ERROR"
    return refused_answer(request, RelayError(code, detail, status=status))


def route_not_found(request: Request) -> RelayError:
    path = request.scope["path"][:200]
    message, details = f"There is no {request.method} {path}", dict[str, Any](path=path)
    if "//" in path:
        details["suggestion"] = "A part of the path is empty: is the variable that should hold the session's id set?"
    elif is_websocket(request.app, path):
        details["suggestion"] = (
            "This is the address of a WebSocket: open it as one. "
            "GET /api/v1/sessions/{id}/output/stream and events/stream have the same in plain HTTP")
    elif nearest := nearest_route(request.app, request.method, path):
        details["suggestion"] = f"Did you mean {nearest}? GET /api/v1/info lists the endpoints, /docs describes them"
    return RelayError("ROUTE_NOT_FOUND", message, **details)


HANDLERS = {RelayError: relay_error, HTTPException: framework_error}


# The call that was probably meant.


def routes_of(app: Starlette) -> Iterator[Route]:
    return (route for route in app.routes if isinstance(route, Route))


def is_websocket(app: Starlette, path: str) -> bool:
    streams = (route for route in app.routes if isinstance(route, WebSocketRoute) and not route.path.startswith("/{"))
    return any(route.path_regex.match(path) for route in streams)


def nearest_route(app: Starlette, method: str, path: str) -> str | None:
    """The call that was probably meant, with the caller's own ids in it; with the same method if there is one, and
    never one that takes something away from who did not ask for that."""
    wanted = in_our_words(path if path.startswith("/api/") else "/api/v1" + path)
    offered: dict[str, set[str]] = {}
    for route in routes_of(app):
        offered.setdefault(filled_in(route.path, wanted), set()).update(route.methods or ())
    found = next(iter(get_close_matches("/".join(wanted), offered, 1, ALIKE)), None)
    if found is None:
        return None
    methods = {method} & offered[found] or offered[found] - {"DELETE"}
    return f"{min(methods)} {found}" if methods else None


def in_our_words(path: str) -> list[str]:
    """The parts of a path; what is asked of a session may be called otherwise here."""
    segments = path.split("/")
    if segments[5:6] == ["threads"] and segments[-1].startswith(("pause", "step")):
        del segments[5:-1]  # their thread is named in the body
    if len(segments) == 4 and ROUTES.get(segments[3].lower(), segments[3]) == "launch":
        segments[3] = "run"
    if len(segments) == 6 and segments[3] == "sessions":
        segments[5:] = ROUTES.get(segments[5].lower(), segments[5]).split("/")
    return segments


def filled_in(template: str, segments: list[str]) -> str:
    parts = template.split("/")
    for index, part in enumerate(parts):
        if part.startswith("{") and index < len(segments) and segments[index]:
            parts[index] = segments[index]
    return "/".join(parts)
