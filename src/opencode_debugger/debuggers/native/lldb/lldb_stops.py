"""Stops of a program under lldb: which of its threads stopped, why, and how each goes on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ....errors import RelayError
from ...shapes import Go
from ..native_breakpoints import MAIN
from ..native_program import Motion
from ..native_stops import StopMachine
from .lldb_breakpoints import LldbBreakpoints
from .lldb_exceptions import DESCRIPTION, LldbExceptions, ThrowReader
from .lldb_inspection import LldbInspection
from .lldb_machine import WATCHPOINT

LISTED = re.compile(r"\bthread #(\d+): tid = (\w+),")
"""A thread, by the number by which lldb's commands call it, and by its id."""
HALTED = re.compile(r"\bthread #\d+: tid = (\w+),.*stop reason = breakpoint ([\d. ]+)$", re.MULTILINE)
"""A thread that stands at breakpoints, and all that are there."""
COMMANDS = {
    ("continue", "line"): "thread continue",
    ("next", "line"): "thread step-over --run-mode this-thread",
    ("stepIn", "line"): "thread step-in --run-mode this-thread",
    ("stepOut", "line"): "thread step-out --run-mode this-thread",
    ("next", "instruction"): "thread step-inst-over",
    ("stepIn", "instruction"): "thread step-inst",
    ("stepOut", "instruction"): "thread step-out --run-mode this-thread",
}
"""Commands that let one thread go on while the others stay, or by one instruction."""
COMPLAINT = re.compile(
    r'stopped due to an error evaluating condition of breakpoint [\d.]+: "(.*?)"\n(.*?)(?=^error: stopped due|\Z)',
    re.DOTALL | re.MULTILINE,
)
REASON = re.compile(r"^error: (.*)", re.MULTILINE)
ALL_THREADS = "script [thread.Resume() for thread in lldb.debugger.GetSelectedTarget().process]"


