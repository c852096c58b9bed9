"""Runs a program to its end without a conversation: each stop is recorded, and the program goes on.

A Python program is recorded meanwhile, so that an exception is told with how it came about."""

from __future__ import annotations

import keyword
import re
import time
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from ..errors import RelayError
from ..operations.states import ENDED, State
from ..text.view import marked_output
from ..wording import counted
from .arguments import Run, Trace
from .conversation import Conversation, Told
from .starting import run
from .tracing import tell_changes, tell_course

LONGEST_WAIT = 300.0
"""Seconds of one question."""
MOST_CALLERS = 5
"""Functions of the program's own code whose locals are recorded at an exception, besides the one that stopped."""
CALLER_BUDGET = 2000
MOST_NAMES = 4
"""Variables and attributes of a failing line whose changes are told."""
CURRENT_LINE = re.compile(r"^>\s*\d+(.*)", re.MULTILINE)
VALUE_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?![\w(])")
"""A name, or a path of attributes, that is not called."""


class Capture(Run, kw_only=True):
    """What is run, what is recorded, and the limits of it."""

    expressions: list[str] = field(default_factory=list)
    hits: Annotated[int, Meta(ge=1, le=1000)] = 20
    seconds: Annotated[float, Meta(gt=0, le=3600)] = 60
    size: Annotated[int, Meta(ge=1000, le=100_000_000)] = 100_000


class TitledText(Struct):
    """An expression with its value, or a caller with its locals."""

    title: str
    text: str


class RecordedStop(Struct):
    text: str
    """the stop report"""
    data: dict[str, Any]
    """the same as the lean answer"""
    values: list[TitledText]
    callers: list[TitledText]
    changes: list[str]
    """of what the failing line names: where each was given or changed"""

    @property
    def size(self) -> int:
        parts = [self.text, *(each.text for each in self.values), *(each.text for each in self.callers), *self.changes]
        return sum(len(part.encode()) for part in parts)


class Recording(Struct):
    """What a capture found."""

    stops: list[RecordedStop] = field(default_factory=list)
    end: str = ""
    """how the program ended, and what it wrote last"""
    end_data: dict[str, Any] | None = None
    course: str = ""
    """how exceptions came about, of a program that was recorded"""
    course_data: dict[str, Any] | None = None
    left_out: list[str] = field(default_factory=list)
    """what is not in the recording, and why"""


async def capture(conversation: Conversation, given: Capture) -> Recording:
    """Run the program, record its stops within the limits, and end the session."""
    deadline = time.monotonic() + given.seconds
    told = await _run_recorded(conversation, _run_of(given))
    recorder = _Recorder(conversation, given, deadline)
    try:
        await recorder.record(told)
    finally:
        await conversation.tell("delete_session", {"force": True}, told.session_id)
        conversation.memory.remember(None)
    return recorder.recording


async def _run_recorded(conversation: Conversation, given: Run) -> Told:
    """Run a program, recorded if that is possible: of native ones, and others that are not Python, it is not."""
    try:
        return await run(conversation, replace(given, options={"record": True, **given.options}))
    except RelayError as error:
        if error.details.get("parameter") != "record" or "record" in given.options:
            raise
        return await run(conversation, given)


def _run_of(given: Capture) -> Run:
    """Return the run without a wait: the session is to be known, and ended, should somebody interrupt the wait."""
    launch = {name: getattr(given, name) for name in Run.__struct_fields__}
    return Run(**{**launch, "wait": 0})


