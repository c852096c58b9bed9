"""The program under its debugger: the one place where its state changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Callable
from typing import Any

from ..adapters.base import Adapter, Arrival, Asked, Bound, Frames, StopEvent
from ..adapters.processes import ExitStatus
from ..errors import RelayError
from .breakpoints import BreakpointTable
from .events import EventLog
from .output import Output
from .run import Run
from .state import ENDED, State, require
from .stops import End, Stop

logger = logging.getLogger(__name__)

LIBRARY = re.compile(r"^<|[/\\](site|dist)-packages[/\\]|[/\\][Ll]ib(64)?[/\\]python\d[^/\\]*[/\\]")
"""Paths of modules that are not the user's own"""


class Debuggee:
    """Hears what the debugger says (adapters.base.Listener) and keeps what is true now."""

    def __init__(self, log: EventLog, breakpoints: BreakpointTable) -> None:
        self.log = log
        self.breakpoints = breakpoints
        self.output = Output(log)
        self.state = State.CREATED
        self.stop: Stop | None = None
        self.end: End | None = None
        self.ended_at: float | None = None
        self.ending: str | None = None
        """why somebody is ending the program"""
        self._early_end: End | None = None
        self.adapter: Adapter | None = None
        self.modules: dict[str, str] = {}
        """names of loaded modules by path"""
        self.last_activity = time.monotonic()
        self.elder: Debuggee | None = None
        """of a child: the program itself, which lives as long as anything happens to one of them"""
        self.on_spawned: Callable[[dict[str, Any]], None] = lambda notice: None
        self.on_child: Callable[[Arrival], None] = lambda arrival: arrival.let_go()
        self.is_expecting: Callable[[], bool] = lambda: False
        """whether children are on their way that will be debugged"""
        self.run = Run()
        self._stops: asyncio.Queue[tuple[StopEvent, Asked]] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self._condition_errors: dict[int, str] = {}

    @property
    def is_going(self) -> bool:
        return self.state in (State.LAUNCHING, State.RUNNING)

    def touch(self) -> None:
        self.last_activity = time.monotonic()
        if self.elder is not None:
            self.elder.touch()

    def require(self, operation: str) -> None:
        require(operation, self.state)

    def require_adapter(self) -> Adapter:
        if self.adapter is None:
            raise RelayError("DEBUGPY_ERROR", "There is no debugger in this session", status=502)
        return self.adapter

    def require_stop(self, operation: str) -> Stop:
        self.require(operation)
        assert self.stop is not None
        return self.stop

    # What the debugger says.

    def on_output(self, category: str, data: bytes) -> None:
        self.touch()
        self.output.feed(category, data)

    def on_log(self, number: int, text: str) -> None:
        self.touch()
        self.require_adapter().drain()  # what was printed before comes before
        self.log.add_output("console", text + "\n")

    def on_bound(self, number: int, bound: Bound) -> None:
        bp = self.breakpoints.by_number(number)
        if bp is not None:
            bp.bind(bound)

    def on_hits(self, hits: dict[int, int]) -> None:
        for number, count in hits.items():
            bp = self.breakpoints.by_number(number)
            if bp is not None:
                bp.hits = count

    def on_condition_error(self, number: int, error: str) -> None:
        self._condition_errors[number] = error

    def on_thread(self, reason: str, thread_id: int) -> None:
        self.touch()
        self.log.add("thread", {"reason": reason, "thread_id": thread_id})

    def on_module(self, reason: str, module: dict[str, Any]) -> None:
        if module.get("path"):
            self.modules[module["path"]] = module["name"]
        shown = {"id": module["id"], "name": module["name"], "path": module.get("path")}
        is_library = LIBRARY.search(module.get("path") or "<") is not None
        shown |= {"is_optimized": False, "is_user_code": not is_library, "version": module.get("version")}
        self.log.add("module", {"reason": reason, "module": shown})

    def on_stopped(self, event: StopEvent) -> None:
        self.touch()
        # Asked for before anybody is woken: where it stopped is the first thing to know.
        self._stops.put_nowait((event, self.require_adapter().ask_stack(event.thread_id)))
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._handle_stops())

    def on_exit(self, status: ExitStatus | None) -> None:
        self.finish(End(status, self.ending or ("killed" if status and status.signal else "exited")))

    def on_lost(self, reason: str) -> None:
        self.finish(End(None, reason))

    # What follows from it.

    async def _handle_stops(self) -> None:
        while True:
            event, asked = await self._stops.get()
            try:
                await self._handle_stop(event, asked)
            except Exception:
                logger.exception("a stop could not be handled")

    async def _handle_stop(self, event: StopEvent, asked: Asked) -> None:
        """Announced only when it is known where: nobody ever sees a pause without its place."""
        adapter = self.require_adapter()
        frames: Frames = []
        exception = None
        with contextlib.suppress(RelayError):
            frames = await adapter.stack(event.thread_id, asked)
            if not frames and event.reason == "exception":
                # Raised outside of the program, such as "no module of that name": it has nothing to look at.
                await adapter.resume(event.thread_id)
                return
            if event.reason == "exception" and frames:
                exception = await adapter.exception(frames[0]["id"])
            if event.hit_numbers:
                self.on_hits(await adapter.hits())
        if self.state in ENDED:
            return
        adapter.drain()  # what the program printed before is in its pipes already
        self.output.flush()
        left = self.run.leaving if event.reason == "step" else None
        stop = Stop(event, frames, self._count_hits(event, frames), exception, left)
        errors = [self._condition_errors.pop(number, None) for number in event.hit_numbers]
        stop.note = next((f"Condition raised {error}" for error in errors if error), None)
        self.stop, self.state = stop, State.PAUSED
        self.touch()
        self.log.add("stopped", stop.to_event())
        self.run.finish(stop)

    def _count_hits(self, event: StopEvent, frames: Frames) -> list[str]:
        hit = [bp for number in event.hit_numbers if (bp := self.breakpoints.by_number(number))]
        path = (frames[0].get("source") or {}).get("path") if frames else None
        if not hit and event.reason == "breakpoint" and path:
            here = self.breakpoints.at(path, frames[0]["line"])
            hit = [here] if here else []
        for bp in hit:
            if not (bp.condition or bp.hit_condition):
                bp.hits += 1
        return [bp.id for bp in hit]

    def finish(self, end: End) -> None:
        """The program is gone. While it is being launched that is not told yet: the launch may come to nothing."""
        self.output.finish()
        self._forget_stops()
        if self.state is State.LAUNCHING:
            self._early_end = end
            return
        if self.state in ENDED and self.end is not None and self.end.status is None:
            self.end = End(end.status, self.end.reason)  # it ran on for a while without its debugger
        if self.state in ENDED or self.state is State.CREATED:
            return
        self.end, self.stop, self.ended_at = end, None, time.monotonic()
        self.state = State.TERMINATED
        self.touch()
        self.log.add("terminated", end.to_event())
        self.run.finish(end)

    def _forget_stops(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            self._pump = None
        self._stops = asyncio.Queue()

    def reset(self) -> None:
        """The launch came to nothing: as if it had not been tried."""
        self.output.finish()
        self._forget_stops()
        self._early_end = None
        self.state, self.stop, self.adapter = State.CREATED, None, None

    # Running and waiting.

    def begin_run(self, state: State = State.RUNNING, leaving: str | None = None) -> Run:
        """From now on the next stop or end belongs to this run, whoever waits for it."""
        self.run = Run(leaving)
        self.state, self.stop = state, None
        self.touch()
        return self.run

    def started(self) -> None:
        """The launch is through; the program may have stopped or ended by now."""
        if self.state is State.LAUNCHING:
            self.state = State.RUNNING
        if self._early_end is not None:
            end, self._early_end = self._early_end, None
            self.finish(end)

    def undo_run(self, stop: Stop) -> None:
        """The debugger refused to resume: it is still where it was."""
        if self.state is State.RUNNING:
            self.state, self.stop = State.PAUSED, stop
            self.log.add("stopped", stop.to_event())
            self.run.finish(stop)