@dataclass(eq=False)
class LldbStopMachine(StopMachine):
    _inspection: LldbInspection
    _table: LldbBreakpoints
    _exceptions: LldbExceptions
    _throws: ThrowReader

    def reset(self) -> None:
        super().reset()
        self._together: list[dict[str, Any]] = []
        """stops of other threads, at the same moment as the one that is being told"""
        self._stepping: int | None = None
        """the thread that a step was asked of"""
        self._may_enter = False
        """a step may end at the beginning of a function"""
        self._others_wait = False
        """a thread was let go alone, after which lldb holds the others until told otherwise"""
        self._complaints: dict[str, str] = {}
        """what lldb said about conditions at which it stopped, by their text"""
        self._complained = asyncio.Event()

    def reason_of(self, body: dict[str, Any]) -> str:
        """Take signals and C++ exceptions for exceptions; SIGSTOP is how lldb halts a program."""
        description = str(body.get("description") or "")
        if body["reason"] == "exception" and description.startswith("signal SIGSTOP"):
            return "pause" if self.is_pausing or self.is_starting else "exception"
        return "data breakpoint" if WATCHPOINT.match(description) else super().reason_of(body)

    def hear_complaints(self, text: str) -> None:
        """Take note of what lldb says about conditions that it could not evaluate."""
        for condition, said in COMPLAINT.findall(text):
            self._complaints[condition.rstrip()] = said
            self._complained.set()

    async def _condition_problem(self, frame: int, condition: str) -> str | None:
        """Hear it from lldb itself: what has effects, or takes long, is not done again to find out."""
        if not self._inspection.has_side_effects(condition):
            return await super()._condition_problem(frame, condition)
        if condition.rstrip() not in self._complaints:
            self._complained.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._complained.wait(), 0.05)  # it comes another way than the stop
        said = self._complaints.pop(condition.rstrip(), None)
        if said is None:
            return None
        await self._table.renew_condition(condition)
        told = reason[1] if (reason := REASON.search(said)) else said.strip()
        too_long = "a timeout: it had not come to an end after half a second, and was interrupted"
        return too_long if "reason: breakpoint" in told else told

    def on_stopped(self, body: dict[str, Any]) -> None:
        self._inspection.stop_descriptions[body["threadId"]] = str(body.get("description") or "")
        if body.get("preserveFocusHint"):
            return  # of another thread: `_look_closer` asks which of these are new
        self._exceptions.thrown = None
        is_quiet = self._awaited is not None or self._program.is_ending or self._program.is_core
        examine = None if is_quiet or self._conversation.is_evaluating else self._find_examination(body)
        if examine is None:
            self._table.count_hits(body.get("hitBreakpointIds") or [])
            super().on_stopped(body)
            return
        self._program.motion = Motion.HALTED
        self._conversation.spawn(examine(body))

    def _find_examination(self, body: dict[str, Any]) -> Callable[[dict[str, Any]], Coroutine[Any, Any, None]] | None:
        """Return what has to be done first to find out what a stop is about."""
        ids = body.get("hitBreakpointIds") or []
        if body["reason"] == "step" and self._stepping is None:  # of another thread, which something had cut short
            return lambda body: self.go_on_quietly(body["threadId"])
        if body.get("description") == DESCRIPTION:
            return self._on_throw
        if body["reason"] == "step" and self._may_enter:
            return self._on_entry
        if self._table.is_new(ids):
            return self._on_new_place
        self._exceptions.panics.clear()
        are_set = self._table.count or self._exceptions.panic_id is not None
        may_share = are_set and (self._has_threads() or (ids and self._table.count != 1))
        return self._look_closer if may_share or self._exceptions.panic_id in ids else None

    async def _on_new_place(self, body: dict[str, Any]) -> None:
        """Decide about a breakpoint in a library that was just loaded: it may have to stop a little later."""
        end = None
        with contextlib.suppress(RelayError):
            await self._table.mend_prologues()
            end = await self._table.prologues.prologue_end()
        if not self._program.is_held:
            return
        if end is None or self.is_pausing:
            self._table.prologues.accept_places(body["hitBreakpointIds"])
            self.on_stopped(body)
        else:
            self._table.count_hits(body["hitBreakpointIds"])
            await self.go_on_quietly(body["threadId"])

    async def _on_entry(self, body: dict[str, Any]) -> None:
        """Decide about the end of a step into something, which may have ended too early."""
        end = None
        with contextlib.suppress(RelayError):
            end = await self._table.prologues.prologue_end()
        if not self._program.is_held:
            return
        if end is None or self.is_pausing:
            self._may_enter = False
            self.on_stopped(body)
            return
        self._program.motion = Motion.RUNNING
        with contextlib.suppress(RelayError):
            await self._send_off("next", self._go_arguments(body["threadId"], "instruction"))

    async def _on_throw(self, body: dict[str, Any]) -> None:
        is_wanted = True
        with contextlib.suppress(RelayError):
            is_wanted = await self._throws.look_at_throw(body["threadId"])
        if not self._program.is_held:
            return
        if is_wanted:
            super().on_stopped(body)
        else:
            await self.go_on_quietly(body["threadId"])

    def _has_threads(self) -> bool:
        try:
            return self._program.pid is not None and len(os.listdir(f"/proc/{self._program.pid}/task")) > 1
        except OSError:
            return self._program.is_attached  # on another machine, perhaps

    async def _look_closer(self, body: dict[str, Any]) -> None:
        """Find out which breakpoints were hit, and by which threads."""
        thread_id = body["threadId"]
        with contextlib.suppress(RelayError):
            fresh = await self._table.fresh_hits()
            listed = HALTED.findall(await self._conversation.run_command("thread list")) if fresh else []
            halted = {int(id, 0): [int(place.split(".")[0]) for place in places.split()] for id, places in listed}
            own = _taken_hits(halted.pop(thread_id, []), fresh)
            if body.get("hitBreakpointIds"):
                body["hitBreakpointIds"] = own or body["hitBreakpointIds"]
            others = {thread: _taken_hits(ids, fresh) for thread, ids in halted.items()}
            found = [(thread, ids) for thread, ids in others.items() if ids]
            self._together = [{"reason": "breakpoint", "threadId": id, "hitBreakpointIds": ids} for id, ids in found]
            for each in (body, *self._together):
                is_panic = self._exceptions.panic_id in (each.get("hitBreakpointIds") or [])
                if is_panic and await self._throws.look_at_panic(each["threadId"]):
                    each["reason"] = "exception"
        if self._program.is_held:
            super().on_stopped(body)

    def tell_stop(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        if self._stepping == thread_id and reason != "step":
            with contextlib.suppress(RelayError):
                self._conversation.send("evaluate", {"expression": "thread plan discard 1", "context": "repl"})
        self._stepping = None
        super().tell_stop(reason, thread_id, numbers, **more)
        together, self._together = self._together, []
        for body in together:
            self._conversation.spawn(self._tell_also(body))

    async def _tell_also(self, body: dict[str, Any]) -> None:
        """Tell of a stop of another thread: what it is about was hit, whatever else happened."""
        reason, stopping = body["reason"], []
        with contextlib.suppress(RelayError):
            for number in self._table.reached_numbers(body["hitBreakpointIds"]):
                if number > 0 and await self._wants_stop(number, body["threadId"]):
                    stopping.append(number)
        if (stopping or reason == "exception") and self._program.is_held:
            self._send_stop(reason, body["threadId"], stopping)

    async def pause(self, thread_id: int | None) -> None:
        self._conversation.spawn(self._insist_on_halt())
        await super().pause(thread_id)

    async def halt_quietly(self) -> None:
        self._conversation.spawn(self._insist_on_halt())
        await super().halt_quietly()

    async def _insist_on_halt(self) -> None:
        """Ask again: lldb forgets a pause that comes while it is still letting the program go."""
        for _ in range(15):
            await asyncio.wait([self._program.ended], timeout=0.3)
            is_wanted = self.is_pausing or self._awaited is not None
            if not self._program.is_running or not is_wanted or self._program.ended.done():
                return
            with contextlib.suppress(RelayError):
                await self._conversation.request("pause", {"threadId": 1})

    async def let_go(self, command: str, thread_id: int, go: Go | None, granularity: str = "line") -> None:
        if command == "stepOut" and self._inspection.top_functions.get(thread_id) == MAIN:
            command = "continue"  # what called it is not the program's
        self._stepping = None if command == "continue" else thread_id
        self._together = []
        await super().let_go(command, thread_id, go, granularity)

    async def _land_in_catch(self, thread_id: int) -> None:
        self._stepping = thread_id
        await super()._land_in_catch(thread_id)

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        """Use lldb's own commands for what lldb-dap cannot: it lets all threads go, by lines."""
        self._complaints.clear()
        if self._others_wait:
            self._others_wait = False
            await self._conversation.run_command(ALL_THREADS)
        alone, granularity = arguments["singleThread"], arguments.get("granularity", "line")
        if granularity == "line":
            self._may_enter = command == "stepIn"
        if not alone and (granularity == "line" or command not in ("next", "stepIn")):
            await super()._send_off(command, arguments)
            return
        self._others_wait = command == "continue"
        listed = LISTED.findall(await self._conversation.run_command("thread list"))
        index = next((int(index) for index, thread in listed if int(thread, 0) == arguments["threadId"]), 0)
        said = await self._conversation.run_command(f"{COMMANDS[command, granularity]} {index}")
        if "error:" in said:
            raise RelayError("DEBUGPY_ERROR", f"lldb refused {command}: {said.strip()}")

    async def go_on_quietly(self, thread_id: int) -> None:
        if self._together and not self._program.is_ending:
            other = self._together.pop(0)
            numbers = self._table.reached_numbers(other["hitBreakpointIds"])
            await self._judge_stop(other["reason"], other["threadId"], numbers)
            return
        if self._stepping == thread_id and not self._program.is_ending:
            # A step may have been over when it came to a breakpoint, which is all that lldb says then.
            plans = await self._conversation.run_command("thread plan list")
            if "Element 1:" not in plans.partition("Active plan stack:")[2].partition("plan stack:")[0]:
                await self._finish_step(thread_id)
                return
        await super().go_on_quietly(thread_id)


def _taken_hits(ids: list[int], fresh: dict[int, int]) -> list[int]:
    """Return those of the ids that have a hit which nobody has taken yet."""
    found = [id for id in ids if fresh.get(id, 0) > 0]
    for id in found:
        fresh[id] -= 1
    return found
