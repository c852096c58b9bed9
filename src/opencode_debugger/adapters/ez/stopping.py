"""Stops of a program: who is told of them, and how it goes on. What the debugger cannot do is done by stopping."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from typing import Any

from ...errors import RelayError
from ..base import Bound, DebuggerBreakpoint, Frames, Go, Listener, StopEvent
from ..journeys import Journey, Journeys
from ..offered import INSTEAD
from ..rows import complaint
from ..rules import Rule, formatted
from ..waiting import is_busy
from .evaluating import Evaluating
from .looking import MAIN
from .marks import VISIT, Marks
from .talking import Halt, Refused, withheld
from .texts import is_true

LONGEST_LOG = 10_000
"""characters of a log message"""
QUIET = 0.1
"""Seconds without a stop after which a debugger that stops by itself is taken to wait."""
AT_WORK = 1.0
"""Seconds more for one that has something to do: on a busy machine it may have to wait for its turn."""
MOST_STIRS = 20
ROUND = 0.02
"""Seconds for a program to come to a breakpoint in the loop that it is in."""
LIKELY = 1.0
"""Seconds for all such breakpoints, before others are set too."""
KINDS = {"next": "stepOver", "stepIn": "stepInto", "stepOut": "stepOut"}
REASONS = {"dataBreakpoint": "data_breakpoint", "endOfRecording": "end_of_recording"}
RAISED = re.compile(r"Condition raised (.*)", re.DOTALL)
"""What a stop says when its condition could not be judged."""
ONE_THREAD = "This debugger lets all threads of a program go on together"


@dataclass
class Step:
    """One that is under way, and where it began."""

    kind: str
    depth: int
    line: int
    is_held_up: bool = False
    """by a breakpoint in what it calls, at which nobody wants to stop"""


class Stopping(Evaluating):
    def __init__(
        self, session_id: str, listener: Listener, timeout: float, launch_timeout: float, path: str | None
    ) -> None:
        super().__init__(session_id, listener, timeout, launch_timeout, path)
        self._marks = Marks(self._ask, lambda: self._must_be_silent)
        self._journeys = Journeys()

    def _reset(self) -> None:
        super()._reset()
        self._is_starting = True
        """stops are nobody's business yet"""
        self._is_first = True
        """no stop has been told or passed over"""
        self._early: list[Halt] = []
        """stops before the program was started"""
        self._step: Step | None = None
        self._depth = 0
        """of the stack at the last stop that was told"""
        self._stops = 0
        self._serial = 0

    def _on_stopped(self, data: dict[str, Any]) -> None:
        place = data["location"]
        self._halt = halt = Halt(
            data["reason"],
            self._absolute(place["file"]),
            place["line"],
            place["column"],
            data.get("threadId") or MAIN,
            data.get("breakpointId"),
            data.get("dataBreakpointId"),
            data.get("text"),
        )
        self._stacks.clear()
        self._marks.learn(halt.path)
        self._is_running = False
        self._forget_places()
        if self._is_starting:
            self._early.append(halt)
        elif not self._is_ending:
            self._spawn(self._judge(halt))
        self._stirred.set()

    def _tell(self, reason: str, halt: Halt, numbers: list[int], depth: int = 0, **more: Any) -> None:
        self._is_pausing = self._is_first = False
        self._step, self._depth = None, depth
        self._journeys.stop()
        self._forget_places()
        self._stops += 1
        event = StopEvent(reason, halt.thread_id, hit_numbers=numbers, number=self._stops, after=self._serial, **more)
        self._listener.on_stopped(event)

    async def _judge(self, halt: Halt) -> None:
        if self._is_first and self._announced is None and halt.reason in ("step", "entry"):
            await self._calm()
        await self._judge_now(halt)

    async def _judge_now(self, halt: Halt) -> None:
        """Whether anybody is told of a stop; else the program goes on."""
        if self._halt is not halt or self._is_over:
            return
        try:
            for number, bound in (await self._marks.catch_up()).items():
                self._listener.on_rebound(number, bound)
            await self._decide(halt, self._is_first)
        except (RelayError, Refused):
            if self._halt is halt and not self._is_over:
                self._tell(REASONS.get(halt.reason, halt.reason), halt, [])

    async def _calm(self) -> None:
        """Some debuggers stop more than once before they wait."""
        for _ in range(MOST_STIRS):
            self._stirred.clear()
            if not await self._stirs(QUIET):
                break

    async def _stirs(self, quiet: float) -> bool:
        """Whether it stops, or is still that long."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + AT_WORK
        while not self._stirred.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(quiet):
                    await self._stirred.wait()
            if clock() > deadline or self.pid is None or not is_busy(self.pid):
                break
        return self._stirred.is_set()

    async def _decide(self, halt: Halt, is_first: bool) -> None:
        reason = halt.reason
        frames = await self.stack(halt.thread_id)
        numbers: list[int] = []
        if reason == "breakpoint" or (is_first and reason in ("entry", "step")):
            numbers = self._marks.at(halt.path, halt.line, halt.breakpoint_id)
        stopping = [number for number in numbers if number != VISIT and await self._wants_stop(number, halt, frames)]
        if self._halt is not halt:
            return
        self._is_first = False
        is_pausing = self._is_pausing
        if is_pausing:
            await self._marks.nowhere()
        if stopping:
            self._tell("breakpoint", halt, stopping, len(frames))
        elif VISIT in numbers:
            self._tell("run_to", halt, [], len(frames))
        elif is_pausing:
            self._tell("pause", halt, [], len(frames))
        elif reason == "dataBreakpoint":
            await self._decide_data(halt, frames)
        elif reason == "breakpoint" and (numbers or self._marks.is_fading(halt.path, halt.line)):
            await self._pass_by(halt, frames)
        elif reason == "step" and not is_first:
            await self._travel(halt, frames)
        elif is_first and reason in ("entry", "step"):
            self._go_on("continue")
        else:
            note = {"note": halt.text} if halt.text and reason != "exception" else {}
            self._tell(REASONS.get(reason, reason), halt, [], len(frames), **note)

    async def _decide_data(self, halt: Halt, frames: Frames) -> None:
        self._tell("data_breakpoint", halt, [], len(frames))

    # What breakpoints want.

    async def _wants_stop(self, number: int, halt: Halt, frames: Frames) -> bool:
        rule = self._marks.rules.get(number)
        if rule is None:
            return True
        if rule.bp.condition:
            holds, problem = await self._holds(rule.bp.condition, halt, frames)
            if problem is not None:
                self._listener.on_condition_error(number, problem, False)
                return True
            if not holds:
                return False
        if not rule.count():
            return False
        if rule.bp.log is None:
            return True
        text = await self._message(frames, rule)
        self._listener.on_hits({number: rule.hits})
        self._listener.on_log(number, text)
        return False

    async def _holds(self, condition: str, halt: Halt, frames: Frames) -> tuple[bool, str | None]:
        """Whether a condition does, or why it cannot be said. A debugger with conditions of its own has judged it."""
        if self._marks.has_conditions:
            found = RAISED.match(halt.text or "")
            return True, found[1] if found else None
        answer = await self._short(frames, condition)
        problem = problem_of(answer)
        return problem is None and is_true(answer["result"]), problem

    async def _short(self, frames: Frames, expression: str) -> dict[str, Any]:
        return await self._evaluated(frames[0]["id"], expression.strip(), LONGEST_LOG, self._timeout)

    async def _message(self, frames: Frames, rule: Rule) -> str:
        parts = [part if isinstance(part, str) else await self._logged(frames, part) for part in rule.bp.log or []]
        return "".join(parts)[:LONGEST_LOG]

    async def _logged(self, frames: Frames, part: list[Any]) -> str:
        """One expression of a log message; one that fails leaves the rest whole."""
        answer = await self._short(frames, part[0])
        problem = problem_of(answer)
        if problem is not None:
            return f"<{problem}>"
        return formatted(answer["result"], "".join(each for each in part[2] if isinstance(each, str)))

    # Steps, and stops in the middle of them.

    async def _pass_by(self, halt: Halt, frames: Frames) -> None:
        """A breakpoint at which nobody wants to stop. A step that it came in between goes on to its end."""
        step, depth = self._step, len(frames)
        if step is None:
            self._go_on("continue")
        elif step.kind == "stepIn" or not step.depth:
            await self._travel(halt, frames)
        elif depth > step.depth or (step.kind == "stepOut" and depth == step.depth):
            step.is_held_up = True
            self._go_on("stepOut")
        elif step.kind == "next" and depth == step.depth and halt.line == step.line:
            self._go_on("stepOver")
        else:
            await self._travel(halt, frames)

    async def _travel(self, halt: Halt, frames: Frames) -> None:
        """A step of a journey is over, or all of it."""
        step, journey = self._step, self._journeys.current
        if step is not None and step.is_held_up:
            step.is_held_up = False
            await self._pass_by(halt, frames)
            return
        if journey is not None:
            journey.steps += 1
            if journey.until is not None:
                await self._look_ahead(journey, journey.until, frames)
        if journey is None or journey.is_over or journey.is_met or journey.error or journey.steps >= journey.most:
            self._tell("step", halt, [], len(frames))
            return
        self._step = Step(journey.kind, len(frames), halt.line)
        self._go_on(KINDS[journey.kind])

    async def _look_ahead(self, journey: Journey, until: str, frames: Frames) -> None:
        answer = await self._short(frames, until)
        problem = problem_of(answer)
        if problem is None:
            journey.is_met = is_true(answer["result"])
        elif answer.get("beyond") or answer.get("syntax_error") or answer.get("timed_out"):
            journey.error = problem  # else it is a variable that does not exist yet

    def _go_on(self, command: str) -> None:
        self._is_running = True
        self._forget_places()
        self._marks.went_on()
        with contextlib.suppress(RelayError):  # its end is told when it is seen
            self._send(command)

    # What the session asks.

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        self._step = None
        self._go("continue", thread_id, go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        self._journeys.begin(kind, granularity)
        self._step = Step(kind, self._depth, self._halt.line if self._halt else 0)
        self._go(KINDS[kind], thread_id, go)

    def _go(self, command: str, thread_id: int, go: Go | None) -> None:
        if go is not None and go.alone:
            raise RelayError("NOT_SUPPORTED", ONE_THREAD, suggestion="Leave thread_id and single_thread out")
        if go is not None:
            self._serial = go.serial
        self._is_running, self._is_pausing = True, False
        try:
            self._send(command, **self._whose(thread_id))
        except RelayError:
            self._is_running = False
            raise
        self._forget_places()
        self._marks.went_on()

    def _refused_to_go(self, message: str) -> None:
        """It is where it was, and whoever let it go hears why."""
        halt = self._halt
        if halt is not None and self._is_running:
            self._is_running = False
            self._tell("pause", halt, [], self._depth, note=f"The debugger refused: {message}")

    async def pause(self, thread_id: int | None) -> None:
        """One that knows no pause stops at the next line if there is a breakpoint on every line."""
        self._is_pausing = True
        if not self._is_running:
            return
        if self._must_be_silent:
            self._is_pausing = False
            raise withheld("pause")
        if self._has("pause"):
            self._send("pause", **(self._whose(thread_id) if thread_id is not None else {}))
            return
        try:
            await self._try("pause")
        except Refused as error:
            if not self._is_running:
                return
            if "pause" not in self._lacks or not await self._stop_anywhere():
                self._is_pausing = False
                raise self._cannot("pause a program", "Set a breakpoint where it is to stop") from error

    async def _stop_anywhere(self) -> bool:
        """Sets breakpoints until the program stops; whether there is a place for any."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + LIKELY
        self._stirred.clear()

        async def has_stopped(is_likely: bool) -> bool:
            if is_likely and self._is_running and clock() < deadline:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ROUND):
                        await self._stirred.wait()
            return not self._is_running or self._is_over

        return await self._marks.everywhere(has_stopped)

    async def visit(self, path: str, line: int) -> None:
        await self._marks.visit(path, line)

    async def leave(self, path: str, line: int) -> None:
        with contextlib.suppress(Refused):
            await self._marks.leave(path, line)

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        return await self._marks.set(path, breakpoints)

    async def hits(self) -> dict[int, int]:
        return self._marks.hits()

    async def set_out(
        self, frame: int, most: int = 1, until: str | None = None, target: str | int | None = None
    ) -> dict[str, Any]:
        if target is not None:
            raise self._cannot("step into a chosen call", INSTEAD["step_targets"])
        self._frame(frame)
        return {"token": self._journeys.plan(most, until)}

    async def journey(self, token: int, end: bool = False) -> dict[str, Any]:
        return self._journeys.report(token, end)


def problem_of(answer: dict[str, Any]) -> str | None:
    if answer.get("timed_out"):
        return "the debugger did not answer in time"
    problem = complaint(answer)
    return str(problem) if problem else None
