"""Makes stop reports of a failure from its traceback, as if a debugger had stopped there."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator
from itertools import chain, dropwhile
from types import FrameType
from typing import Any, NamedTuple

import msgspec

from ..answers.inspection import Frame, FrameSource, Variable
from ..answers.sessions import ExceptionInfo, Location
from ..answers.stop_reports import Omission, SourceLine, StopReport
from ..debuggers.python.inside.breakpoints.exception_details import describe_exception, related_exceptions
from ..debuggers.python.inside.rpc.handles import Reply
from ..debuggers.python.inside.source import source_text
from ..debuggers.python.inside.values import raw, variable_rows
from ..debuggers.python.inside.values.atom_texts import clip
from ..debuggers.python.inside.values.bounded_repr import render_fields
from ..debuggers.python.inside.values.members import is_definition
from ..debuggers.rows import VariableRow
from ..text.paths import is_library
from ..wording import counted

MOST_FRAMES = 50
MOST_LOCALS = 40
LONGEST_FIELDS = 160
"""characters of an object that is shown as its attributes"""
SECONDS = 1.0
"""after which values are only named"""
LINES_BEFORE = 3
LINES_AFTER = 1


class FailedTest(NamedTuple):
    error: BaseException
    path: str
    """its file: own code wherever it is"""
    how_to_stop: str
    """the command that stops a debugger there"""

    def is_own(self, frame: FrameType) -> bool:
        """Tell whether a frame is worth looking at: not of a library, nor of a helper that hides from tracebacks."""
        names = raw.plain_variables(frame.f_locals) or {}
        return self.is_own_file(frame.f_code.co_filename) and names.get("__tracebackhide__") is not True

    def is_own_file(self, path: object) -> bool:
        return type(path) is str and (path == self.path or not is_library(path))

    def own_fields(self, obj: Any) -> list[tuple[str, Any]]:
        """Return the public attributes of an object that are data, if its class is the program's own."""
        module = raw.class_dict(type(obj)).get("__module__")
        names = raw.module_dict(module) if type(module) is str else None
        if names is None or not self.is_own_file(names.get("__file__")):
            return []
        pairs = raw.slot_values(obj) + raw.dict_pairs(raw.instance_dict(obj) or {})
        return [(name, value) for name, value in pairs if name[:1] != "_" and not is_definition(value)]


class Place(NamedTuple):
    """A frame of a traceback and the line at which it was left: the frame itself may have gone on since."""

    frame: FrameType
    line: int

    @property
    def location(self) -> Location:
        return Location(path=self.path, line=self.line, column=1, function=self.frame.f_code.co_name)

    @property
    def path(self) -> str:
        return os.path.abspath(self.frame.f_code.co_filename)


def failure_stops(test: FailedTest, budget: int) -> Iterator[StopReport]:
    """Yield the stop in own code, then what else tells of it: where members and causes were raised, and the callers."""
    stack = _walked_places(test, test.error)
    callers = [place for place in stack if test.is_own(place.frame)]
    if callers:
        yield _stop_report(test, stack, stack.index(callers[0]), budget)
    seen = {place.frame for place in callers[:1]}
    related = (_walked_places(test, error) for error in related_exceptions(test.error))
    raised = (place for places in related for place in [each for each in places if test.is_own(each.frame)][:1])
    for place in chain(raised, callers[1:]):
        if place.frame not in seen:
            seen.add(place.frame)
            yield _place_report(test, place, budget)


def _walked_places(test: FailedTest, error: BaseException) -> list[Place]:
    """Return what an exception passed through, innermost first, without the frames of whatever called own code."""
    walked = traceback.walk_tb(raw.exception_traceback(error))
    places = [Place(frame, line) for frame, line in dropwhile(lambda each: not test.is_own(each[0]), walked)]
    return places[::-1]


def _stop_report(test: FailedTest, stack: list[Place], index: int, budget: int) -> StopReport:
    report = _place_report(test, stack[index], budget, LINES_BEFORE)
    parts: dict[str, Any] = {
        "stop_reason": "exception",
        "exception": _exception_info(test, budget),
        "stack": [_frame(test, number, place) for number, place in enumerate(stack[: index + MOST_FRAMES])],
    }
    if index:
        parts |= {"frame_id": index, "top_location": stack[0].location}
    return msgspec.structs.replace(report, **parts)


def _place_report(test: FailedTest, place: Place, budget: int, before: int = 1) -> StopReport:
    frame, line = place
    answer = variable_rows.locals_report(frame, Reply(), budget // 2, MOST_LOCALS, time.monotonic() + SECONDS, line)
    _show_fields(test, frame, answer["variables"])
    parts: dict[str, Any] = {}
    if answer["omitted"]:
        parts["omitted"] = [Omission(what=counted(answer["omitted"], "more local"), get=test.how_to_stop)]
    return StopReport(
        status="paused",
        current_location=place.location,
        source=msgspec.convert(source_text.lines_around(frame, before, LINES_AFTER, line), list[SourceLine]),
        locals=msgspec.convert(answer["variables"], list[Variable]),
        **parts,
    )


def _show_fields(test: FailedTest, frame: FrameType, rows: list[VariableRow]) -> None:
    """Show own objects by their attributes: their repr may not run, and an address tells nothing."""
    values = dict(variable_rows.frame_locals(frame))
    for row in rows:
        if row["value"].startswith("<") and (fields := test.own_fields(values[row["name"]])):
            row["value"] = render_fields(values[row["name"]], fields, LONGEST_FIELDS)[0]


def _exception_info(test: FailedTest, budget: int) -> ExceptionInfo:
    """Describe the exception by the first line of its message: pytest has shown the others above."""
    told = describe_exception(test.error, raw.exception_traceback(test.error), test.is_own)
    told["message"] = clip(told["message"].partition("\n")[0], budget // 4)[0]
    return msgspec.convert(told, ExceptionInfo)


def _frame(test: FailedTest, number: int, place: Place) -> Frame:
    return Frame(
        id=number, name=place.frame.f_code.co_name, line=place.line, column=1, module_name=None,
        source=FrameSource(path=place.path, name=os.path.basename(place.path)),
        presentation_hint="normal" if test.is_own(place.frame) else "subtle",
    )
