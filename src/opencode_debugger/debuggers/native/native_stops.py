"""Stops of a native program: who is told of them, and how the program goes on."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from ...errors import RelayError
from ..hit_rules import formatted
from ..multi_step import Journey, Journeys
from ..protocols import Listener
from ..rows import JourneyRow, JourneyStart, TargetPage
from ..shapes import Frames, Go, StopEvent
from .dap_inspection import VALUES, DapInspection, Evaluation
from .native_breakpoints import CATCH, ENTRY, VISIT, NativeBreakpoints
from .native_conversation import NativeConversation
from .native_exceptions import NativeExceptions
from .native_memory import DataBreakpoints
from .native_program import FROM_CORE, Motion, NativeProgram, set_done

LONGEST_LOG = 10_000
"""characters of a log message"""
REASONS = {"signal": "exception", "function breakpoint": "breakpoint", "instruction breakpoint": "breakpoint"}
"""Why a program stopped, as a session sees it, where that differs from DAP's words."""
UNKNOWN_NAME = ("No symbol", "undeclared identifier")
"""Said of a condition that names a variable which does not exist yet: that makes it false."""


class NotLetGo(RelayError):
    """The debugger refused to let the program go on."""

    def __init__(self, said: str, advice: str | None = None) -> None:
        advice = advice or "Remove the breakpoint that is named, or whatever else keeps it, then go on"
        super().__init__("INVALID_SESSION_STATE", f"The program cannot go on: {said}", suggestion=advice)
        self.told = f"{self.message.rstrip('.')}. {advice}"


