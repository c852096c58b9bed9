"""Making the program run and waiting for what comes of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..adapters.base import Go, StopEvent
from ..errors import RelayError
from .debuggee import Debuggee
from .input import Input
from .patience import of_this_call
from .report import Reporter, check_fields
from .run import Run
from .state import ENDED, State
from .stops import Stop
from .threads import is_paused, require_halted

STEPS = {"step_over": "next", "step_into": "stepIn", "step_out": "stepOut"}
BACK = {"step_back": "stepBack", "reverse_continue": "reverseContinue"}
TRIES = 5
"""How often a thread is singled out again when others stop or go on meanwhile."""
STILL_RUNNING = "It runs on, nothing is lost: GET /sessions/{id}/report?wait=30 waits for its next stop"
HOW_TO_LOOK = ", POST /sessions/{id}/pause says where it is"
CHILD_PAUSED = (
    "A process that it started is paused (child_report), and it may be waiting for that one: POST "
    "/sessions/%s/continue lets it run."
)
NO_NEWLINE = "What was sent does not end with a newline: the program may be waiting for the rest of its line"
Wait = float | bool | None
"""seconds; True for the default time, False for none, None for what is usual for the operation"""


class Execution:
    def __init__(self, debuggee: Debuggee, input: Input, reporter: Reporter, default_wait: float) -> None:
        self._debuggee = debuggee
        self._input = input
        self._reporter = reporter
        self._default_wait = default_wait

    async def continue_(
        self,
        thread_id: int | None = None,
        single_thread: bool | None = None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        """All threads, or only the one that is named."""
        check_fields(fields)
        alone = thread_id is not None if single_thread is None else single_thread
        run = await self.go_on(thread_id, alone)
        answer = await self.answer(run, self.seconds(wait, 0), fields, budget)
        return {**answer, "continued": True}

    async def go_on(self, thread_id: int | None = None, alone: bool = False) -> Run:
        begun = await self._begin("continue", thread_id, alone)
        if begun.go is not None:
            with self._undone_if_refused(begun):
                await self._debuggee.require_adapter().resume(begun.thread_id, begun.go)
        return begun.run

    async def step(
        self,
        operation: str,
        thread_id: int | None = None,
        single_thread: bool = False,
        granularity: str = "line",
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        check_fields(fields)
        run = await self.set_off(operation, thread_id, single_thread, granularity)
        return await self.answer(run, self.seconds(wait, self._default_wait), fields, budget)

    async def set_off(
        self, operation: str, thread_id: int | None = None, single_thread: bool = False, granularity: str = "line"
    ) -> Run:
        """Begins a step and leaves it to others to see what comes of it."""
        if granularity == "instruction":
            self._require_capability("instruction_steps")
        alone = single_thread or self._debuggee.stop_scope == "thread"
        begun = await self._begin(operation, thread_id, alone)
        begun.run.entering = begun.stop if operation == "step_into" else None
        if begun.go is not None:
            with self._undone_if_refused(begun):
                await self._debuggee.require_adapter().step(STEPS[operation], begun.thread_id, begun.go, granularity)
        return begun.run

    async def back(
        self,
        operation: str,
        thread_id: int | None = None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        """In what was recorded."""
        check_fields(fields)
        self._debuggee.require(operation)
        self._require_capability("reverse")
        begun = await self._begin(operation, thread_id, False)
        if begun.go is not None:
            with self._undone_if_refused(begun):
                await self._debuggee.require_adapter().reverse(BACK[operation], begun.thread_id, begun.go)
        return await self.answer(begun.run, self.seconds(wait, self._default_wait), fields, budget)

    async def record(self, enabled: bool = True) -> dict[str, Any]:
        self._debuggee.require("record")
        return await self._debuggee.require_adapter().record(enabled)

    def _require_capability(self, capability: str) -> None:
        """Before anything is let go."""
        adapter = self._debuggee.adapter
        if adapter is not None and capability not in adapter.capabilities:
            raise adapter.refusal(capability)

    async def _begin(self, operation: str, thread_id: int | None, alone: bool) -> Begun:
        if alone:
            return await self._begin_alone(operation, thread_id)
        debuggee = self._debuggee
        stop = debuggee.require_stop(operation)
        if thread_id is not None and thread_id != stop.thread_id:
            await require_halted(debuggee, thread_id)
            stop = debuggee.require_stop(operation)  # it may have moved on
        thread_id = stop.thread_id if thread_id is None else thread_id
        run, go = debuggee.let_go(thread_id, self._leaving(operation, thread_id))
        return Begun(thread_id, stop, run, go)

    async def _begin_alone(self, operation: str, wanted: int | None) -> Begun:
        """Looks again when other threads stopped or went on while it asked about this one."""
        debuggee = self._debuggee
        for _ in range(TRIES):
            stop = debuggee.require_stop(operation)
            thread_id = stop.thread_id if wanted is None else wanted
            before = debuggee.changes
            focus = debuggee.next_focus(thread_id)
            if debuggee.stop_scope == "all" or thread_id not in debuggee.stops:
                rows = await require_halted(debuggee, thread_id)
                if debuggee.changes == before and len(rows) == 1:
                    return await self._begin(operation, None, alone=False)
                focus = focus or await self._halted_one(rows, thread_id)
            if debuggee.changes == before:
                at = debuggee.stops.get(thread_id) or stop
                run, go = debuggee.let_go_alone(thread_id, focus, self._leaving(operation, thread_id))
                return Begun(thread_id, at, run, go)
        debuggee.require_stop(operation)
        raise RelayError(
            "INVALID_SESSION_STATE",
            f"Thread {wanted} cannot be singled out: other threads stop and go on too fast",
            current_state=str(debuggee.state),
            suggestion="Look at GET /sessions/{id}/status and try again",
        )

    async def _halted_one(self, rows: list[dict[str, Any]], thread_id: int) -> Stop | None:
        """Another thread to look at, which did not stop by itself; rather one that waits than one busy in a call."""
        others = [row for row in rows if row["id"] != thread_id and is_paused(self._debuggee, row)]
        if not others:
            return None
        chosen = next((row for row in others if row["halted"]), others[0])
        frames = await self._debuggee.require_adapter().stack(chosen["id"])
        return Stop(StopEvent("pause", chosen["id"]), frames, [], is_told=True, is_logged=True)

    def _leaving(self, operation: str, thread_id: int) -> str | None:
        frames = self._debuggee.stacks.get(thread_id)
        return str(frames[0]["name"]) if operation == "step_out" and frames else None

    @contextlib.contextmanager
    def _undone_if_refused(self, begun: Begun) -> Iterator[None]:
        """A program that ended on the way is no failure: that is what the answer will say."""
        try:
            yield
        except RelayError as error:
            if self._debuggee.state in ENDED:
                return
            if error.code != "DEBUGPY_TIMEOUT":  # without an answer it may have been taken all the same
                self._debuggee.undo_run(begun.run, begun.stop)
            raise

    async def report(
        self, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None, frame: str = "own"
    ) -> dict[str, Any]:
        """The stop report of now; with wait, of the next stop if the program is running."""
        check_fields(fields)
        if self._debuggee.is_going:
            return await self.answer(self._debuggee.run, self.seconds(wait, 0), fields, budget)
        return await self._reporter.report(self._debuggee.stop or self._debuggee.end, fields, budget, frame)

    def _can_pause(self) -> bool:
        adapter = self._debuggee.adapter
        return adapter is not None and not adapter.is_undebugged

    async def stdin(
        self,
        input: str = "",
        eof: bool = False,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        """Sends input; with wait, the answer is what comes of it: the next stop, request for input, or end."""
        check_fields(fields)
        accepted = self._input.send(input, eof)
        answer = {"status": str(self._debuggee.state)}
        if self.seconds(wait, 0):
            answer = await self.report(wait, fields, budget)
        if "waiting_for_input" in answer and input and not input.endswith("\n"):
            answer["message"] = NO_NEWLINE
        return {**answer, "accepted": accepted, "pending": self._input.pending, "eof": eof}

    def seconds(self, wait: Wait, usual: float) -> float:
        if wait is None:
            return usual
        if isinstance(wait, bool):
            return self._default_wait if wait else 0
        return wait

    async def answer(
        self,
        run: Run,
        seconds: float,
        fields: list[str] | None = None,
        budget: int | None = None,
        until_input: bool = True,
    ) -> dict[str, Any]:
        """What came of a run, or that it goes on, to wait for its input perhaps."""
        patience = of_this_call.get()
        if until_input:
            outcome, timed_out = await self._input.wait(run, seconds, patience)
        else:
            outcome = await run.wait(seconds, patience)
            timed_out = not run.is_over and seconds > 0
        shown = outcome or self._debuggee.stop
        if isinstance(shown, Stop):
            shown.is_told = True
        answer = await self._reporter.report(shown, fields, budget)
        if outcome is None and isinstance(shown, Stop):
            answer |= self._reporter.children()  # this is where another thread is
        if timed_out:
            answer["timed_out"] = True
        if seconds and (children := answer.get("paused_children")):
            answer["message"] = CHILD_PAUSED % children[0]
            answer["child_report"] = await self._reporter.child_report(answer, fields, budget)
        elif timed_out and answer["status"] == State.RUNNING and "waiting_for_input" not in answer:
            answer["message"] = f"{STILL_RUNNING}{HOW_TO_LOOK if self._can_pause() else ''}."
        if outcome is None and run.thread_id is not None and answer["status"] == State.PAUSED:
            does = "has ended" if run.thread_ended else "runs"
            where = f"Thread {run.thread_id} {does}; this is thread {answer['thread_id']}, which is halted"
            answer["message"] = f"{where}. {answer['message']}" if "message" in answer else where
        return answer


@dataclass
class Begun:
    """Threads that are about to be let go; without `go` there is another stop to be told first."""

    thread_id: int
    stop: Stop
    """where it was"""
    run: Run
    go: Go | None
