"""The routes there are: for the endpoint list, for 405, and for 'did you mean' after a 404."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from fastapi import FastAPI
from starlette.routing import Route

from ..models.meant import ROUTES

ALIKE = 0.85


def routes_of(app: FastAPI) -> Iterator[Route]:
    return (route for route in app.routes if isinstance(route, Route))


def endpoints(app: FastAPI) -> list[str]:
    return list(dict.fromkeys(route.path for route in routes_of(app) if route.path.startswith("/api/")))


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    matching = (route.methods or set() for route in routes_of(app) if route.path_regex.match(path))
    return sorted(set().union(*matching))


def nearest_route(app: FastAPI, method: str, path: str) -> str | None:
    """The call that was probably meant, with the caller's own ids in it; rather one with the same method."""
    wanted = in_our_words(path if path.startswith("/api/") else "/api/v1" + path)

    def likeness(route: Route) -> tuple[float, bool]:
        alike = SequenceMatcher(None, "/".join(wanted), filled_in(route.path, wanted)).ratio()
        return alike, method in (route.methods or ())

    route = max(routes_of(app), key=likeness)
    alike, has_method = likeness(route)
    if alike < ALIKE:
        return None
    return f"{method if has_method else min(route.methods or {method})} {filled_in(route.path, wanted)}"


def in_our_words(path: str) -> list[str]:
    """The parts of a path; what is asked of a session may be called otherwise here."""
    segments = path.split("/")
    if len(segments) == 6 and segments[3] == "sessions":
        segments[5:] = ROUTES.get(segments[5].lower(), segments[5]).split("/")
    return segments


def filled_in(template: str, segments: list[str]) -> str:
    parts = template.split("/")
    for index, part in enumerate(parts):
        if part.startswith("{") and index < len(segments) and segments[index]:
            parts[index] = segments[index]
    return "/".join(parts)