@dataclass(eq=False)
class StopMachine:
    """Lets the program go and halts it, and decides about each of its stops."""

    _program: NativeProgram
    _conversation: NativeConversation
    _listener: Listener
    _inspection: DapInspection
    _table: NativeBreakpoints
    _exceptions: NativeExceptions
    _data: DataBreakpoints

    def __post_init__(self) -> None:
        self._journeys = Journeys()
        self.visit, self.leave = self._table.visit, self._table.leave
        self.reset()

    def reset(self) -> None:
        self._journeys.stop()
        self.is_starting = False
        """the next stop is the debugger's own"""
        self.stops_on_entry = False
        """the first stop of the program is its entry; `prepare_entry` is what makes it stop there"""
        self._stops_at_first = False
        """it has no symbols, so that only its very first instruction can be found"""
        self.is_pausing = False
        self._awaited: asyncio.Future[None] | None = None
        """somebody here waits for a stop that is not told"""
        self._alone: int | None = None
        """the only thread that runs"""
        self._stop_count = self._serial = 0

    # Stops, as the debugger tells them.

    def reason_of(self, body: dict[str, Any]) -> str:
        return REASONS.get(body["reason"], str(body["reason"]))

    def on_stopped(self, body: dict[str, Any]) -> None:
        program = self._program
        set_done(program.started)
        if self._conversation.is_evaluating and not program.is_running:  # else it is the stop of what runs
            return
        program.motion = Motion.HALTED
        numbers = self._table.reached_numbers(body.get("hitBreakpointIds") or [])
        thread_id = body["threadId"]
        if self._awaited is not None:  # somebody here has halted the program, and nobody else is told
            set_done(self._awaited)
        elif program.is_ending:
            self._conversation.spawn(self.go_on_quietly(thread_id))
        elif (reason := self.reason_of(body)) == "data breakpoint":
            self._conversation.spawn(self._examine_data(body))
        else:
            is_special = any(number in self._table.rules or number <= VISIT for number in numbers)
            is_own = self.is_starting or self.stops_on_entry or self._journeys.current is not None
            if is_special or is_own or (reason == "breakpoint" and not numbers):
                self._conversation.spawn(self._judge_stop(reason, thread_id, numbers))
            else:
                self.tell_stop(reason, thread_id, numbers)

    def on_continued(self, body: dict[str, Any]) -> None:
        if not self._conversation.is_evaluating:
            self._program.motion = Motion.RUNNING

    def tell_stop(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        self.is_pausing = False
        self._journeys.stop()
        self._inspection.forget_places()  # the stop may have come before the answer to what let it go
        self._alone = None
        self._send_stop(reason, thread_id, numbers, **more)

    def _send_stop(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        self._stop_count += 1
        more |= {"hit_numbers": numbers, "number": self._stop_count, "after": self._serial}
        self._listener.on_stopped(StopEvent(reason, thread_id, **more))

    async def _examine_data(self, body: dict[str, Any]) -> None:
        thread_id = body["threadId"]
        try:
            hit = await self._data.examine_hit(body)
            if hit is None:
                await self.go_on_quietly(thread_id)
            else:
                self.tell_stop("data_breakpoint", thread_id, [], data_hit=hit)
        except RelayError:
            if not self._program.is_over:
                self.tell_stop("data_breakpoint", thread_id, [])

    async def _judge_stop(self, reason: str, thread_id: int, numbers: list[int]) -> None:
        """Find out whether anybody is told of a stop; else the program goes on."""
        try:
            if self.is_starting and not numbers and reason != "exception":
                await self._arrive_at_start(thread_id)
            elif self.stops_on_entry:
                self.is_starting = self.stops_on_entry = False
                await self._table.forget_function(ENTRY)
                stopping = await self.find_stopping(numbers, thread_id)
                self.tell_stop("entry" if reason == "breakpoint" else reason, thread_id, stopping)
            else:
                await self._decide_about(reason, thread_id, numbers)
        except RelayError:
            if not self._program.is_over:
                self.tell_stop(reason, thread_id, [])

    async def _decide_about(self, reason: str, thread_id: int, numbers: list[int]) -> None:
        self.is_starting = False
        stopping = await self.find_stopping(numbers, thread_id)
        if stopping or reason not in ("breakpoint", "step"):
            self.tell_stop(reason, thread_id, stopping)
        elif VISIT in numbers:
            self.tell_stop("run_to", thread_id, [])
        elif CATCH in numbers and not self.is_pausing:
            await self._land_in_catch(thread_id)
        elif self.is_pausing:
            self.tell_stop("pause", thread_id, [])
        elif reason == "step":
            await self._finish_step(thread_id)
        else:
            await self.go_on_quietly(thread_id)

    # Where the program begins.

    async def prepare_entry(self) -> None:
        if self.stops_on_entry:
            self._stops_at_first = not await self._table.await_function(ENTRY)

    async def _arrive_at_start(self, thread_id: int) -> None:
        """Decide about the moment when the debugger has the program, which has not begun, or was running."""
        self.is_starting = False
        if self._program.is_core:
            frames = await self._inspection.fetch_frames(thread_id, 1)
            number, _ = await self._inspection.signal_of(self._inspection.find_frame(frames[0]["id"]))
            self.tell_stop("exception" if number else "pause", thread_id, [])
        elif self.stops_on_entry and self._stops_at_first:
            self.stops_on_entry = False
            self.tell_stop("entry", thread_id, [])
        elif self.is_pausing:
            self.tell_stop("pause", thread_id, [])
        else:
            await self.go_on_quietly(thread_id)

    # Breakpoints that want more than to stop.

    async def find_stopping(self, numbers: list[int], thread_id: int) -> list[int]:
        """Return the breakpoints among them that want to stop there."""
        return [number for number in numbers if number > 0 and await self._wants_stop(number, thread_id)]

    async def _wants_stop(self, number: int, thread_id: int) -> bool:
        rule = self._table.rules.get(number)
        if rule is None:
            return True
        frames: Frames = []
        if rule.bp.condition or rule.bp.log or (rule.bp.function and rule.bp.path):
            frames = await self._inspection.fetch_frames(thread_id, 1)
        if rule.bp.function and rule.bp.path:
            source = (frames[0].get("source") or {}) if frames else {}
            if os.path.realpath(source.get("path") or "") != os.path.realpath(rule.bp.path):
                return False
        if rule.bp.condition and frames:
            problem = await self._condition_problem(frames[0]["id"], rule.bp.condition)
            if problem is not None:
                rule.hits += 1
                self._listener.on_condition_error(number, problem, False)
                return True
        if not rule.count():
            return False
        if rule.bp.log is None:
            return True
        text = await self._log_message(frames[0]["id"], rule.bp.log) if frames else ""
        self._listener.on_hits({number: rule.hits})
        self._listener.on_log(number, text)
        return False

    async def _evaluate_text(self, frame: int, text: str, limit: int, timeout: float) -> Evaluation:
        return await self._inspection.evaluate_text(self._inspection.find_frame(frame), text, limit, timeout)

    async def _condition_problem(self, frame: int, condition: str) -> str | None:
        """Find out why a condition failed: debuggers stop where one does, and do not say so."""
        return (await self._evaluate_text(frame, condition, 100, self._conversation.timeout)).problem or None

    async def _log_message(self, frame: int, parts: list[Any]) -> str:
        """Return the text of a log message; an expression that fails leaves the rest whole."""
        texts = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
                continue
            answer = await self._evaluate_text(frame, part[0], LONGEST_LOG, VALUES)
            wanted = "".join(each for each in part[2] if isinstance(each, str))
            problem = answer.problem or ("timed out" if answer.is_timed_out else None)
            texts.append(f"<{problem}>" if problem else formatted(answer.text, wanted))
        return "".join(texts)[:LONGEST_LOG]

    # Steps that go on by themselves.

    async def _finish_step(self, thread_id: int) -> None:
        """Tell of the end of a step, or make the next one of several."""
        journey = self._journeys.current
        if journey is None:
            self.tell_stop("step", thread_id, [])
            return
        journey.steps += 1
        if journey.until is not None:
            await self._look_ahead(journey, journey.until, thread_id)
        is_over = journey.is_over or journey.is_met or journey.error or journey.steps >= journey.most
        if self.is_pausing or is_over:
            self.tell_stop("pause" if self.is_pausing else "step", thread_id, [])
        else:
            await self._go_again(journey.kind, thread_id, journey.granularity)

    async def _look_ahead(self, journey: Journey, until: str, thread_id: int) -> None:
        frames = await self._inspection.fetch_frames(thread_id, 1)
        answer = await self._evaluate_text(frames[0]["id"], until, 100, self._conversation.timeout)
        if answer.problem and not any(words in answer.problem for words in UNKNOWN_NAME):
            journey.error = answer.problem
        elif answer.is_timed_out:
            journey.error = "the expression took too long and was interrupted"
        else:
            journey.is_met = not answer.problem and is_true(answer.text)

    async def set_out(
        self, frame: int, most: int = 1, until: str | None = None, target: str | int | None = None
    ) -> JourneyStart:
        if target is not None:
            raise self._program.refusal("step_targets")
        self._inspection.find_frame(frame)
        return {"token": self._journeys.plan(most, until)}

    async def journey(self, token: int, end: bool = False) -> JourneyRow:
        return self._journeys.report(token, end)

    async def step_targets(self, frame: int) -> TargetPage:
        raise self._program.refusal("step_targets")

    # How the program goes on.

    async def go_on_quietly(self, thread_id: int) -> None:
        """Let the program go on after a stop of which nobody was told."""
        try:
            await self._go_again(self._onward_command, thread_id)
        except NotLetGo as error:
            if not self._program.is_ending:
                self._stay_halted(thread_id, error)
        except RelayError:
            return  # it has ended, or its debugger has: that is told by itself

    async def _go_again(self, command: str, thread_id: int, granularity: str = "line") -> None:
        self._program.motion = Motion.RUNNING
        self._inspection.forget_places()
        await self._send_off(command, self._go_arguments(thread_id, granularity))

    def _stay_halted(self, thread_id: int, error: NotLetGo) -> None:
        """Tell that a program which everybody takes for running is still where it was."""
        self._program.motion = Motion.HALTED
        if not self._program.is_over:
            self.tell_stop("pause", thread_id, [])

    @property
    def _onward_command(self) -> str:
        """The request with which a program goes on after a stop that nobody was told of."""
        return "continue"

    def _go_arguments(self, thread_id: int, granularity: str = "line") -> dict[str, Any]:
        by = {"granularity": "instruction"} if granularity == "instruction" else {}
        return {"threadId": thread_id, "singleThread": self._alone is not None, **by}

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        await self._table.forget_function(CATCH)  # something else stopped the program on its way there
        await self.let_go("continue", thread_id, go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        self._journeys.begin(kind, granularity)
        leaves = kind == "stepOut" and not self._exceptions.is_throwing
        self._inspection.left_function = self._inspection.top_functions.get(thread_id) if leaves else None
        await self._table.forget_function(CATCH)
        if self._exceptions.is_throwing and granularity == "line":
            await self._table.await_function(CATCH)
            kind = "continue"
        elif self._exceptions.is_panicking(thread_id) and granularity == "line":
            kind = "continue"
        await self.let_go(kind, thread_id, go, granularity)

    async def _land_in_catch(self, thread_id: int) -> None:
        """Step into the code that catches."""
        await self._table.forget_function(CATCH)
        await self._go_again("stepOut", thread_id)

    async def let_go(self, command: str, thread_id: int, go: Go | None, granularity: str = "line") -> None:
        """Let the program go on as the session wants it."""
        program = self._program
        if program.is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE, suggestion="Launch the program without `core` to run it")
        program.motion, self.is_pausing = Motion.RUNNING, False
        self._alone = thread_id if go is not None and go.alone else None
        if go is not None:
            self._serial = go.serial
        try:
            await self._send_off(command, self._go_arguments(thread_id, granularity))
        except RelayError as error:
            if error.code != "DEBUGPY_TIMEOUT":
                program.motion = Motion.HALTED
            raise
        if program.is_running:
            self._inspection.forget_places()

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        await self._conversation.request(command, arguments)

    # How it is halted.

    async def pause(self, thread_id: int | None) -> None:
        if self._program.is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE)
        self.is_pausing = True
        if self._program.allows("interrupt"):
            await self._conversation.request("pause", {"threadId": thread_id or 1})

    async def speak_for_blocked(self, thread_id: int | None) -> None:
        """Do nothing: the debugger halts threads wherever they are."""

    async def halt_quietly(self) -> None:
        """Stop the program without telling anybody."""
        if not self._program.allows("interrupt"):
            return
        self.expect_halt()
        try:
            await self._conversation.request("pause", {"threadId": 1})
            await self.await_halt(5.0)
        finally:
            self.end_halt()

    def expect_halt(self) -> None:
        """Keep the next stop from being told."""
        self._awaited = asyncio.get_running_loop().create_future()

    async def await_halt(self, timeout: float) -> bool:
        """Wait for the stop that is expected, or the end; return whether it has come."""
        awaited = self._awaited
        assert awaited is not None
        either: list[asyncio.Future[Any]] = [awaited, self._program.ended]
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return awaited.done()

    def end_halt(self) -> None:
        self._awaited = None


def is_true(text: str) -> bool:
    """Judge the result of a comparison, or any number or pointer: true if it is not zero."""
    word = text.split(" ", 1)[0]
    return word not in ("0", "false", "0x0", "(nil)", "NULL", "0.0", "'\\0'")
