"""Spells a call of an operation as an HTTP request: the route, with the parameters in its path, query or body."""

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from .advice import PREFIX
from .operation import Operation, Route

ANSWER_FORMS = ("format", "lean", "reveal")
"""Parameters that every route takes, which are none of its operation: the answer would be no JSON of its struct."""


class HttpRequest(NamedTuple):
    method: str
    path: str
    """with the query"""
    body: bytes | None
    """JSON"""


def request_for(operation: Operation, params: dict[str, Any], is_file: bool = False) -> HttpRequest:
    """Raises KeyError with the name of an id that is missing, and that every route of the operation has in its path;
    ValueError, TypeError or OverflowError if a parameter cannot be spelled. A route that answers with a file has its
    own forms."""
    route = max(_fitting_routes(operation, params), key=lambda route: len(route.path_names))
    rest = dict(params)
    path = route.path
    for name in route.path_names:
        path = path.replace(f"{{{name}}}", _path_segment(name, rest.pop(route.renamed.get(name, name))))
    if route.has_body:
        return HttpRequest(route.method, PREFIX + path, msgspec.json.encode(rest))
    if named := next((name for name in ANSWER_FORMS if name in rest and not is_file), None):
        raise ValueError(f"{named} is about the form of the answer, which is chosen already")
    query = urlencode({name: _query_text(value) for name, value in rest.items() if value is not None})
    return HttpRequest(route.method, f"{PREFIX}{path}?{query}" if query else PREFIX + path, None)


def _fitting_routes(operation: Operation, params: dict[str, Any]) -> list[Route]:
    needed = [{route.renamed.get(name, name) for name in route.path_names} for route in operation.routes]
    fitting = [route for route, names in zip(operation.routes, needed, strict=True) if names <= params.keys()]
    if not fitting:
        raise KeyError(min(min(needed, key=len) - params.keys()))
    return fitting


def _path_segment(name: str, value: Any) -> str:
    text = str(value)
    if not text or "/" in text:  # quoted or not, it would be the path of another route
        raise ValueError(f"{name} {text[:100]!r} is empty, or has a / in it")
    return quote(text, safe="")


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
