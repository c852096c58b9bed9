"""A stop in the past: where and when it was, with the values that were recorded of it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ...answers.inspection import Variable
from ...answers.sessions import ExceptionInfo, Location, PastMoment
from ...answers.shape import UNSET, Maybe
from ...answers.stop_reports import ReturnValue
from ...debuggers.shapes import Frames, StopEvent
from ..execution.stops import Stop, frame_location
from ..recording.recorded_calls import NO_MORE_LINES, Call, RecordedCalls
from ..recording.recorded_errors import class_name
from ..recording.recorded_values import (
    DICT,
    EXCEPTION,
    LIST_KINDS,
    LONG_TEXT,
    MOST_CHARACTERS,
    OBJECT,
    Recorded,
    error_text,
    length_of,
    pairs_of,
    value_text,
)  # fmt: skip
from .moments import CALLED, RAISES, RETURNS, Moment, Moments

if TYPE_CHECKING:
    from ...debuggers.rows import FrameRow

MOST_FRAMES = 1000
TYPES = {"L": "list", "T": "tuple", "S": "set", "F": "frozenset", DICT: "dict", LONG_TEXT: "str"}


class PastFrame(NamedTuple):
    call: Call
    line: int
    values: dict[str, Recorded]


@dataclass(eq=False)
class PastStop:
    recording: str
    moment: Moment
    thread: str
    """name of the thread or task"""
    frames: list[PastFrame]
    """the innermost first"""
    seconds: float
    """when it was, on the clock of the machine"""
    note: str | None
    has_lines: bool
    """lines of the function are recorded"""
    sources: dict[str, list[str]] | None = None
    """of an opened recording the source files of its frames, as far as it has them: no file that it names is read"""
    reason: str = "step"
    hit_ids: list[str] = field(default_factory=list)
    rows: Frames = field(default_factory=list)
    """the frames as debuggers describe them"""
    _references: dict[int, Recorded] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.rows = [_frame_row(frame, index) for index, frame in enumerate(self.frames)]

    @property
    def thread_id(self) -> int:
        """Return the number of its thread or task in the recording, counted from 1."""
        return self.moment.call.lane + 1

    @property
    def location(self) -> Location:
        return frame_location(self.rows[0])

    def describe(self) -> PastMoment:
        moment = self.moment
        return PastMoment(
            recording=self.recording, moment=moment.number, call=moment.call.number, line=moment.line,
            event=moment.event, thread=self.thread,
        )

    def to_stop(self) -> Stop:
        return Stop(StopEvent(self.reason, self.thread_id), self.rows, self.hit_ids, note=self.note, is_told=True)

    def recorded_source(self, path: str | None) -> list[str] | None:
        """Return the lines of a file of an opened recording; None: it is this machine's own."""
        return None if self.sources is None else self.sources.get(path or "", [])

    def exception(self) -> ExceptionInfo | None:
        """Return the exception that leaves the function at this moment."""
        if self.moment.event != RAISES:
            return None
        error = self.moment.call.value
        text = error_text(error).partition(": ")[2]
        return ExceptionInfo(type=class_name(error), message=text, location=self.location)

    def returned(self) -> ReturnValue | None:
        if self.moment.event != RETURNS:
            return None
        call = self.moment.call
        return ReturnValue(type=type_of(call.value), value=_text(call.value), function=call.function.name)

    # Values, and what is inside them.

    def variables(self, frame: int) -> list[Variable]:
        return [self._variable(name, value) for name, value in self.frames[frame].values.items()]

    def scope_reference(self, frame: int) -> int:
        """Return the reference under which the variables of a frame are."""
        values = self.frames[frame].values
        return self.reference_of((OBJECT, "", 0, [part for pair in values.items() for part in pair]))

    def children(self, reference: int) -> list[Variable] | None:
        """Return what is under a reference; None if there is no such."""
        if reference not in self._references:
            return None
        rows = parts_of(self._references[reference])
        return [self._variable(name, value, index) for name, value, index in rows]

    def reference_of(self, value: Recorded) -> int:
        """Return the reference of a value, 0 if nothing that is inside was kept."""
        if not any(True for _ in parts_of(value)):
            return 0
        number = next(self._numbers)
        self._references[number] = value
        return number

    def _variable(self, name: str, value: Recorded, index: int | None = None) -> Variable:
        return Variable(
            name=name, value=_text(value), type=type_of(value), variables_reference=self.reference_of(value),
            index=UNSET if index is None else index, length=length_or_unset(value),
        )


