"""Makes the program run and halt; decides who is told of its stops. What the debugger cannot do is done by stopping."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from typing import Any

from ...answers.machine import Recording
from ...errors import RelayError
from ...ez.messages import EventData
from ..hit_rules import formatted
from ..multi_step import Journeys
from ..optional_features import ABSENT, NoRecording, Refuse
from ..protocols import Listener
from ..rows import JourneyRow, JourneyStart, TargetPage
from ..shapes import Frames, Go, RecordingWish, StopEvent
from ..small_debugger import RESTART
from .ez_breakpoints import VISIT, EzBreakpoints, EzMemory
from .ez_conversation import Conversation, Refused, cannot, words_withheld
from .inspection.ez_inspection import LONGEST_JUDGED, EzInspection, Judged
from .inspection.ez_stacks import MAIN, Places, Stacks
from .program_state import Halt, ProgramState

KINDS = {"next": "stepOver", "stepIn": "stepInto", "stepOut": "stepOut"}
REASONS = {"dataBreakpoint": "data_breakpoint", "endOfRecording": "end_of_recording"}
RAISED = re.compile(r"Condition raised (.*)", re.DOTALL)
"""Text of a stop whose condition could not be judged."""


@dataclass
class StepUnderWay:
    kind: str
    depth: int
    line: int
    is_held_up: bool = False
    """by a breakpoint in what it calls, at which nobody wants to stop"""


@dataclass(eq=False)
class EzControl:
    _refuse: Refuse
    _state: ProgramState
    _conversation: Conversation
    _listener: Listener
    _places: Places
    _stacks: Stacks
    _breakpoints: EzBreakpoints
    _inspection: EzInspection
    _memory: EzMemory
    _journeys: Journeys
    is_first: bool = True
    """no stop has been told or passed over"""
    _step: StepUnderWay | None = None
    _depth: int = 0
    """of the stack at the last stop that was told"""
    _count: int = 0
    _serial: int = 0

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        self.set_off("continue", thread_id, go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        self._journeys.begin(kind, granularity)
        halt = self._state.halt
        self.set_off(KINDS[kind], thread_id, go, StepUnderWay(kind, self._depth, halt.line if halt else 0))

    async def pause(self, thread_id: int | None) -> None:
        """Pause the program. Under a debugger that knows no pause it stops if there is a breakpoint on every line."""
        state, talk = self._state, self._conversation
        state.wants_pause = True
        if not state.is_running:
            return
        if talk.must_be_silent:
            state.wants_pause = False
            raise words_withheld("pause")
        if talk.has("pause"):
            talk.send("pause", **(talk.thread_param(thread_id) if thread_id is not None else {}))
            return
        try:
            await talk.try_to_ask("pause")
        except Refused as error:
            if not state.is_running:
                return
            if not talk.lacks_command("pause") or not await self._stop_anywhere():
                state.wants_pause = False
                raise cannot("pause a program", "Set a breakpoint where it is to stop") from error

    async def _stop_anywhere(self) -> bool:
        """Set breakpoints until the program stops; say whether there is a place for any."""
        state, clock = self._state, asyncio.get_running_loop().time
        deadline = clock() + 1.0  # for the likely ones; then others are set too
        state.stirred.clear()

        async def has_stopped(is_likely: bool) -> bool:
            if is_likely and state.is_running and clock() < deadline:
                await state.wait_for_stir(0.02)  # so that it comes to a breakpoint in the loop that it is in
            return not state.is_running or state.is_over

        return await self._breakpoints.set_everywhere(has_stopped)

    async def speak_for_blocked(self, thread_id: int | None) -> None:
        """Do nothing: the debugger halts threads wherever they are."""

    async def step_targets(self, frame: int) -> TargetPage:
        raise self._refuse("step_targets")

    async def set_out(
        self, frame: int, most: int = 1, until: str | None = None, target: str | int | None = None
    ) -> JourneyStart:
        if target is not None:
            raise cannot(*ABSENT["step_targets"])
        self._places.find_frame(frame)
        return {"token": self._journeys.plan(most, until)}

    async def journey(self, token: int, end: bool = False) -> JourneyRow:
        return self._journeys.report(token, end)

    async def visit(self, path: str, line: int) -> None:
        await self._breakpoints.visit(path, line)

    async def leave(self, path: str, line: int) -> None:
        with contextlib.suppress(Refused):
            await self._breakpoints.leave(path, line)

    def on_stopped(self, data: EventData) -> None:
        place = data["location"]
        at = self._stacks.absolute_path(place["file"]), place["line"], place["column"]
        ids = data.get("threadId") or MAIN, data.get("breakpointId"), data.get("dataBreakpointId")
        halt = Halt(data["reason"], *at, *ids, data.get("text"))
        self._stacks.forget_stacks()
        self._breakpoints.learn_path(halt.path)
        self._state.note_stop(halt)
        self._places.clear()
        if self._state.is_live:
            self._conversation.spawn(self.judge_stop(halt, calmly=True))
        self._state.stirred.set()

    def tell_stop(self, reason: str, halt: Halt, numbers: list[int], depth: int = 0, **more: Any) -> None:
        self._state.wants_pause = self.is_first = False
        self._step, self._depth = None, depth
        self._journeys.stop()
        self._places.clear()
        self._count += 1
        event = StopEvent(reason, halt.thread_id, hit_numbers=numbers, number=self._count, after=self._serial, **more)
        self._listener.on_stopped(event)

    async def judge_stop(self, halt: Halt, calmly: bool = False) -> None:
        """Tell the session of a stop, if anybody wants it; else let the program go on."""
        may_stir = self.is_first and self._conversation.announced is None and halt.reason in ("step", "entry")
        if calmly and may_stir:
            await self._conversation.wait_for_rest()
        if self._state.halt is not halt or self._state.is_over:
            return
        try:
            for number, bound in (await self._breakpoints.catch_up()).items():
                self._listener.on_rebound(number, bound)
            await self._decide_stop(halt, self.is_first)
        except (RelayError, Refused):
            if self._state.halt is halt and not self._state.is_over:
                self.tell_stop(REASONS.get(halt.reason, halt.reason), halt, [])

    async def _decide_stop(self, halt: Halt, is_first: bool) -> None:
        reason = halt.reason
        frames = await self._stacks.stack(halt.thread_id)
        numbers: list[int] = []
        if reason == "breakpoint" or (is_first and reason in ("entry", "step")):
            numbers = self._breakpoints.numbers_at(halt.path, halt.line, halt.breakpoint_id)
        stopping = [number for number in numbers if number != VISIT and await self._wants_stop(number, halt, frames)]
        if self._state.halt is not halt:
            return
        self.is_first = False
        if is_pausing := self._state.wants_pause:
            await self._breakpoints.clear_everywhere()
        if stopping:
            self.tell_stop("breakpoint", halt, stopping, len(frames))
        elif VISIT in numbers:
            self.tell_stop("run_to", halt, [], len(frames))
        elif is_pausing:
            self.tell_stop("pause", halt, [], len(frames))
        elif reason == "dataBreakpoint":
            await self._decide_data(halt, frames)
        elif reason == "breakpoint" and (numbers or self._breakpoints.is_fading(halt.path, halt.line)):
            await self._pass_by(halt, frames)
        elif reason == "step" and not is_first:
            await self._end_step(halt, frames)
        elif is_first and reason in ("entry", "step"):
            self._go_on("continue")
        else:
            note = halt.text or None if reason != "exception" else None
            self.tell_stop(REASONS.get(reason, reason), halt, [], len(frames), note=note)

    async def _decide_data(self, halt: Halt, frames: Frames) -> None:
        number = self._memory.number_of(halt)
        if number is None:
            self.tell_stop("data_breakpoint", halt, [], len(frames), note=halt.text)
        elif await self._memory.wants_stop(number, frames):
            self.tell_stop("data_breakpoint", halt, [], len(frames), data_hit={"number": number, "said": halt.text})
        else:
            await self._pass_by(halt, frames)

    # Breakpoints that were reached: their condition, their count, their log message.

    async def _wants_stop(self, number: int, halt: Halt, frames: Frames) -> bool:
        rule = self._breakpoints.rules.get(number)
        if rule is None:
            return True
        if rule.bp.condition:
            if self._breakpoints.has_conditions:  # then the debugger has judged it already
                found = RAISED.match(halt.text or "")
                judged = Judged("true", found[1] if found else None)
            else:
                judged = await self._inspection.judge(frames, rule.bp.condition)
            if judged.problem is not None:
                self._listener.on_condition_error(number, judged.problem, False)
                return True
            if not judged.is_true:
                return False
        if not rule.count():
            return False
        if rule.bp.log is None:
            return True
        parts = [part if isinstance(part, str) else await self._log_part(frames, part) for part in rule.bp.log]
        self._listener.on_hits({number: rule.hits})
        self._listener.on_log(number, "".join(parts)[:LONGEST_JUDGED])
        return False

    async def _log_part(self, frames: Frames, part: list[Any]) -> str:
        """Return the text of one expression of a log message; one that fails leaves the rest whole."""
        judged = await self._inspection.judge(frames, part[0])
        if judged.problem is not None:
            return f"<{judged.problem}>"
        return formatted(judged.text, "".join(each for each in part[2] if isinstance(each, str)))

    # Steps, and stops in the middle of them.

    async def _pass_by(self, halt: Halt, frames: Frames) -> None:
        """Go on from a breakpoint at which nobody wants to stop. A step that it came in between goes on to its end."""
        step, depth = self._step, len(frames)
        if step is None:
            self._go_on("continue")
        elif step.kind == "stepIn" or not step.depth:
            await self._end_step(halt, frames)
        elif depth > step.depth or (step.kind == "stepOut" and depth == step.depth):
            step.is_held_up = True
            self._go_on("stepOut")
        elif step.kind == "next" and depth == step.depth and halt.line == step.line:
            self._go_on("stepOver")
        else:
            await self._end_step(halt, frames)

    async def _end_step(self, halt: Halt, frames: Frames) -> None:
        """Tell that a step is over; take the next one of several."""
        step, journey = self._step, self._journeys.current
        if step is not None and step.is_held_up:
            step.is_held_up = False
            await self._pass_by(halt, frames)
            return
        if journey is not None:
            journey.steps += 1
            if journey.until is not None:
                judged = await self._inspection.judge(frames, journey.until)
                journey.is_met = judged.is_true
                journey.error = judged.problem if judged.is_hopeless else None
        if journey is None or journey.is_over or journey.is_met or journey.error or journey.steps >= journey.most:
            self.tell_stop("step", halt, [], len(frames))
            return
        self._step = StepUnderWay(journey.kind, len(frames), halt.line)
        self._go_on(KINDS[journey.kind])

    def _go_on(self, command: str) -> None:
        self._state.let_go()
        self._places.clear()
        self._breakpoints.went_on()
        with contextlib.suppress(RelayError):  # its end is told when it is seen
            self._conversation.send(command)

    def set_off(self, command: str, thread_id: int, go: Go | None, step: StepUnderWay | None = None) -> None:
        self._step = step
        if go is not None and go.alone:
            message = "This debugger lets all threads of a program go on together"
            raise RelayError("NOT_SUPPORTED", message, suggestion="Leave thread_id and single_thread out")
        if go is not None:
            self._serial = go.serial
        self._state.let_go()
        self._state.wants_pause = False
        try:
            self._conversation.send(command, **self._conversation.thread_param(thread_id))
        except RelayError:
            self._state.stay_halted()
            raise
        self._places.clear()
        self._breakpoints.went_on()

    def on_refusal(self, message: str) -> None:
        """Tell why the program is where it was, if it was let go."""
        halt = self._state.halt
        if halt is not None and self._state.is_running:
            self._state.stay_halted()
            self.tell_stop("pause", halt, [], self._depth, note=f"The debugger refused: {message}")


@dataclass(eq=False)
class EzRecording(NoRecording):
    """Goes back in what the program did, with the few debuggers of this protocol that record it."""

    _refuse: Refuse
    _conversation: Conversation
    _control: EzControl

    needs_pause = True

    async def record(self, enabled: bool, wish: RecordingWish) -> Recording:
        if not self._conversation.has("reverse"):
            raise cannot("record and go back", RESTART)
        answer = await self._conversation.require("record", enabled=enabled)
        return Recording(recording=answer["enabled"])

    async def reverse(self, kind: str, thread_id: int, go: Go | None = None) -> None:
        self._control.set_off(kind, thread_id, go)
