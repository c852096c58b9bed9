"""Requests that set breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import RelayError
from . import arguments, shapes
from .arguments import understood

if TYPE_CHECKING:
    from .door import Door

FILTERS = {"raised": "raised", "uncaught": "uncaught", "userUnhandled": "user_unhandled"}
"""What a client may stop on, and what the session calls it."""
MODES = {"always": "raised", "unhandled": "uncaught", "userUnhandled": "user_unhandled"}
OFFERED = [
    {"filter": "raised", "label": "Raised Exceptions", "supportsCondition": True},
    {"filter": "uncaught", "label": "Uncaught Exceptions", "supportsCondition": True, "default": True},
    {"filter": "userUnhandled", "label": "User Uncaught Exceptions", "supportsCondition": True},
]


async def set_breakpoints(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    wish = understood(given, arguments.SetBreakpoints)
    if not wish.source.path:
        raise RelayError("NOT_SUPPORTED", "Only lines of files can have breakpoints: this source has no path")
    wanted = wish.breakpoints
    if wanted is None:
        wanted = [arguments.SourceBreakpoint(line) for line in wish.lines]
    items = [{"line": door.places.own_line(each.line), **_how(each)} for each in wanted]
    return _told(door, await door.shared.replace(door, door.places.own_path(wish.source.path), items))


async def set_function_breakpoints(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    wish = understood(given, arguments.SetFunctionBreakpoints)
    items = [{"function": each.name, **_how(each)} for each in wish.breakpoints]
    return _told(door, await door.shared.replace(door, "", items))


def _how(each: arguments.SourceBreakpoint | arguments.FunctionBreakpoint) -> dict[str, Any]:
    """Editors send empty texts where there is nothing."""
    names = ("condition", "hit_condition", "log_message")
    return {name: getattr(each, name, None) or None for name in names}


def _told(door: Door, outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"breakpoints": [shapes.breakpoint_of(each, door.places) for each in outcomes]}


async def set_exception_breakpoints(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    wish = understood(given, arguments.SetExceptionBreakpoints)
    wanted: list[dict[str, Any]] = [{"filters": [_known(name, FILTERS)]} for name in wish.filters]
    for option in wish.filter_options:
        wanted.append({"filters": [_known(option.filter_id, FILTERS)], "condition": option.condition or None})
    for each in wish.exception_options:
        names = [name for segment in each.path[1:] if not segment.negate for name in segment.names]
        if each.break_mode != "never":
            wanted.append({"filters": [_known(each.break_mode, MODES)], "exceptions": names})
    outcomes = await door.shared.set_rules(door, wanted)
    return {"breakpoints": outcomes}


def _known(name: str, table: dict[str, str]) -> str:
    if name not in table:
        raise RelayError("INVALID_REQUEST", f"Unknown exception filter '{name[:50]}': there are {', '.join(table)}")
    return table[name]
