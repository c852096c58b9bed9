"""Stops as the debugger reports them: looked at one after the other, before anybody is told of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from ...debuggers.shapes import Asked, Frames, StopEvent
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.states import ENDED
from ..breakpoints.breakpoint_table import CHANGED
from ..execution.stops import UNPLANNED, Stop, own_frame

if TYPE_CHECKING:
    from ...debuggers.rows import ExceptionRow
    from .debuggee import Debuggee

logger = logging.getLogger(__name__)

BLOCKED = (
    "It is inside a call that has not returned, and halts when that does; until then expressions are evaluated on a "
    "thread of the debugger's own. What blocked threads and tasks wait for: {locks}"
)


class IncomingStops:
    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self._queue: asyncio.Queue[tuple[StopEvent, Asked]] = asyncio.Queue()
        self._handler: asyncio.Task[None] | None = None

    def add_stop(self, event: StopEvent) -> None:
        # Asked for before anybody is woken: where it stopped is the first thing to know.
        asked = event.stack or self._debuggee.require_adapter().inspection.ask_stack(event.thread_id)
        self._queue.put_nowait((event, asked))
        if self._handler is None:
            self._handler = asyncio.get_running_loop().create_task(self._handle_stops())

    def forget_all(self) -> None:
        if self._handler is not None:
            self._handler.cancel()
            self._handler = None
        self._queue = asyncio.Queue()

    async def _handle_stops(self) -> None:
        while True:
            event, asked = await self._queue.get()
            try:
                await self._handle_stop(event, asked)
            except Exception:
                logger.exception("a stop could not be handled")

    async def _handle_stop(self, event: StopEvent, asked: Asked) -> None:
        """Announce a stop only when it is known where: nobody ever sees a pause without its place."""
        debuggee = self._debuggee
        adapter = debuggee.require_adapter()
        frames: Frames = []
        exception: ExceptionRow | None = None
        with contextlib.suppress(RelayError):
            frames = await adapter.inspection.stack(event.thread_id, asked)
            if not frames and event.reason == "exception":
                # Raised outside of the program, such as "no module of that name": it has nothing to look at.
                await adapter.control.resume(event.thread_id, debuggee.pass_over(event))
                return
            if event.reason == "exception" and frames:
                exception = await adapter.inspection.exception(frames[0]["id"])
            if event.hit_numbers:
                debuggee.on_hits(await adapter.breakpoints.hits())
        changed = await debuggee.reached.has_changed(frames, adapter)
        if debuggee.state in ENDED:
            return
        adapter.drain()  # what the program printed before is in its pipes already
        debuggee.output.flush()
        runs = debuggee.runs_ended_by_step(event)
        left = next((run.leaving for run in runs if run.leaving), None)
        stop = Stop(event, frames, debuggee.reached.count_hits(event, frames, exception), exception, left)
        is_in_library = exception is not None and exception.get("is_in_library")
        if is_in_library or (event.reason in UNPLANNED and adapter.name == "debugpy"):
            stop.focus_frame = own_frame(frames)
        stop.note_step_into(next((run.entering for run in runs if run.entering), None))
        stop.note = self._describe_stop(stop, changed)
        debuggee.take_stop(stop)

    def _describe_stop(self, stop: Stop, changed: bool) -> str | None:
        notes = self._debuggee.reached.hit_notes(stop.hit_ids, stop.event)
        blocked = advice(BLOCKED) if stop.event.is_blocked else None
        edited = f"{CHANGED}, the source shown is that of the file" if changed else None
        return ". ".join(filter(None, (*notes, stop.event.note, blocked, edited))) or None
