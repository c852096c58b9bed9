"""Halting the program, or one of its threads; and why one does not halt."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from ..errors import RelayError
from ..wording import counted
from .debuggee import Debuggee
from .execution import Execution, Wait
from .input import Input
from .report import check_fields
from .run import Run
from .state import ENDED, State
from .stops import location
from .threads import find_thread, is_paused

PAUSE_PATIENCE = 2.0
WHY_PATIENCE = 1.0
"""Seconds for a debugger to take a pause, or to say why there is none."""
LOOKS, BETWEEN_LOOKS = 15, 0.1
"""How often it is seen whether threads are blocked, and seconds between."""
EVENT_LOOP = "/selectors.py"
"""Where a thread waits whose event loop has nothing to do."""
BUSY_SHOWN = 5
"""Threads of which a pause that does not come says where they are."""
WAITS = "The program waits for its input: POST /sessions/{id}/stdin sends it, then it pauses at its next line."


class Pausing:
    def __init__(self, debuggee: Debuggee, execution: Execution, input: Input) -> None:
        self._debuggee = debuggee
        self._execution = execution
        self._input = input
        self._speaking: asyncio.Task[None] | None = None

    async def pause(
        self,
        thread_id: int | None = None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        check_fields(fields)
        asked = await self._to_pause(thread_id)
        run = self._awaited(thread_id)
        seconds, begun = self._execution.seconds(wait, PAUSE_PATIENCE), time.monotonic()
        try:
            await self._ask_to_pause(asked, seconds or WHY_PATIENCE)
        except RelayError:
            if self._debuggee.state not in ENDED:
                raise
        self._speaking = asyncio.get_running_loop().create_task(self._speak_for_blocked(run, thread_id))
        left = seconds and max(0.001, begun + seconds - time.monotonic())
        answer = await self._execution.answer(run, left, fields, budget, until_input=False)
        if answer.get("timed_out"):
            answer["message"] = WAITS if "waiting_for_input" in answer else await self._why_not(thread_id)
            if run.is_over:  # by now
                answer = await self._execution.answer(run, 0, fields, budget, until_input=False)
        return answer

    async def _ask_to_pause(self, asked: list[int | None], patience: float) -> None:
        """A debugger that is busy answers later: the pause stays asked for."""
        adapter = self._debuggee.require_adapter()

        async def ask() -> None:
            for thread in asked:
                await adapter.pause(thread)

        asking = asyncio.get_running_loop().create_task(ask())
        asking.add_done_callback(lambda asking: asking.cancelled() or asking.exception())
        await asyncio.wait([asking], timeout=patience)
        if asking.done():
            asking.result()

    async def _speak_for_blocked(self, run: Run, thread_id: int | None) -> None:
        """A program that waits for its input is not blocked: it asks for something that can be sent to it."""
        with contextlib.suppress(RelayError, TimeoutError):
            for _ in range(LOOKS):
                if await run.wait(BETWEEN_LOOKS) is not None or run.is_over:
                    return
                if self._input.prompt() is None:
                    await self._debuggee.require_adapter().speak_for_blocked(thread_id)

    async def _to_pause(self, thread_id: int | None) -> list[int | None]:
        """The threads to ask; None stands for all. While some are halted, those that run."""
        debuggee = self._debuggee
        if debuggee.state is not State.PAUSED:
            debuggee.require("pause")
        if debuggee.state is State.RUNNING and thread_id is None:
            return [None]
        rows = await find_thread(debuggee, thread_id)
        if debuggee.state is not State.PAUSED:
            debuggee.require("pause")
        running = [row["id"] for row in rows if not is_paused(debuggee, row)]
        if not running:
            debuggee.require("pause")
        if thread_id is not None and thread_id not in running:
            raise RelayError(
                "INVALID_SESSION_STATE",
                f"Cannot pause: thread {thread_id} is paused already",
                thread_id=thread_id,
                current_state=str(debuggee.state),
                suggestion="Look at it, or let it run with POST /sessions/{id}/threads/{thread_id}/continue",
            )
        if thread_id is not None:
            return [thread_id]
        return running[:1] if debuggee.stop_scope == "all" else running

    def _awaited(self, thread_id: int | None) -> Run:
        """What a pause waits for: where threads stop together, or none is named, any stop will do."""
        debuggee = self._debuggee
        if debuggee.stop_scope == "thread" and thread_id is not None:
            return debuggee.run_of(thread_id)
        return debuggee.run if debuggee.is_going else debuggee.run_of(None)

    async def _why_not(self, thread_id: int | None) -> str:
        """What a thread is busy with that did not pause, as far as it can be seen."""
        adapter = self._debuggee.require_adapter()
        rows: list[dict[str, Any]] = []
        with contextlib.suppress(RelayError, TimeoutError):
            async with asyncio.timeout(WHY_PATIENCE):
                rows = await adapter.threads()
        busy = [row for row in rows if row["top"] and not row["halted"] and thread_id in (None, row["id"])]
        if not busy:
            return adapter.busy
        told = [_where(row) for row in busy[:BUSY_SHOWN]]
        if len(busy) > BUSY_SHOWN:
            told.append(counted(len(busy) - BUSY_SHOWN, "more busy thread"))
        if any(str(location(row["top"])["path"]).endswith(EVENT_LOOP) for row in busy):
            told.append("what asyncio tasks wait for: GET /sessions/{id}/tasks")
        return f"{adapter.busy} {'; '.join(told)}; a stack: GET /sessions/{{id}}/threads/{busy[0]['id']}/stacktrace"


def _where(row: dict[str, Any]) -> str:
    """Where a thread is busy, and the line of the program's own that led there."""
    place, own = location(row["top"]), row.get("own")
    where = f"Thread {row['id']} '{row['name']}' is in {place['function']} ({place['path']}:{place['line']})"
    return f"{where}, called from {own['name']} ({own['source']['path']}:{own['line']})" if own else where
