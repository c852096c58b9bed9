"""Exceptions of a recorded run: where each was raised, which functions it left, and where it was handled."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import IntEnum
from inspect import CO_COROUTINE
from typing import TypeAlias

from ...answers.recordings import ErrorGroup
from ...answers.shape import UNSET
from .call_rows import call_row, named_values
from .call_tree import NOWHERE
from .recorded_calls import FINISHED, RAISED, RECEIVERS, Call, RecordedCalls, caught_in
from .recorded_values import EXCEPTION, Recorded

MOST_LOCALS = 12
MOST_WAY = 8
MOST_CAUGHT = 5
"""exceptions that are recorded of those that one call handles"""
ASKED_BY_INTERPRETER = frozenset(("__next__", "__anext__", "__getattr__", "__getattribute__", "__getitem__", "__get__"))
"""Methods whose exceptions often mean an end, or that something is not there: whoever asks handles them."""
SKIPPED_TESTS = frozenset(("Skipped", "SkipTest", "XFailed"))
"""Exceptions that tell pytest or unittest not to run a test."""
BEGINNINGS = frozenset(("<module>", "main"))
"""Functions that leave everything to a library at times, which runs the program's tests or requests."""

Catchers: TypeAlias = dict[str, list[int]]
"""by exceptions, the positions of calls that have handled them"""


class HandledBy(IntEnum):
    """What handled an exception, as far as the recording knows."""

    NOTHING = 0
    ENTRY_LIBRARY = 1
    """one that the program's beginning has called: to the program it was not handled"""
    LIBRARY = 2
    RECORDED = 3


@dataclass
class Raised:
    """Exceptions that were raised at one place, and handled at one."""

    error: str
    fate: str
    handled_by: HandledBy
    way: list[str]
    line: int | None
    first: int
    """position of the call that raised the first"""
    last: int
    count: int = 0

    @property
    def is_unhandled(self) -> bool:
        return self.handled_by <= HandledBy.ENTRY_LIBRARY


def error_groups(calls: RecordedCalls) -> list[Raised]:
    """Return every exception by its place and fate: those that nothing recorded handled first, then the rarest."""
    groups: dict[tuple[object, ...], Raised] = {}
    catchers: Catchers = {}
    for each in calls.catching:
        for _, error in caught_in(calls.extra_at(each)):
            catchers.setdefault(_identity(error), []).append(each)
    passed = set[int]()
    for position in calls.raised:  # as they ended: the call that raised before those that it left, a task before main
        if position not in passed:
            left = _left_calls(calls, position)
            passed.update(left)
            _add(groups, calls, left, catchers)
    for position in calls.catching:
        for line, error in caught_in(calls.extra_at(position)):
            if not _was_raised_within(calls, position, error):
                fate = f"caught there, at line {line}"
                key = (calls.function_ids[position], class_name(error), line, fate)
                found = Raised(class_name(error), fate, HandledBy.RECORDED, [], line, position, position)
                group = groups.setdefault(key, found)
                group.count, group.last = group.count + 1, position
    return sorted(groups.values(), key=_rank)


def _rank(group: Raised) -> tuple[object, ...]:
    """Rank exceptions: an exit often follows from another one that was not handled."""
    return not group.is_unhandled, group.error == "SystemExit", group.handled_by, group.count, group.first


def _add(
    groups: dict[tuple[object, ...], Raised], calls: RecordedCalls, left: list[int], catchers: Catchers
) -> None:
    """Add an exception that has left these calls."""
    position, handler = left[0], calls.parents[left[-1]]
    fate, handled_by = _fate(calls, handler, left, catchers)
    line, error = calls.extra_at(position).get("line"), class_name(calls.value_at(position))
    key = (calls.function_ids[position], error, line, fate)
    if key not in groups:
        way = [calls.function_at(each).name for each in left[:MOST_WAY]]
        groups[key] = Raised(error, fate, handled_by, way, line, position, position)
    groups[key].count += 1
    groups[key].last = position


def _fate(calls: RecordedCalls, handler: int, left: list[int], catchers: Catchers) -> tuple[str, HandledBy]:
    value, outermost = calls.value_at(left[-1]), calls.function_at(left[-1])
    is_asked = outermost.name.split(".")[-1] in ASKED_BY_INTERPRETER
    own = caught_in(calls.extra_at(handler)) if handler != NOWHERE else []
    handled = [line for line, error in own if _is_same(error, value)]
    if outermost.flags & CO_COROUTINE and not handled and _was_awaited(calls, left, catchers):
        return "caught where its task was awaited", HandledBy.RECORDED
    if handler == NOWHERE:
        is_sign = is_asked or class_name(value) in SKIPPED_TESTS
        return "nothing recorded handled it", HandledBy.LIBRARY if is_sign else HandledBy.NOTHING
    function = calls.function_at(handler)
    line = handled[0] if handled else function.line_at(calls.offsets[left[-1]])
    place = function.name + " at " + os.path.basename(function.path) + (f":{line}" if line else "")
    is_known = calls.hows[handler] in FINISHED and len(own) < MOST_CAUGHT  # a caller may be going on
    if handled or is_asked or not is_known:
        return f"caught in {place}", HandledBy.RECORDED
    by = HandledBy.ENTRY_LIBRARY if function.name in BEGINNINGS else HandledBy.LIBRARY
    return f"handled by code that is not recorded, called from {place}", by


def _was_awaited(calls: RecordedCalls, left: list[int], catchers: Catchers) -> bool:
    """Tell whether another call, which ended later, has handled what left a task."""
    others = set(catchers.get(_identity(calls.value_at(left[-1])), ())).difference(left)
    end = calls.ends[left[-1]]
    return any(calls.hows[each] not in FINISHED or calls.ends[each] >= end for each in others)


def _left_calls(calls: RecordedCalls, position: int) -> list[int]:
    """Return the calls that an exception has left, the one that raised it first."""
    left, value = [position], calls.value_at(position)
    for above in calls.tree.ancestors(position):
        if not _passed_on(calls, above, value):
            break
        left.append(above)
    return left


def _passed_on(calls: RecordedCalls, position: int, error: Recorded) -> bool:
    """Tell whether the exception that one of its calls raised has left a call too, and not another one like it."""
    if calls.hows[position] != RAISED or not _is_same(calls.value_at(position), error):
        return False
    return not any(_is_same(each, error) for _, each in caught_in(calls.extra_at(position)))


def _came_from_within(calls: RecordedCalls, position: int) -> bool:
    """Tell whether the exception that left a call came from one that it had made."""
    inner = [each for each in calls.tree.children_of(position)[-1:] if calls.hows[each] == RAISED]
    return any(_passed_on(calls, position, calls.value_at(each)) for each in inner)


def innermost_of(calls: RecordedCalls, position: int) -> Call:
    """Return the call that raised the exception that has left a call."""
    while _came_from_within(calls, position):
        position = calls.tree.children_of(position)[-1]
    return calls.call_at(position)


def _was_raised_within(calls: RecordedCalls, position: int, error: Recorded) -> bool:
    inner = [each for each in calls.tree.children_of(position) if calls.hows[each] == RAISED]
    return any(_is_same(calls.value_at(each), error) for each in inner)


def _is_same(error: Recorded, other: Recorded) -> bool:
    return _identity(error) == _identity(other)


def _identity(error: Recorded) -> str:
    """Return what tells an exception from others: its address is that of another one at times."""
    return repr(error)


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
