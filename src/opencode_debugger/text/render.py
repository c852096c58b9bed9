"""Renders an answer as text: short, with the names, paths and calls that whoever reads it goes on with."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from ..answers.inspection import Locks, StackTrace, TaskList, ThreadList
from ..answers.shape import Answer
from ..answers.stop_reports import StopReport
from ..errors import ErrorTold
from ..operations.table import OPERATIONS
from . import stacks
from .generic import render_any
from .stop_reports import render_stop_report
from .view import View, join_lines, one_line

Rendering = Callable[[Any, View], str]

STACKS: dict[type, Rendering] = {
    StackTrace: stacks.render_stack,
    ThreadList: stacks.render_threads,
    TaskList: stacks.render_tasks,
    Locks: stacks.render_locks,
}
OTHERS = ("values", "lists", "breakpoint_lines", "documents", "timeline_lines", "recording_lines")
"""modules with further renderings, loaded when one of theirs may be needed"""
ROOM = 8000
"""characters of a stop report in JSON that its text is made of"""
ROOM_PER_CHARACTER = 3
MOST_PROBLEMS = 5
ASKED_AGAIN = "report"
"""the operation that shows all of a stop, also of one that is known"""


def make_room(operation: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with which a stop report has all that its text may need: the text is cut when it is made."""
    if not is_stop_report(operation):
        return params
    return {**params, "budget": max(ROOM, ROOM_PER_CHARACTER * (params.get("budget") or 0))}


def render_answer(
    operation: str, data: bytes, base: str | None = None, reveal: bool = False, budget: int | None = None
) -> str:
    """Render the JSON of an operation's answer.

    Paths below `base` are shown relative to it. Values of names that look like secrets are masked, unless `reveal`.
    A stop has at most `budget` characters, besides what is never cut: what was raised, and notes."""
    view = View(base, reveal)
    answer = decode_answer(operation, data)
    if isinstance(answer, StopReport):
        return render_stop_report(answer, view, operation == ASKED_AGAIN, budget)
    kind: type = type(answer)
    return find_rendering(kind)(answer, view)


def decode_answer(operation: str, data: bytes) -> Any:
    """Return the struct that an answer is; plain data if a relay of another version has made another one."""
    try:
        return msgspec.json.decode(data, type=answer_type(operation))
    except msgspec.ValidationError:
        return msgspec.json.decode(data)


@cache
def answer_type(operation: str) -> Any:
    """Return the struct that an operation answers with."""
    name = OPERATIONS[operation].answer
    if name is None:
        return Any
    module, _, attribute = name.partition(":")
    found: type[Answer] = getattr(import_module(f"..answers.{module}", __package__), attribute)
    return found


def is_stop_report(operation: str) -> bool:
    """Tell whether an operation answers with a stop report, or more than that."""
    kind = answer_type(operation)
    return isinstance(kind, type) and issubclass(kind, StopReport)


@cache
def find_rendering(kind: type) -> Rendering:
    """Return the rendering of a struct, or of the nearest one that it extends."""
    for base in kind.__mro__:
        if base in STACKS:
            return STACKS[base]
    for base in kind.__mro__:
        for module in OTHERS:
            renderings: dict[type, Rendering] = import_module(f".{module}", __package__).RENDERINGS
            if base in renderings:
                return renderings[base]
    return render_any


def render_error(error: ErrorTold) -> str:
    """Render a failure: what it is, what to do, and which fields are wrong."""
    details = error["details"]
    suggestion = details.get("suggestion")
    return join_lines(
        f"error {error['code']}: {error['message']}",
        f"→ {suggestion}" if suggestion else "",
        _problem_words(details.get("errors"), error["message"]),
    )


def _problem_words(errors: Any, message: str) -> str:
    """Return the fields that are wrong, as far as the message does not say it."""
    problems = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    untold = [each for each in problems if str(each.get("message")) not in message]
    told = [f"{each.get('field')}: {each.get('message')}" for each in untold]
    more = f"; … {len(told)} in all" if len(told) > MOST_PROBLEMS else ""
    return one_line("; ".join(told[:MOST_PROBLEMS]) + more)