def make_stop(calls: RecordedCalls, moment: Moment) -> PastStop:
    """Look up all that was recorded of a moment."""
    moments = Moments(calls)
    has_lines = moment.call.number in calls.steps_by_call
    frames = list(itertools.islice(_frames(calls, moments, moment), MOST_FRAMES))
    paths = {frame.call.function.path for frame in frames}
    wall, began = calls.header.get("wall", 0.0), calls.header.get("began", 0.0)
    return PastStop(
        recording=calls.folder.name, moment=moment, thread=calls.lane_name(moment.call.lane),
        frames=frames, sources={each: calls.foreign_lines(each) for each in paths} if calls.folder.is_foreign else None,
        seconds=wall + moments.seconds_until(moment.number) - began,
        note=" ".join(_notes(calls, moment, has_lines)) or None, has_lines=has_lines,
    )


def _frames(calls: RecordedCalls, moments: Moments, moment: Moment) -> Iterator[PastFrame]:
    call, line = moment.call, moment.line
    while True:
        yield PastFrame(call, line, moments.values_at(call, moment.number))
        caller = calls.find_call(call.caller)
        if caller is None:
            return
        call, line = caller, calls.call_line(call) or caller.function.line


def _notes(calls: RecordedCalls, moment: Moment, has_lines: bool) -> Iterator[str]:
    """Return what one should know of what is shown."""
    name = moment.call.function.name
    if moment.event == CALLED:
        yield f"{name} is called here."
    if not has_lines:
        known = "arguments, and variables where the exception left it" if moment.event == RAISES else "arguments"
        yield f'Of {name} only {known} were recorded: record with "lines": ["{name}"] to have its lines and locals.'
    steps = calls.steps_of(moment.call.number) if has_lines else []
    if any(step.kind == NO_MORE_LINES and step.number <= moment.number for step in steps):
        yield f"Further lines of this call of {name} were not recorded: there are too many."


def _frame_row(frame: PastFrame, index: int) -> FrameRow:
    path = frame.call.function.path
    return {
        "id": index, "name": frame.call.function.name, "source": {"path": path, "name": os.path.basename(path)},
        "line": frame.line, "column": 1, "presentationHint": "normal",
    }  # fmt: skip


def parts_of(value: Recorded) -> Iterable[tuple[str, Recorded, int | None]]:
    """Return what was kept of the inside of a value: names or keys, values, and the positions of items."""
    if not isinstance(value, tuple) or len(value) < 3:
        return ()
    kind = value[0]
    if kind in LIST_KINDS or kind == EXCEPTION:
        return ((str(index), item, index) for index, item in enumerate(value[2]))
    if kind == DICT:
        return ((_text(key), item, None) for key, item in pairs_of(value[2]))
    if kind == OBJECT and len(value) > 3:
        return ((str(name), item, None) for name, item in pairs_of(value[3]))
    return ()


def type_of(value: Recorded) -> str | None:
    """Return the name of the class of a value; None of one of which only a text was kept."""
    if not isinstance(value, tuple):
        return type(value).__name__
    if len(value) < 2:
        return None
    return str(value[1]) if value[0] in (OBJECT, EXCEPTION) else TYPES.get(value[0])


def length_or_unset(value: Recorded) -> Maybe[int]:
    try:
        return length_of(value)
    except TypeError:
        return UNSET


def _text(value: Recorded) -> str:
    return value_text(value)[:MOST_CHARACTERS]
