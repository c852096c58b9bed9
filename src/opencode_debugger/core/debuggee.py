"""The program under its debugger: the one place where its state changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import time
from collections.abc import Callable
from typing import Any

from ..adapters.base import Adapter, Arrival, Asked, Bound, Frames, Go, StopEvent
from ..adapters.processes import ExitStatus
from ..errors import RelayError
from .breakpoints import CHANGED, Breakpoint, BreakpointTable
from .data_table import DataTable
from .events import EventLog
from .exception_breakpoints import ExceptionTable
from .file_changes import FileChanges
from .output import Output
from .run import Run
from .state import ENDED, State, needs_debugger, require
from .stops import DETACHED, UNPLANNED, End, Stop, own_frame

logger = logging.getLogger(__name__)

LIBRARY = re.compile(
    r"^<|[/\\](site|dist)-packages[/\\]|[/\\][Ll]ib(64)?[/\\]python\d[^/\\]*[/\\]|^/(usr/)?lib\d*/.*\.so[.\d]*$"
)
"""Paths of modules that are not the user's own"""
LONGEST_BODY = 10_000
BLOCKED = (
    "It is inside a call that has not returned, and halts when that does; until then expressions are evaluated on a "
    "thread of the debugger's own. What blocked threads and tasks wait for: GET /sessions/{id}/locks"
)
ROUTINE = frozenset({"step", "pause", "entry"})
"""Reasons of stops that somebody asked for: when another stop comes before them there is nothing to tell."""