class _Recorder:
    def __init__(self, conversation: Conversation, given: Capture, deadline: float) -> None:
        self.recording = Recording()
        self._conversation = conversation
        self._given = given
        self._deadline = deadline
        self._room = given.size
        self._earlier_output: list[dict[str, Any]] = []
        """told while the program ran, and so not told again"""

    async def record(self, told: Told) -> None:
        """Record stop after stop, until the program has ended or a limit is reached."""
        while told.status not in ENDED and not self.recording.left_out:
            if told.status == State.PAUSED:
                await self._add_stop(told)
            elif "waiting_for_input" in told.data:
                self._leave_out("what comes after the program has read its input", "stdin")
            if not self._seconds_left:
                self._leave_out(f"what came after {self._given.seconds:g} s", "time")
            if not self.recording.left_out:
                told = await self._go_on(told)
        if told.status != State.PAUSED:
            await self._add_end(told)
        if any("exception" in stop.data for stop in self.recording.stops):
            await self._add_course(told.session_id or "")

    @property
    def _seconds_left(self) -> float:
        return round(max(0.0, min(self._deadline - time.monotonic(), LONGEST_WAIT)), 1)

    async def _go_on(self, told: Told) -> Told:
        if told.status == State.PAUSED:
            return await self._conversation.tell("continue", {"wait": self._seconds_left}, told.session_id)
        self._earlier_output += told.data.get("output", [])
        return await self._conversation.tell("report", {"wait": self._seconds_left}, told.session_id)

    def _with_earlier_output(self, told: Told) -> Told:
        earlier, self._earlier_output = self._earlier_output, []
        if not earlier:
            return told
        lines = marked_output((each["category"], each["output"]) for each in earlier)
        data = {**told.data, "output": [*earlier, *told.data.get("output", [])]}
        return told._replace(text="\n".join([*lines, told.text]), data=data)

    async def _add_stop(self, told: Told) -> None:
        told = self._with_earlier_output(told)
        values = [TitledText(each, await self._evaluate(each, told)) for each in self._given.expressions]
        is_failure = "exception" in told.data
        callers = await self._find_callers(told) if is_failure else []
        changes = await self._find_changes(told) if is_failure else []
        stop = RecordedStop(told.text, told.data, values, callers, changes)
        self._room -= stop.size
        if self._room < 0:
            self._leave_out(f"stop {len(self.recording.stops) + 1} and what came after it", "size")
            return
        self.recording.stops.append(stop)
        if len(self.recording.stops) == self._given.hits:
            self._leave_out(f"what came after {counted(self._given.hits, 'stop')}", "hits")

    async def _add_end(self, told: Told) -> None:
        """Tell how the program ended, or where it was when it had to end."""
        if told.status == State.RUNNING and "waiting_for_input" not in told.data:
            with suppress(RelayError):  # what cannot be paused is told as it is
                paused = await self._conversation.tell("pause", {}, told.session_id)
                self._earlier_output += told.data.get("output", [])
                told = paused
        told = self._with_earlier_output(told)
        self.recording.end, self.recording.end_data = told.text, told.data

    async def _add_course(self, session: str) -> None:
        """Tell how exceptions came about: the calls on their way, with arguments and results."""
        with suppress(RelayError):  # nothing was recorded
            course = await tell_course(self._conversation, session, Trace())
            if len(course.text.encode()) > self._room:
                self._leave_out("how it came about", "size")
            else:
                self.recording.course, self.recording.course_data = course.text, course.data

    async def _find_changes(self, told: Told) -> list[str]:
        """Tell where what the failing line names was given or changed, as far as it was recorded."""
        changes: list[str] = []
        for name in _names_of_values(told.data.get("source", "")):
            with suppress(RelayError):  # nothing was recorded
                found = await tell_changes(self._conversation, told.session_id or "", name)
                changes += [found.text] if found else []
        return changes

    def _leave_out(self, what: str, option: str) -> None:
        self.recording.left_out.append(f"{what} (see --{option})")

    async def _evaluate(self, expression: str, told: Told) -> str:
        try:
            return (await self._conversation.tell("evaluate", {"expression": expression}, told.session_id)).text
        except RelayError as error:
            return error.message

    async def _find_callers(self, told: Told) -> list[TitledText]:
        """Return the locals of the program's own functions that led to an exception."""
        shown = told.data.get("frame_id", 0)
        own = [each for each in told.data.get("stack", ()) if "presentation_hint" not in each and each["id"] > shown]
        callers = []
        for frame in own[:MOST_CALLERS]:
            params = {"frame_id": frame["id"], "budget": CALLER_BUDGET}
            found = await self._conversation.tell("frame_variables", params, told.session_id)
            callers.append(TitledText(f"{frame['name']} {frame.get('path', '')}:{frame['line']}", found.text))
        return callers


def _names_of_values(source: str) -> list[str]:
    """Return the variables and attributes on the current line of source, as stop reports show it."""
    current = CURRENT_LINE.search(source)
    found = VALUE_NAME.findall(current[1]) if current else []
    return [name for name in dict.fromkeys(found) if not keyword.iskeyword(name)][:MOST_NAMES]
