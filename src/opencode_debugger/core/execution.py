"""Making the program run and waiting for what comes of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..errors import RelayError
from .debuggee import Debuggee
from .inspection import require_thread
from .report import Reporter, check_fields
from .run import Run
from .state import ENDED
from .stops import Stop

STEPS = {"step_over": "next", "step_into": "stepIn", "step_out": "stepOut"}
PAUSE_PATIENCE = 2.0
BUSY = (
    "The program has not reached a new line: it is inside a long call, or in a loop of one line "
    "(Python 3.12 and newer). It pauses at its next line."
)

Wait = float | bool | None
"""seconds; True for the default time, False for none, None for what is usual for the operation"""


class Execution:
    def __init__(self, debuggee: Debuggee, reporter: Reporter, default_wait: float) -> None:
        self._debuggee = debuggee
        self._reporter = reporter
        self._default_wait = default_wait

    async def continue_(
        self,
        thread_id: int | None = None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        check_fields(fields)
        stop = await self._stop_of("continue", thread_id)
        thread_id = thread_id or stop.thread_id
        run = self._begin(thread_id)
        with self._undone_if_refused(stop):
            await self._debuggee.require_adapter().resume(thread_id)
        answer = await self.answer(run, self.seconds(wait, 0), fields, budget)
        return {**answer, "continued": True}

    async def step(
        self,
        operation: str,
        thread_id: int | None = None,
        granularity: str = "line",
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        check_fields(fields)
        stop = await self._stop_of(operation, thread_id)
        steps_out = operation == "step_out" and thread_id in (None, stop.thread_id) and stop.frames
        leaving = stop.frames[0]["name"] if steps_out else None
        thread_id = thread_id or stop.thread_id
        run = self._begin(thread_id, leaving)
        run.entering = stop if operation == "step_into" else None
        with self._undone_if_refused(stop):
            await self._debuggee.require_adapter().step(STEPS[operation], thread_id)
        return await self.answer(run, self.seconds(wait, self._default_wait), fields, budget)

    async def _stop_of(self, operation: str, thread_id: int | None) -> Stop:
        """The stop to go on from; looked at again after asking about the thread, for it may have moved on."""
        stop = self._debuggee.require_stop(operation)
        if thread_id is None or thread_id == stop.thread_id:
            return stop
        await require_thread(self._debuggee, thread_id)
        return self._debuggee.require_stop(operation)

    @contextlib.contextmanager
    def _undone_if_refused(self, stop: Stop) -> Iterator[None]:
        """A program that ended on the way is no failure: that is what the answer will say."""
        try:
            yield
        except RelayError as error:
            if self._debuggee.state in ENDED:
                return
            if error.code != "DEBUGPY_TIMEOUT":  # without an answer it may have been taken all the same
                self._debuggee.undo_run(stop)
            raise

    def _begin(self, thread_id: int, leaving: str | None = None) -> Run:
        run = self._debuggee.begin_run(leaving=leaving)
        self._debuggee.log.add("continued", {"thread_id": thread_id, "all_threads_continued": True})
        return run

    async def pause(
        self,
        thread_id: int | None = None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        check_fields(fields)
        self._debuggee.require("pause")
        if thread_id is not None:
            await require_thread(self._debuggee, thread_id)
            self._debuggee.require("pause")
        run = self._debuggee.run
        try:
            await self._debuggee.require_adapter().pause(thread_id)
        except RelayError:
            if self._debuggee.state not in ENDED:
                raise
        answer = await self.answer(run, self.seconds(wait, PAUSE_PATIENCE), fields, budget)
        if answer.get("timed_out"):
            answer["message"] = BUSY
        return answer

    async def report(
        self, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None
    ) -> dict[str, Any]:
        """The stop report of now; with wait, of the next stop if the program is running."""
        check_fields(fields)
        if self._debuggee.is_going:
            return await self.answer(self._debuggee.run, self.seconds(wait, 0), fields, budget)
        return await self._reporter.report(self._debuggee.stop or self._debuggee.end, fields, budget)

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
    ) -> dict[str, Any]:
        """What came of a run, or that it goes on."""
        outcome = await run.wait(seconds)
        answer = await self._reporter.report(outcome, fields, budget)
        if outcome is None and seconds:
            answer["timed_out"] = True
        return answer