class Debuggee:
    """Hears what the debugger says (adapters.base.Listener) and keeps what is true now."""

    def __init__(self, log: EventLog, breakpoints: BreakpointTable) -> None:
        self.log = log
        self.breakpoints = breakpoints
        self.exceptions = ExceptionTable()
        self.data = DataTable(log)
        self.file_changes = FileChanges()
        self.output = Output(log)
        self.state = State.CREATED
        self.stop_scope = "all"
        self.stop: Stop | None = None
        """the one that is looked at when no thread is named"""
        self.stops: dict[int, Stop] = {}
        """threads that stand at a stop of their own, in the order in which they came there"""
        self.stacks: dict[int, Frames] = {}
        """of halted threads, as far as they were asked for"""
        self.end: End | None = None
        self.ended_at: float | None = None
        self.ending: str | None = None
        """why somebody is ending the program"""
        self._early_end: End | None = None
        self._previous: End | None = None
        """how the program ended that was run before this one"""
        self.adapter: Adapter | None = None
        self.modules: dict[str, str] = {}
        """names of loaded modules by real path"""
        self.last_activity = time.monotonic()
        self.elder: Debuggee | None = None
        """of a child: the program itself, which lives as long as anything happens to one of them"""
        self.on_spawned: Callable[[dict[str, Any]], None] = lambda notice: None
        self.on_child: Callable[[Arrival], None] = lambda arrival: arrival.let_go()
        self.on_program: Callable[[dict[str, Any]], None] = lambda program: None
        """told what the process runs from now on, in place of what it was started as"""
        self.is_expecting: Callable[[], bool] = lambda: False
        """whether children are on their way that will be debugged"""
        self.on_ended: Callable[[End], None] = lambda end: None
        self.run = Run()
        """what comes of it belongs to whoever waits for the program, not for one thread"""
        self._runs: list[Run] = []
        """those that nothing has come of yet"""
        self.changes = 0
        """how often threads stopped or were let go"""
        self._seen = 0
        """number of the last stop"""
        self._serial = 0
        self._stops: asyncio.Queue[tuple[StopEvent, Asked]] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self._condition_errors: dict[str, str] = {}
        """of the stop that is about to be told, by breakpoint"""
        self.told_errors: set[tuple[str, str]] = set()

    @property
    def is_going(self) -> bool:
        return self.state in (State.LAUNCHING, State.RUNNING)

    def touch(self) -> None:
        self.last_activity = time.monotonic()
        if self.elder is not None:
            self.elder.touch()

    def require(self, operation: str) -> None:
        if self.adapter is not None and self.adapter.is_undebugged and needs_debugger(operation):
            raise self.adapter.refusal(operation)
        require(operation, self.state, is_let_go=self.end is not None and self.end.reason == DETACHED)

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

    def on_event(self, name: str, body: dict[str, Any]) -> None:
        """Something that only this debugger tells."""
        shown = body if len(repr(body)) <= LONGEST_BODY else {"omitted": "it is very long"}
        self.log.add("event", {"event": name, "body": shown})

    def on_log(self, number: int, text: str) -> None:
        self.touch()
        self.require_adapter().drain()  # what was printed before comes before
        self.log.add_output("console", text + "\n")

    def on_bound(self, number: int, bound: Bound) -> None:
        bp = self.breakpoints.by_number(number)
        if bp is not None:
            bp.bind(bound)
        if bound.bad_condition is not None:
            self.on_condition_error(number, bound.bad_condition, False)

    def on_hits(self, hits: dict[int, int]) -> None:
        for number, count in hits.items():
            bp = self.breakpoints.by_number(number)
            if bp is not None:
                bp.hits = count

    def on_rebound(self, number: int, bound: Bound) -> None:
        """Code was loaded in which there is a breakpoint."""
        bp = self.breakpoints.by_number(number)
        if bp is None:
            return
        bp.bind(bound)
        self.log.add("breakpoint", {"reason": "changed", "breakpoint": bp.to_dict()})

    def on_condition_error(self, number: int, error: str, of_exception: bool) -> None:
        """The program stops there each time; each error is told once."""
        bp = self.exceptions.by_number(number) if of_exception else self.breakpoints.by_number(number)
        if bp is None:
            return
        self._condition_errors[bp.id] = error
        if (bp.id, error) not in self.told_errors:
            self.told_errors.add((bp.id, error))
            kind = "exception_breakpoint" if of_exception else "breakpoint"
            self.log.add(kind, {"reason": "condition_error", kind: bp.to_dict(), "error": error})

    def on_data_gone(self, number: int, why: str) -> None:
        self.data.gone(number, why)

    def on_thread(self, reason: str, thread_id: int) -> None:
        self.touch()
        self.log.add("thread", {"reason": reason, "thread_id": thread_id})
        if reason == "exited":
            self._thread_ended(thread_id)

    def _thread_ended(self, thread_id: int) -> None:
        self.stops.pop(thread_id, None)
        self.stacks.pop(thread_id, None)
        if self.stop is not None and self.stop.thread_id == thread_id:  # it was busy in code that is not traced
            self.stop = self.next_focus(thread_id) or self.stop
        for run in [run for run in self._runs if run.thread_id == thread_id]:
            run.end_of_thread()
            self._runs.remove(run)

    def on_module(self, reason: str, module: dict[str, Any]) -> None:
        if module.get("path"):
            self.modules[os.path.realpath(module["path"])] = module["name"]
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

    def on_exec(self, program: dict[str, Any]) -> None:
        self.on_program(program)
        self.on_event("exec", {"pid": self.require_adapter().pid, **program})

    def on_process(self, pid: int) -> None:
        """The program has been started, again if there was one before."""
        if self._previous is not None:
            self.log.add("restarted", {"pid": pid, "previous": self._previous.summary()})

    def on_exit(self, status: ExitStatus | None) -> None:
        self.finish(End(status, self.ending or ("killed" if status and status.signal else "exited")))

    def on_lost(self, reason: str) -> None:
        self.finish(End(None, self.ending or reason))

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
                self._seen = max(self._seen, event.number)
                await adapter.resume(event.thread_id, self._new_go(alone=self.stop is not None))
                return
            if event.reason == "exception" and frames:
                exception = await adapter.exception(frames[0]["id"])
            if event.hit_numbers:
                self.on_hits(await adapter.hits())
        changed = await self._has_changed(frames)
        if self.state in ENDED:
            return
        adapter.drain()  # what the program printed before is in its pipes already
        self.output.flush()
        hit, left = self._count_hits(event, frames, exception), self._of_step(event, "leaving")
        stop = Stop(event, frames, hit, exception, left)
        is_in_library = exception is not None and exception.get("is_in_library")
        if is_in_library or (event.reason in UNPLANNED and adapter.name == "debugpy"):
            stop.focus = own_frame(frames)
        stop.note_step_into(self._of_step(event, "entering"))
        stop.note = self._note(stop, changed)
        self._arrived(stop)

    def _of_step(self, event: StopEvent, what: str) -> Any:
        """What is known of the step that ends with this stop: what it was leaving, or where it was entering."""
        if event.reason != "step":
            return None
        known = (getattr(run, what) for run in self._runs if run.thread_id in (None, event.thread_id))
        return next((each for each in known if each), None)

    def _arrived(self, stop: Stop) -> None:
        """What somebody waits for is told at once; else it waits its turn, and whoever is looked at stays in focus."""
        self.changes += 1
        self._seen = max(self._seen, stop.event.number)
        standing = self.stops.get(stop.thread_id)
        if standing is not None and stop.reason == "pause" and not standing.event.is_blocked:
            stop = standing  # it only speaks for a program whose running threads are busy
        self.stops[stop.thread_id] = stop
        self.stacks[stop.thread_id] = stop.frames
        if self.stop in (None, standing) or any(run.ends_with(stop) for run in self._runs):
            self._tell(stop)
            return
        stop.is_told = stop.reason in ROUTINE
        if self.stop_scope == "thread":
            self._log_stop(stop)

    def _tell(self, stop: Stop) -> None:
        self.stop, self.state = stop, State.PAUSED
        self.touch()
        self._log_stop(stop)
        over = [run for run in self._runs if run.ends_with(stop)]
        self._runs = [run for run in self._runs if run not in over]
        for run in over:
            run.finish(stop)

    def _log_stop(self, stop: Stop) -> None:
        if not stop.is_logged:
            stop.is_logged = True
            self.log.add("stopped", stop.to_event())

    def _count_hits(self, event: StopEvent, frames: Frames, exception: dict[str, Any] | None) -> list[str]:
        hit = [bp for number in event.hit_numbers if (bp := self.breakpoints.by_number(number))]
        path = (frames[0].get("source") or {}).get("path") if frames else None
        if not hit and event.reason == "breakpoint" and path:
            here = self.breakpoints.at(path, frames[0]["line"])
            hit = [here] if here else []
        for bp in hit:
            if not bp.is_counted_inside:
                bp.hits += 1
        rules = [rule for number in (exception or {}).get("rules", ()) if (rule := self.exceptions.by_number(number))]
        for rule in rules:
            rule.hits += 1
        data = self.data.hit(event.data_hit["number"]) if event.data_hit else None
        ids = [bp.id for bp in hit] + ([data] if data else [])
        return ids + [rule.id for rule in rules if not rule.from_launch]

    def _note(self, stop: Stop, changed: bool) -> str | None:
        errors = [self._condition_errors.pop(id, None) for id in stop.hit_ids]
        notes = [f"Condition raised {error}" for error in errors if error][:1]
        if stop.event.data_hit:
            notes.append(self.data.said(stop.event.data_hit))
        if stop.event.note:
            notes.append(stop.event.note)
        if stop.event.is_blocked:
            notes.append(BLOCKED)
        if changed:
            notes.append(f"{CHANGED}, the source shown is that of the file")
        return ". ".join(notes) or None

    async def _has_changed(self, frames: Frames) -> bool:
        """Whether the file it stopped in is no longer what the program runs; its breakpoints say so from now on."""
        path = (frames[0].get("source") or {}).get("path") if frames else None
        if not path or not await self.file_changes.among({path}, self.require_adapter()):
            return False
        real = os.path.realpath(path)
        await self.mark_changed([bp for bp in self.breakpoints.all() if bp.key[0] == real])
        return True

    async def mark_changed(self, breakpoints: list[Breakpoint]) -> None:
        paths = {path for bp in breakpoints for path in _paths(bp)}
        changed = await self.file_changes.among(paths, self.require_adapter())
        for bp in breakpoints:
            before, bp.source_changed = bp.source_changed, not changed.keys().isdisjoint(_paths(bp))
            if bp.source_changed and not before:
                self.log.add("breakpoint", {"reason": "changed", "breakpoint": bp.to_dict()})

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
        self.end, self.ended_at = end, time.monotonic()
        self.data.forget()
        self._forget_places()
        if end.reason == "exited":
            self.breakpoints.conclude()
        self.state = State.TERMINATED
        self.touch()
        self.log.add("terminated", end.to_event())
        runs, self._runs = self._runs, []
        for run in [*runs, self.run]:
            run.finish(end)
        self.on_ended(end)

    def _forget_stops(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            self._pump = None
        self._stops = asyncio.Queue()

    def reset(self, previous: End | None = None) -> None:
        """The launch came to nothing: as if it had not been tried, after the end of the program before it, if any."""
        self.output.finish()
        self._forget_stops()
        self._early_end = None
        self._forget_places()
        self._runs, self._seen, self._serial = [], 0, 0
        if previous is None:
            self.state, self.adapter = State.CREATED, None
        else:
            self.state, self.end = State.TERMINATED, previous
            self.run.finish(previous)

    # Running and waiting.

    def begin_run(self, state: State = State.RUNNING, leaving: str | None = None) -> Run:
        """From now on the next stop or end belongs to this run, whoever waits for it."""
        for run in self._runs:
            run.thread_id = None  # who waits for one thread gets what comes of all
        self._forget_places()
        self.state, self.run = state, self.new_run(leaving)
        return self.run

    def new_run(self, leaving: str | None = None, thread_id: int | None = None) -> Run:
        run = Run(leaving, thread_id, self._serial)
        self._runs.append(run)
        self.touch()
        return run

    def run_of(self, thread_id: int | None) -> Run:
        """The run of one thread, or of all, that is under way already or is taken for that from now on."""
        return next((run for run in self._runs if run.thread_id == thread_id), None) or self.new_run(None, thread_id)

    def _forget_places(self) -> None:
        self.changes += 1
        self.stop, self.stops, self.stacks = None, {}, {}

    def _new_go(self, alone: bool = False, keep: tuple[int, ...] = ()) -> Go:
        self._serial += 1
        return Go(self._seen, self._serial, alone, keep)

    def let_go(self, thread_id: int, leaving: str | None = None) -> tuple[Run, Go | None]:
        """All threads, but none at a stop that nobody was told of: the next of those is what comes of it.

        Where threads stop together, nothing moves before each of their stops was told.
        """
        waiting = self._told_of(self.stop)
        go = None
        if waiting and self.stop_scope == "all":
            run = self.new_run()
        else:
            kept = {stop.thread_id: stop for stop in waiting}
            stacks = self.stacks
            go = self._new_go(keep=tuple(kept))
            run = self.begin_run(leaving=leaving)
            self.stops, self.stacks = kept, {thread: stacks[thread] for thread in kept}
        self.log.add("continued", {"thread_id": thread_id, "all_threads_continued": not waiting})
        if waiting:
            self._tell(waiting[0])
        return run, go

    def let_go_alone(self, thread_id: int, focus: Stop | None, leaving: str | None = None) -> tuple[Run, Go]:
        """One thread, while the others do what they do; `focus` is a halted one to be looked at meanwhile."""
        self._told_of(self.stop)
        self.changes += 1
        go = self._new_go(alone=True)
        own = self.stops.pop(thread_id, None)
        self.stacks.pop(thread_id, None)
        if own is not None:
            self._log_stop(own)
        run = self.new_run(leaving, thread_id)
        self.stop, self.state = focus, State.PAUSED if focus else State.RUNNING
        self.log.add("continued", {"thread_id": thread_id, "all_threads_continued": False})
        if focus is not None:
            self.stacks[focus.thread_id] = focus.frames
            self._log_stop(focus)
        elif self.run.is_over:
            self.run = self.new_run()
        return run, go

    def _told_of(self, stop: Stop | None) -> list[Stop]:
        """Whoever goes on has seen the stop in focus; the others that nobody has seen, the oldest first."""
        if stop is not None:
            stop.is_told = True
        return [stop for stop in self.stops.values() if not stop.is_told]

    def next_focus(self, thread_id: int) -> Stop | None:
        """The stop to look at when that thread goes on alone."""
        others = [stop for stop in self.stops.values() if stop.thread_id != thread_id]
        if not others:
            return None
        return next((stop for stop in others if not stop.is_told), others[-1])

    def is_at(self, thread_id: int, frames: Frames) -> bool:
        """Whether a thread still is where these frames were seen."""
        return self.stacks.get(thread_id) is frames

    def begin_again(self, previous: End) -> Run:
        """The same program once more: what is known of the one before goes, except its output and events."""
        self._previous, self.ending, self.end, self.ended_at = previous, None, None, None
        self._seen = self._serial = 0
        self._condition_errors.clear()
        self.modules.clear()
        return self.begin_run(State.LAUNCHING)

    def started(self) -> None:
        """The launch is through; the program may have stopped or ended by now."""
        if self.state is State.LAUNCHING:
            self.state = State.RUNNING
        if self._early_end is not None:
            end, self._early_end = self._early_end, None
            self.finish(end)

    def undo_run(self, run: Run, stop: Stop) -> None:
        """The debugger refused to resume: it is still where it was."""
        if not run.is_over and self.state in (State.RUNNING, State.PAUSED):
            self.changes += 1
            self.stops[stop.thread_id], self.stacks[stop.thread_id] = stop, stop.frames
            stop.is_logged = False
            self._tell(stop)
            run.finish(stop)


def _paths(bp: Breakpoint) -> set[str]:
    """The files in which it stops."""
    return {place["path"] for place in bp.places} or ({bp.path} if bp.path else set())
