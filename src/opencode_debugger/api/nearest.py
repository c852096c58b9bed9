"""The routes there are: for the endpoint list, for 405, and for 'did you mean' after a 404."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from fastapi import FastAPI
from starlette.routing import Route, WebSocketRoute

from ..models.meant import ROUTES

ALIKE = 0.85


def routes_of(app: FastAPI) -> Iterator[Route]:
    return (route for route in app.routes if isinstance(route, Route))


def endpoints(app: FastAPI) -> list[str]:
    return list(dict.fromkeys(route.path for route in routes_of(app) if route.path.startswith("/api/")))


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    matching = (route.methods or set() for route in routes_of(app) if route.path_regex.match(path))
    return sorted(set().union(*matching))


def is_websocket(app: FastAPI, path: str) -> bool:
    streams = (route for route in app.routes if isinstance(route, WebSocketRoute) and not route.path.startswith("/{"))
    return any(route.path_regex.match(path) for route in streams)


def nearest_route(app: FastAPI, method: str, path: str) -> str | None:
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
    if len(segments) == 6 and segments[3] == "sessions":
        segments[5:] = ROUTES.get(segments[5].lower(), segments[5]).split("/")
    return segments


def filled_in(template: str, segments: list[str]) -> str:
    parts = template.split("/")
    for index, part in enumerate(parts):
        if part.startswith("{") and index < len(segments) and segments[index]:
            parts[index] = segments[index]
    return "/".join(parts)
