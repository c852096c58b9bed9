"""Stops of a native program: who is told of them, and how the program goes on."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from ...errors import RelayError
from ..base import Asked, Frames, Go, StopEvent
from ..journeys import Journey
from ..rows import complaint
from ..rules import Rule, formatted
from .looking import MOST_FRAMES, VALUES, Looking
from .marks import CATCH, VISIT
from .talking import done

HALT = 5.0
"""Seconds for a program to halt when nobody is told of it."""
LONGEST_LOG = 10_000
"""characters of a log message"""
FROM_CORE = "A core file shows a program that has crashed: it can be looked at, but not run"


class NotLetGo(RelayError):
    """The debugger refused to let the program go on."""

    def __init__(self, said: str, advice: str | None = None) -> None:
        advice = advice or "Remove the breakpoint that is named, or whatever else keeps it, then go on"
        super().__init__("INVALID_SESSION_STATE", f"The program cannot go on: {said}", suggestion=advice)
        self.told = f"{self.message.rstrip('.')}. {advice}"


class Stopping(Looking):
    def _reason(self, body: dict[str, Any]) -> str:
        """Why it stopped, as a session sees it."""
        reason = str(body["reason"])
        return {"signal": "exception", "function breakpoint": "breakpoint", "instruction breakpoint": "breakpoint"}.get(
            reason, reason
        )

    def _on_stopped(self, body: dict[str, Any]) -> None:
        done(self._started)
        if self._asides and not self._is_running:  # else it is the stop of what runs
            return
        self._is_running = False
        numbers = self._marks.reached(body.get("hitBreakpointIds") or [])
        if self._halting is not None:
            done(self._halting)
        elif self._is_ending:
            self._spawn(self._go_on_quietly(body["threadId"]))
        elif self._reason(body) == "data breakpoint":
            self._spawn(self._on_data(body))
        elif self._is_plain(self._reason(body), numbers):
            self._tell(self._reason(body), body["threadId"], numbers)
        else:
            self._spawn(self._judge(self._reason(body), body["threadId"], numbers))

    def _is_plain(self, reason: str, numbers: list[int]) -> bool:
        """Nothing to think about: it is what it seems."""
        special = any(number in self._marks.rules or number <= VISIT for number in numbers)
        is_own = self._is_starting or self._stops_on_entry or self._journeys.current is not None
        return not (special or is_own) and (reason != "breakpoint" or bool(numbers))

    async def _on_data(self, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def _tell(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        self._is_pausing = False
        self._journeys.stop()
        self._forget_places()  # the stop may have come before the answer to what let it go
        self._alone = None
        self._stops += 1
        self._listener.on_stopped(
            StopEvent(reason, thread_id, hit_numbers=numbers, number=self._stops, after=self._serial, **more)
        )

    async def _judge(self, reason: str, thread_id: int, numbers: list[int]) -> None:
        """Whether anybody is told of a stop; else the program goes on."""
        try:
            if self._is_starting and not numbers and reason != "exception":
                await self._arrived_at_start(thread_id)
            elif self._stops_on_entry:
                await self._arrived_at_entry(reason, thread_id, numbers)
            else:
                await self._decide(reason, thread_id, numbers)
        except RelayError:
            if not self._is_over:
                self._tell(reason, thread_id, [])

    async def _decide(self, reason: str, thread_id: int, numbers: list[int]) -> None:
        self._is_starting = False
        stopping = [number for number in numbers if number > 0 and await self._wants_stop(number, thread_id)]
        if stopping or reason not in ("breakpoint", "step"):
            self._tell(reason, thread_id, stopping)
        elif VISIT in numbers:
            self._tell("run_to", thread_id, [])
        elif CATCH in numbers and not self._is_pausing:
            await self._land(thread_id)
        elif self._is_pausing:
            self._tell("pause", thread_id, [])
        elif reason == "step":
            await self._travel(thread_id)
        else:
            await self._go_on_quietly(thread_id)

    async def _arrived_at_entry(self, reason: str, thread_id: int, numbers: list[int]) -> None:
        self._is_starting = self._stops_on_entry = False
        await self._marks.entered()
        stopping = [number for number in numbers if number > 0 and await self._wants_stop(number, thread_id)]
        self._tell("entry" if reason == "breakpoint" else reason, thread_id, stopping)

    async def _arrived_at_start(self, thread_id: int) -> None:
        """The debugger has the program, which has not begun, or was running."""
        self._is_starting = False
        if self._is_core:
            number, _ = await self._signal(self._frame((await self._stack(thread_id, 1))[0]["id"]))
            self._tell("exception" if number else "pause", thread_id, [])
        elif self._stops_on_entry and self._stops_at_first:
            self._stops_on_entry = False
            self._tell("entry", thread_id, [])
        elif self._is_pausing:
            self._tell("pause", thread_id, [])
        else:
            await self._go_on_quietly(thread_id)

    async def _wants_stop(self, number: int, thread_id: int) -> bool:
        rule = self._marks.rules.get(number)
        if rule is None:
            return True
        frames: Frames = []
        if rule.bp.condition or rule.bp.log or (rule.bp.function and rule.bp.path):
            frames = await self._stack(thread_id, 1)
        if rule.bp.function and rule.bp.path and not _is_in(frames, rule.bp.path):
            return False
        if rule.bp.condition and frames:
            problem = await self._problem_with(frames[0]["id"], rule.bp.condition)
            if problem is not None:
                rule.hits += 1
                self._listener.on_condition_error(number, problem, False)
                return True
        if not rule.count():
            return False
        if rule.bp.log is None:
            return True
        text = await self._message(frames[0]["id"], rule) if frames else ""
        self._listener.on_hits({number: rule.hits})
        self._listener.on_log(number, text)
        return False

    async def _problem_with(self, frame: int, condition: str) -> str | None:
        """Debuggers stop where a condition fails; they do not say so."""
        answer = await self._evaluated(frame, self._frame(frame), condition, 100, self._timeout)
        problem = complaint(answer)
        return str(problem) if problem else None

    async def _message(self, frame: int, rule: Rule) -> str:
        parts = [part if isinstance(part, str) else await self._logged(frame, part) for part in rule.bp.log or []]
        return "".join(parts)[:LONGEST_LOG]

    async def _logged(self, frame: int, part: list[Any]) -> str:
        """One expression of a log message; one that fails leaves the rest whole."""
        answer = await self._evaluated(frame, self._frame(frame), part[0], LONGEST_LOG, VALUES)
        problem = complaint(answer)
        if problem or answer.get("timed_out"):
            return f"<{problem or 'timed out'}>"
        return formatted(answer["result"], "".join(each for each in part[2] if isinstance(each, str)))

    async def _travel(self, thread_id: int) -> None:
        """A step of a journey is over."""
        journey = self._journeys.current
        if journey is None:
            self._tell("step", thread_id, [])
            return
        journey.steps += 1
        if journey.until is not None:
            await self._look_ahead(journey, journey.until, thread_id)
        if self._is_pausing:
            self._tell("pause", thread_id, [])
            return
        if journey.is_over or journey.is_met or journey.error or journey.steps >= journey.most:
            self._tell("step", thread_id, [])
            return
        self._is_running = True
        self._forget_places()
        await self._send_off(journey.kind, self._go_arguments(thread_id, self._alone is not None, journey.granularity))

    async def _look_ahead(self, journey: Journey, until: str, thread_id: int) -> None:
        frames = await self._stack(thread_id, 1)
        answer = await self._evaluated(frames[0]["id"], self._frame(frames[0]["id"]), until, 100, self._timeout)
        problem = complaint(answer)
        if problem and not self._is_unknown_name(problem):
            journey.error = problem
        elif answer.get("timed_out"):
            journey.error = "the expression took too long and was interrupted"
        else:
            journey.is_met = not problem and is_true(answer["result"])

    def _is_unknown_name(self, problem: str) -> bool:
        """A variable that does not exist yet makes a condition false."""
        return "No symbol" in problem or "undeclared identifier" in problem

    async def _go_on_quietly(self, thread_id: int) -> None:
        self._is_running = True
        self._forget_places()
        try:
            await self._send_off(self._onward, self._go_arguments(thread_id, self._alone is not None))
        except NotLetGo as error:
            if not self._is_ending:
                self._stay(thread_id, error)
        except RelayError:
            return  # it has ended, or its debugger has: that is told by itself

    def _stay(self, thread_id: int, error: NotLetGo) -> None:
        """A program that everybody takes for running is still where it was."""
        self._is_running = False
        if not self._is_over:
            self._tell("pause", thread_id, [])

    @property
    def _onward(self) -> str:
        """How a program goes on after a stop that nobody was told of."""
        return "continue"

    @property
    def _is_halted(self) -> bool:
        return not self._is_running

    def _go_arguments(self, thread_id: int, alone: bool, granularity: str = "line") -> dict[str, Any]:
        arguments: dict[str, Any] = {"threadId": thread_id, "singleThread": alone}
        if granularity == "instruction":
            arguments["granularity"] = "instruction"
        return arguments

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        await self._give_up_catch()
        await self._go("continue", thread_id, go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        self._journeys.begin(kind, granularity)
        self._left = self._tops.get(thread_id) if kind == "stepOut" and not self._is_throwing else None
        await self._give_up_catch()
        if self._is_throwing and granularity == "line":
            await self._marks.await_catch()
            kind = "continue"
        elif self._is_panicking(thread_id) and granularity == "line":
            kind = "continue"
        await self._go(kind, thread_id, go, granularity)

    @property
    def _is_throwing(self) -> bool:
        """It stands in the C++ library, where a step would lose it: what follows is where the exception is caught."""
        return False

    def _is_panicking(self, thread_id: int) -> bool:
        """It stands where Rust leaves its functions: none of them returns, and a step would wait for that."""
        return False

    async def _land(self, thread_id: int) -> None:
        """In the code that catches."""
        await self._marks.caught()
        self._is_running = True
        self._forget_places()
        await self._send_off("stepOut", self._go_arguments(thread_id, self._alone is not None))

    async def _give_up_catch(self) -> None:
        """Something else stopped the program on its way there."""
        if self._marks.awaits_catch:
            await self._marks.caught()

    async def _go(self, command: str, thread_id: int, go: Go | None, granularity: str = "line") -> None:
        if self._is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE, suggestion="Launch the program without `core` to run it")
        self._is_running, self._is_pausing = True, False
        self._alone = thread_id if go is not None and go.alone else None
        if go is not None:
            self._serial = go.serial
        try:
            await self._send_off(command, self._go_arguments(thread_id, self._alone is not None, granularity))
        except RelayError as error:
            if error.code != "DEBUGPY_TIMEOUT":
                self._is_running = False
            raise
        if self._is_running:
            self._forget_places()

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        await self._request(command, arguments)

    async def pause(self, thread_id: int | None) -> None:
        if self._is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE)
        self._is_pausing = True
        if self._is_running:
            await self._request("pause", {"threadId": thread_id or 1})

    async def _halt(self) -> None:
        """Stops the program without telling anybody."""
        if not self._is_running:
            return
        self._halting = asyncio.get_running_loop().create_future()
        try:
            await self._request("pause", {"threadId": 1})
            either: list[asyncio.Future[Any]] = [self._halting, self._ended]
            await asyncio.wait(either, timeout=HALT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._halting = None

    def ask_stack(self, thread_id: int) -> Asked:
        arguments = {"threadId": thread_id, "startFrame": 0, "levels": MOST_FRAMES}
        return self._require_talk().send("stackTrace", arguments)

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        body = await self._require_talk().answer("stackTrace", asked or self.ask_stack(thread_id))
        return self._told(thread_id, body["stackFrames"])


def _is_in(frames: Frames, path: str) -> bool:
    source = (frames[0].get("source") or {}) if frames else {}
    return os.path.realpath(source.get("path") or "") == os.path.realpath(path)


def is_true(text: str) -> bool:
    """The result of a comparison, or any number or pointer that is not zero."""
    word = text.split(" ", 1)[0]
    return word not in ("0", "false", "0x0", "(nil)", "NULL", "0.0", "'\\0'")
