"""Runs a program to its end without a conversation: each stop is recorded, and the program goes on."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from ..errors import RelayError
from ..operations.states import ENDED, State
from ..text.view import marked_output
from ..wording import counted
from .arguments import Run
from .conversation import Conversation, Told
from .starting import run

LONGEST_WAIT = 300.0
"""Seconds of one question."""
MOST_CALLERS = 5
"""Functions of the program's own code whose locals are recorded at an exception, besides the one that stopped."""
CALLER_BUDGET = 2000


class Capture(Run, kw_only=True):
    """What is run, what is recorded, and the limits of it."""

    expressions: list[str] = field(default_factory=list)
    hits: Annotated[int, Meta(ge=1, le=1000)] = 20
    seconds: Annotated[float, Meta(gt=0, le=3600)] = 60
    size: Annotated[int, Meta(ge=1000, le=100_000_000)] = 100_000


class RecordedValue(Struct):
    expression: str
    text: str


class RecordedFrame(Struct):
    """A caller, with its locals."""

    title: str
    text: str


class RecordedStop(Struct):
    text: str
    """the stop report"""
    data: dict[str, Any]
    """the same as the lean answer"""
    values: list[RecordedValue]
    callers: list[RecordedFrame]

    @property
    def size(self) -> int:
        parts = [self.text, *(each.text for each in self.values), *(each.text for each in self.callers)]
        return sum(len(part.encode()) for part in parts)


class Recording(Struct):
    """What a capture found."""

    stops: list[RecordedStop] = field(default_factory=list)
    end: str = ""
    """how the program ended, and what it wrote last"""
    end_data: dict[str, Any] | None = None
    left_out: list[str] = field(default_factory=list)
    """what is not in the recording, and why"""


async def capture(conversation: Conversation, given: Capture) -> Recording:
    """Run the program, record its stops within the limits, and end the session."""
    deadline = time.monotonic() + given.seconds
    told = await run(conversation, _run_of(given))
    recorder = _Recorder(conversation, given, deadline)
    try:
        await recorder.record(told)
    finally:
        await conversation.tell("delete_session", {"force": True}, told.session_id)
        conversation.memory.remember(None)
    return recorder.recording


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
        values = [RecordedValue(each, await self._evaluate(each, told)) for each in self._given.expressions]
        callers = await self._find_callers(told) if "exception" in told.data else []
        stop = RecordedStop(told.text, told.data, values, callers)
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

    def _leave_out(self, what: str, option: str) -> None:
        self.recording.left_out.append(f"{what} (see --{option})")

    async def _evaluate(self, expression: str, told: Told) -> str:
        try:
            return (await self._conversation.tell("evaluate", {"expression": expression}, told.session_id)).text
        except RelayError as error:
            return error.message

    async def _find_callers(self, told: Told) -> list[RecordedFrame]:
        """Return the locals of the program's own functions that led to an exception."""
        shown = told.data.get("frame_id", 0)
        own = [each for each in told.data.get("stack", ()) if "presentation_hint" not in each and each["id"] > shown]
        callers = []
        for frame in own[:MOST_CALLERS]:
            params = {"frame_id": frame["id"], "budget": CALLER_BUDGET}
            found = await self._conversation.tell("frame_variables", params, told.session_id)
            callers.append(RecordedFrame(f"{frame['name']} {frame.get('path', '')}:{frame['line']}", found.text))
        return callers
