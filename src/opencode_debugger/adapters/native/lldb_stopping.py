"""Stops of a program under lldb: which of its threads stopped, why, and how each goes on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from typing import Any

from ...errors import RelayError
from ..base import Go, StopEvent
from .adapter import NativeAdapter
from .lldb_machine import WATCHPOINT
from .lldb_marks import LldbMarks
from .lldb_throws import DESCRIPTION, LldbThrows
from .marks import MAIN

COMMANDS = {
    ("continue", "line"): "thread continue",
    ("next", "line"): "thread step-over --run-mode this-thread",
    ("stepIn", "line"): "thread step-in --run-mode this-thread",
    ("stepOut", "line"): "thread step-out --run-mode this-thread",
    ("next", "instruction"): "thread step-inst-over",
    ("stepIn", "instruction"): "thread step-inst",
    ("stepOut", "instruction"): "thread step-out --run-mode this-thread",
}
"""How one thread goes on while the others stay, or by one instruction."""
COMPLAINT = re.compile(
    r'stopped due to an error evaluating condition of breakpoint [\d.]+: "(.*?)"\n(.*?)(?=^error: stopped due|\Z)',
    re.DOTALL | re.MULTILINE,
)
COMPLAINED = 0.05
"""Seconds for what lldb says about a condition: that comes another way than the stop."""
REASON = re.compile(r"^error: (.*)", re.MULTILINE)
TOO_LONG = "a timeout: it had not come to an end after half a second, and was interrupted"
PAUSES, BETWEEN_PAUSES = 15, 0.3
ALL_THREADS = "script [thread.Resume() for thread in lldb.debugger.GetSelectedTarget().process]"


class LldbStopping(LldbThrows, NativeAdapter):
    _marks: LldbMarks

    def _reset(self) -> None:
        super()._reset()
        self._described: dict[int, str] = {}
        """why each thread halted, in lldb's words"""
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

    def _reason(self, body: dict[str, Any]) -> str:
        """A signal and a C++ exception are exceptions; SIGSTOP is how lldb halts a program."""
        description = str(body.get("description") or "")
        if body["reason"] == "exception" and description.startswith("signal SIGSTOP"):
            is_ours = self._is_pausing or self._is_starting
            return "pause" if is_ours else "exception"
        if WATCHPOINT.match(description):
            return "data breakpoint"
        return super()._reason(body)

    def _on_said(self, body: dict[str, Any]) -> None:
        for condition, said in COMPLAINT.findall(body.get("output") or ""):
            self._complaints[condition.rstrip()] = said
            self._complained.set()

    async def _problem_with(self, frame: int, condition: str) -> str | None:
        """lldb itself says what is wrong; what has effects, or takes long, is not done again to find out."""
        if not self.has_side_effects(condition):
            return await super()._problem_with(frame, condition)
        if condition.rstrip() not in self._complaints:
            self._complained.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._complained.wait(), COMPLAINED)
        said = self._complaints.pop(condition.rstrip(), None)
        if said is None:
            return None
        await self._marks.renew(condition)
        reason = REASON.search(said)
        told = reason[1] if reason else said.strip()
        return TOO_LONG if "reason: breakpoint" in told else told

    def _on_stopped(self, body: dict[str, Any]) -> None:
        self._described[body["threadId"]] = str(body.get("description") or "")
        if body.get("preserveFocusHint"):
            return  # of another thread: `_look_closer` asks which of these are new
        ids = body.get("hitBreakpointIds") or []
        is_quiet = self._asides or self._halting is not None or self._is_ending or self._is_core
        self._thrown = None
        if not is_quiet and body["reason"] == "step" and self._stepping is None:
            # The end of a step of another thread that something else had cut short.
            self._is_running = False
            self._spawn(self._go_on_quietly(body["threadId"]))
            return
        if not is_quiet and body.get("description") == DESCRIPTION:
            self._is_running = False
            self._spawn(self._on_throw(body))
            return
        if not is_quiet and body["reason"] == "step" and self._may_enter:
            self._is_running = False
            self._spawn(self._on_entry(body))
            return
        if not is_quiet and self._marks.is_new(ids):
            self._is_running = False
            self._spawn(self._on_new_place(body))
            return
        if not is_quiet:
            self._panics.clear()
        are_set = self._marks.are_set or self._panic_id is not None
        may_share = are_set and (self._has_threads() or (ids and not self._marks.is_alone))
        if is_quiet or not (may_share or self._panic_id in ids):
            self._marks.count(ids)
            super()._on_stopped(body)
            return
        self._is_running = False
        self._spawn(self._look_closer(body))

    def _on_breakpoint(self, body: dict[str, Any]) -> None:
        super()._on_breakpoint(body)
        self._spawn(self._mend_marks())

    async def _mend_marks(self) -> None:
        with contextlib.suppress(RelayError):
            await self._marks.mend()

    async def _on_new_place(self, body: dict[str, Any]) -> None:
        """Of a library that was just loaded: the breakpoint may have to stop a little later."""
        end = None
        with contextlib.suppress(RelayError):
            await self._marks.mend()
            end = await self._marks.prologues.end()
        if self._is_over or self._is_running:
            return
        if end is None or self._is_pausing:
            self._marks.prologues.accept(body["hitBreakpointIds"])
            self._on_stopped(body)
        else:
            self._marks.count(body["hitBreakpointIds"])
            await self._go_on_quietly(body["threadId"])

    async def _on_entry(self, body: dict[str, Any]) -> None:
        """The end of a step into something, which may have ended too early."""
        end = None
        with contextlib.suppress(RelayError):
            end = await self._marks.prologues.end()
        if self._is_over or self._is_running:
            return
        if end is None or self._is_pausing:
            self._may_enter = False
            self._on_stopped(body)
            return
        self._is_running = True
        with contextlib.suppress(RelayError):
            await self._send_off("next", self._go_arguments(body["threadId"], self._alone is not None, "instruction"))

    async def _on_throw(self, body: dict[str, Any]) -> None:
        is_wanted = True
        with contextlib.suppress(RelayError):
            is_wanted = await self._look_at_throw(body["threadId"])
        if self._is_over or self._is_running:
            return
        if is_wanted:
            super()._on_stopped(body)
        else:
            await self._go_on_quietly(body["threadId"])

    def _has_threads(self) -> bool:
        if self.pid is None:
            return False
        try:
            return len(os.listdir(f"/proc/{self.pid}/task")) > 1
        except OSError:
            return self._is_attached  # on another machine, perhaps

    async def _look_closer(self, body: dict[str, Any]) -> None:
        """Which breakpoints were hit, and by which threads."""
        thread_id = body["threadId"]
        with contextlib.suppress(RelayError):
            fresh = await self._marks.fresh()
            halted = await self._marks.halted() if fresh else {}
            own = _taken(halted.pop(thread_id, []), fresh)
            if body.get("hitBreakpointIds"):
                body["hitBreakpointIds"] = own or body["hitBreakpointIds"]
            others = {thread: _taken(ids, fresh) for thread, ids in halted.items()}
            self._together = [
                {"reason": "breakpoint", "threadId": thread, "hitBreakpointIds": ids}
                for thread, ids in others.items()
                if ids
            ]
            for each in (body, *self._together):
                is_panic = self._panic_id in (each.get("hitBreakpointIds") or [])
                if is_panic and await self._look_at_panic(each["threadId"]):
                    each["reason"] = "exception"
        if not self._is_over and not self._is_running:
            super()._on_stopped(body)

    def _tell(self, reason: str, thread_id: int, numbers: list[int], **more: Any) -> None:
        if self._stepping == thread_id and reason != "step":
            with contextlib.suppress(RelayError):
                self._require_talk().send("evaluate", {"expression": "thread plan discard 1", "context": "repl"})
        self._stepping = None
        super()._tell(reason, thread_id, numbers, **more)
        together, self._together = self._together, []
        for body in together:
            self._spawn(self._tell_also(body))

    async def _tell_also(self, body: dict[str, Any]) -> None:
        """A stop of another thread: what it is about was hit, whatever else happened."""
        reason, stopping = body["reason"], []
        with contextlib.suppress(RelayError):
            for number in self._marks.reached(body["hitBreakpointIds"]):
                if number > 0 and await self._wants_stop(number, body["threadId"]):
                    stopping.append(number)
        if (stopping or reason == "exception") and not self._is_running and not self._is_over:
            self._stops += 1
            self._listener.on_stopped(
                StopEvent(reason, body["threadId"], hit_numbers=stopping, number=self._stops, after=self._serial)
            )

    async def pause(self, thread_id: int | None) -> None:
        self._spawn(self._insist())
        await super().pause(thread_id)

    async def _halt(self) -> None:
        self._spawn(self._insist())
        await super()._halt()

    async def _insist(self) -> None:
        """lldb forgets a pause that comes while it is still letting the program go."""
        for _ in range(PAUSES):
            await asyncio.wait([self._ended], timeout=BETWEEN_PAUSES)
            if not self._is_running or not (self._is_pausing or self._halting is not None) or self._ended.done():
                return
            with contextlib.suppress(RelayError):
                await self._request("pause", {"threadId": 1})

    async def _go(self, command: str, thread_id: int, go: Go | None, granularity: str = "line") -> None:
        if command == "stepOut" and self._tops.get(thread_id) == MAIN:
            command = "continue"  # what called it is not the program's
        self._stepping = None if command == "continue" else thread_id
        self._together = []
        await super()._go(command, thread_id, go, granularity)

    async def _land(self, thread_id: int) -> None:
        self._stepping = thread_id
        await super()._land(thread_id)

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        """lldb-dap lets all threads go, by lines; the rest, only lldb's own commands do."""
        self._complaints.clear()
        if self._others_wait:
            self._others_wait = False
            await self._line(ALL_THREADS)
        alone, granularity = arguments["singleThread"], arguments.get("granularity", "line")
        if granularity == "line":
            self._may_enter = command == "stepIn"
        if not alone and (granularity == "line" or command not in ("next", "stepIn")):
            await super()._send_off(command, arguments)
            return
        self._others_wait = command == "continue"
        index = await self._marks.index_of(arguments["threadId"])
        said = await self._line(f"{COMMANDS[command, granularity]} {index}")
        if "error:" in said:
            raise RelayError("DEBUGPY_ERROR", f"lldb refused {command}: {said.strip()}")

    async def _go_on_quietly(self, thread_id: int) -> None:
        if self._together and not self._is_ending:
            other = self._together.pop(0)
            await self._judge(other["reason"], other["threadId"], self._marks.reached(other["hitBreakpointIds"]))
            return
        if self._stepping == thread_id and not self._is_ending and await self._has_stepped():
            await self._travel(thread_id)
            return
        await super()._go_on_quietly(thread_id)

    async def _has_stepped(self) -> bool:
        """Whether a step was over when it came to a breakpoint, which is all that lldb says then."""
        plans = await self._line("thread plan list")
        return "Element 1:" not in plans.partition("Active plan stack:")[2].partition("plan stack:")[0]


def _taken(ids: list[int], fresh: dict[int, int]) -> list[int]:
    """Those of the ids that have a hit which nobody has taken yet."""
    found = [id for id in ids if fresh.get(id, 0) > 0]
    for id in found:
        fresh[id] -= 1
    return found
