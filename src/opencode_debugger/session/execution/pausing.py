"""Halting the program, or one of its threads; and why one does not halt."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...answers.shape import UNSET
from ...answers.stop_reports import StopReport
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.states import ENDED, State
from ...wording import counted
from ..inspection.threads_and_tasks import find_thread, is_paused
from ..lifecycle.debuggee import Debuggee
from ..log.program_input import ProgramInput
from .execution import Execution, Wait
from .program_run import Run
from .stop_report import check_fields
from .stops import frame_location, frame_path

if TYPE_CHECKING:
    from ...debuggers.rows import ThreadRow

PAUSE_PATIENCE = 2.0
WHY_PATIENCE = 1.0
"""Seconds for a debugger to take a pause, or to say why there is none."""
LOOKS, BETWEEN_LOOKS = 15, 0.1
"""Looks whether threads are blocked, and seconds between two."""
EVENT_LOOP = "/selectors.py"
"""File in which a thread waits whose event loop has nothing to do."""
BUSY_SHOWN = 5
"""Threads of which a pause that does not come says where they are."""
WAITS = "The program waits for its input: {stdin} sends it, then it pauses at its next line."


@dataclass(eq=False)
class Pausing:
    _debuggee: Debuggee
    _execution: Execution
    _input: ProgramInput
    _speaking: asyncio.Task[None] | None = None

    async def pause(
        self, thread_id: int | None = None, wait: Wait = None, fields: list[str] | None = None,
        budget: int | None = None,
    ) -> StopReport:
        check_fields(fields)
        asked = await self._threads_to_pause(thread_id)
        debuggee = self._debuggee
        alone = thread_id if debuggee.stop_scope == "thread" else None  # where threads stop together, any stop will do
        run = debuggee.run if alone is None and debuggee.is_going else debuggee.run_of(alone)
        seconds, begun = self._execution.wait_seconds(wait, PAUSE_PATIENCE), time.monotonic()
        try:
            await self._ask_to_pause(asked, seconds or WHY_PATIENCE)
        except RelayError:
            if debuggee.state not in ENDED:
                raise
        self._speaking = asyncio.get_running_loop().create_task(self._speak_for_blocked(run, thread_id))
        left = seconds and max(0.001, begun + seconds - time.monotonic())
        answer = await self._execution.report_outcome(run, left, fields, budget, until_input=False)
        if answer.timed_out is UNSET:
            return answer
        waits = answer.waiting_for_input is not UNSET
        why = advice(WAITS) if waits else await self._explain_no_pause(thread_id)
        if run.is_over:  # by now
            return await self._execution.report_outcome(run, 0, fields, budget, until_input=False)
        return replace(answer, message=why)

    async def _ask_to_pause(self, asked: list[int | None], patience: float) -> None:
        """Ask the debugger to pause. One that is busy answers later: the pause stays asked for."""
        adapter = self._debuggee.require_adapter()

        async def ask() -> None:
            for thread in asked:
                await adapter.control.pause(thread)

        asking = asyncio.get_running_loop().create_task(ask())
        asking.add_done_callback(lambda asking: asking.cancelled() or asking.exception())
        await asyncio.wait([asking], timeout=patience)
        if asking.done():
            asking.result()

    async def _speak_for_blocked(self, run: Run, thread_id: int | None) -> None:
        """Have the debugger report a blocked thread as paused, unless the program waits for input, which can be sent
        to it."""
        with contextlib.suppress(RelayError, TimeoutError):
            for _ in range(LOOKS):
                if await run.wait_for_outcome(BETWEEN_LOOKS) is not None or run.is_over:
                    return
                if self._input.prompt() is None:
                    await self._debuggee.require_adapter().control.speak_for_blocked(thread_id)

    async def _threads_to_pause(self, thread_id: int | None) -> list[int | None]:
        """Return the threads to ask; None stands for all. While some are halted, those that run."""
        debuggee = self._debuggee
        if debuggee.state is not State.PAUSED:
            debuggee.require_state("pause")
        if debuggee.state is State.RUNNING and thread_id is None:
            return [None]
        rows = await find_thread(debuggee, thread_id)
        if debuggee.state is not State.PAUSED:
            debuggee.require_state("pause")
        running = [row["id"] for row in rows if not is_paused(debuggee, row)]
        if not running:
            debuggee.require_state("pause")
        if thread_id is not None and thread_id not in running:
            state, message = str(debuggee.state), f"Cannot pause: thread {thread_id} is paused already"
            hint = advice("Look at it, or let it run with {continue thread_id=?}")
            told = {"current_state": state, "suggestion": hint}
            raise RelayError("INVALID_SESSION_STATE", message, status=None, thread_id=thread_id, **told)
        if thread_id is not None:
            return [thread_id]
        return [*running[:1]] if debuggee.stop_scope == "all" else [*running]

    async def _explain_no_pause(self, thread_id: int | None) -> str:
        """Say what a thread is busy with that did not pause, as far as it can be seen."""
        adapter = self._debuggee.require_adapter()
        rows: list[ThreadRow] = []
        with contextlib.suppress(RelayError, TimeoutError):
            async with asyncio.timeout(WHY_PATIENCE):
                rows = await adapter.inspection.threads()
        unhalted = [row for row in rows if not row["halted"] and thread_id in (None, row["id"])]
        busy = [(row, frame_location(row["top"])) for row in unhalted if row["top"]]
        if not busy:
            return adapter.busy
        told = []
        for row, at in busy[:BUSY_SHOWN]:
            own = row.get("own")  # the line of the program's own that led there
            by = f", called from {own['name']} ({frame_path(own)}:{own['line']})" if own else ""
            told.append(f"Thread {row['id']} '{row['name']}' is in {at.function} ({at.path}:{at.line}){by}")
        if len(busy) > BUSY_SHOWN:
            told.append(counted(len(busy) - BUSY_SHOWN, "more busy thread"))
        if any(str(place.path).endswith(EVENT_LOOP) for _, place in busy):
            told.append(advice("what asyncio tasks wait for: {tasks}"))
        stack = advice(f"{{stack_trace thread_id={busy[0][0]['id']}}}")
        return f"{adapter.busy} {'; '.join(told)}; a stack: {stack}"
