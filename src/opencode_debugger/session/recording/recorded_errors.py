"""Exceptions of a recorded run: where each was raised, which functions it left, and where it was handled."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ...answers.recordings import ErrorGroup
from ...answers.shape import UNSET
from .call_rows import call_row, named_values
from .recorded_calls import RAISED, RECEIVERS, Call, RecordedCalls
from .recorded_values import EXCEPTION, Recorded

MOST_LOCALS = 12
MOST_WAY = 8


@dataclass
class Raised:
    """Exceptions that were raised at one place, and handled at one."""

    error: str
    fate: str
    was_handled: bool
    way: list[str]
    line: int | None
    first: int
    """position of the call that raised the first"""
    last: int
    count: int = 0


def error_groups(calls: RecordedCalls) -> list[Raised]:
    """Return every exception by its place and fate: those that nothing handled first, then the rarest."""
    groups: dict[tuple[object, ...], Raised] = {}
    for position in range(len(calls)):
        if calls.hows[position] == RAISED and not _came_from_within(calls, position):
            _add(groups, calls, position, _left_calls(calls, position))
    for position in calls.catching:
        call = calls.call_at(position)
        for line, error in call.caught:
            if not _was_raised_within(calls, position, error):
                fate = f"caught there, at line {line}"
                key = (call.function.id, class_name(error), line, fate)
                group = groups.setdefault(key, Raised(class_name(error), fate, True, [], line, position, position))
                group.count, group.last = group.count + 1, position
    return sorted(groups.values(), key=lambda each: (each.was_handled, each.count, each.first))


def _add(groups: dict[tuple[object, ...], Raised], calls: RecordedCalls, position: int, left: list[Call]) -> None:
    call, outermost = left[0], left[-1]
    handler = calls.find_call(outermost.caller) if outermost.caller else None
    fate = _fate(calls, handler, outermost)
    line, error = call.extra.get("line"), class_name(call.value)
    key = (call.function.id, error, line, fate)
    if key not in groups:
        way = [each.function.name for each in left]
        groups[key] = Raised(error, fate, handler is not None, way[:MOST_WAY], line, position, position)
    groups[key].count += 1
    groups[key].last = position


def _fate(calls: RecordedCalls, handler: Call | None, outermost: Call) -> str:
    if handler is None:
        return "nothing recorded handled it"
    handled = [line for line, error in handler.caught if _is_same(error, outermost.value)]
    line = handled[0] if handled else calls.call_line(outermost)
    place = os.path.basename(handler.function.path) + (f":{line}" if line else "")
    return f"caught in {handler.function.name} at {place}"


def _left_calls(calls: RecordedCalls, position: int) -> list[Call]:
    """Return the calls that an exception has left, the one that raised it first."""
    left = [calls.call_at(position)]
    for above in calls.tree.ancestors(position):
        if calls.hows[above] != RAISED:
            break
        call = calls.call_at(above)
        if not _is_same(call.value, left[-1].value):
            break
        left.append(call)
    return left


def _came_from_within(calls: RecordedCalls, position: int) -> bool:
    """Tell whether the exception that left a call came from one that it had made."""
    inner = [each for each in calls.tree.children.get(position, ())[-1:] if calls.hows[each] == RAISED]
    return any(_is_same(calls.call_at(each).value, calls.call_at(position).value) for each in inner)


def innermost_of(calls: RecordedCalls, position: int) -> Call:
    """Return the call that raised the exception that has left a call."""
    while _came_from_within(calls, position):
        position = calls.tree.children[position][-1]
    return calls.call_at(position)


def _was_raised_within(calls: RecordedCalls, position: int, error: Recorded) -> bool:
    inner = [each for each in calls.tree.children.get(position, ()) if calls.hows[each] == RAISED]
    return any(_is_same(calls.call_at(each).value, error) for each in inner)


def _is_same(error: Recorded, other: Recorded) -> bool:
    """Tell whether it is the same exception, by its class and its address."""
    return bool(error[:2] + error[3:] == other[:2] + other[3:])


def class_name(error: Recorded) -> str:
    return str(error[1]) if isinstance(error, tuple) and len(error) > 1 and error[0] == EXCEPTION else "exception"


def group_row(calls: RecordedCalls, group: Raised) -> ErrorGroup:
    first = calls.call_at(group.first)
    shown = [(name, value) for name, value in first.locals if name not in RECEIVERS]
    return ErrorGroup(
        error=group.error, function=first.function.name, path=first.function.path, line=group.line, count=group.count,
        fate=group.fate, way=group.way, first=call_row(calls, first), locals=named_values(shown[:MOST_LOCALS]),
        last=calls.numbers[group.last] if group.count > 1 else UNSET,
    )
