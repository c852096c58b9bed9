"""Advice on what to call next, in the words of the door through which whoever is advised has come.

    advice("Call {pause} first, or wait: {report wait=30} waits for its next stop")

A name in braces is an operation, with arguments after it; `?` is an argument that the reader fills in, `/` before the
name asks for the full spelling, good from anywhere, and `~` for the shortest. Other names are values that are given. A
door says how it spells a call by setting `spelling`; REST's routes are what everybody knows."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .operation import ID, Operation
from .table import OPERATIONS

PREFIX = "/api/v1"
OF_SESSION = f"/sessions/{{{ID}}}"

Spell = Callable[[Operation, dict[str, str], bool], str | None]
"""spells a call of an operation with arguments, in full or not; None if the door has no words for it"""


def rest_call(operation: Operation, arguments: dict[str, str], is_full: bool) -> str:
    given = {name: f"{{{value[1:] or name}}}" if value.startswith("?") else value for name, value in arguments.items()}
    # The route with the most of the arguments in its path, and no other; the last of several.
    fitting = [route for route in reversed(operation.routes) if set(route.path_names) - {ID} <= given.keys()]
    route = max(fitting, key=lambda route: len(route.path_names))
    path = route.path.replace(f"{{{ID}}}", given.pop(ID, "{id}"))
    for name in route.path_names:
        if name in given:
            path = path.replace(f"{{{name}}}", given.pop(name))
    rest = ""
    if given and route.has_body:
        rest = " {" + ", ".join(f'"{name}": {_in_json(value)}' for name, value in given.items()) + "}"
    elif given:
        rest = "?" + "&".join(f"{name}={value}" for name, value in given.items())
    return f"{route.method} {PREFIX if is_full else ''}{path}{rest}"


def _in_json(value: str) -> str:
    is_literal = value in ("true", "false", "null", "…") or value.lstrip("-").isdecimal()
    return value if is_literal else f'"{value}"'


spelling: ContextVar[Spell] = ContextVar("spelling", default=rest_call)
door: ContextVar[str] = ContextVar("door", default="")
"""the door through which a call came, if it is one of those for agents: see door_words.py"""


class NoWords(Exception):
    """The door has no words for an operation."""


class Words(dict[str, Any]):
    """The texts that stand for names in braces."""

    def __missing__(self, key: str) -> str:
        if key.startswith("~") and not door.get():
            route = OPERATIONS[key[1:]].routes[0]
            return route.path.removeprefix(OF_SESSION) or route.method
        name, *given = key.lstrip("/~").split(" ")
        arguments = dict(each.split("=", 1) for each in given)
        spelled = spelling.get()(OPERATIONS[name], arguments, key.startswith("/"))
        if spelled is None:
            raise NoWords
        return spelled


def advice(text: str, **values: Any) -> str:
    """Return the text with each call spelled out; nothing if the door has no words for one of them."""
    try:
        return text.format_map(Words(values))
    except NoWords:
        return ""
