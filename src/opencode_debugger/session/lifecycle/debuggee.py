"""The program under its debugger: the one place where its state changes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from ...answers.sessions import ProgramEnd
from ...debuggers.process.program_process import ExitStatus
from ...debuggers.shapes import Bound, Frames, Go, StopEvent
from ...errors import RelayError
from ...operations.event_kinds import EventKind
from ...operations.states import ENDED, State
from ...operations.table import OPERATIONS
from ...text.paths import is_library
from ..breakpoints.breakpoint_table import BreakpointTable
from ..breakpoints.reached_breakpoints import ReachedBreakpoints
from ..execution.program_run import Run
from ..execution.stops import DETACHED, End, Stop
from ..log.event_log import Entry, EventLog, OutputLines
from ..state import require_state
from .incoming_stops import IncomingStops
from .relatives import Relatives

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter, Arrival
    from ...debuggers.rows import ProgramRow, SlowRow

LONGEST_BODY = 10_000
LAST_WORDS = 20
"""Entries of output in which a program that ended says why."""
ROUTINE = frozenset({"step", "pause", "entry"})
"""Reasons of stops that somebody asked for: when another stop comes before them there is nothing to tell."""


class Owner(Protocol):
    """The session, as far as it has to know what becomes of its program."""

    def program_replaced(self, program: ProgramRow) -> None:
        """Hear that the process runs this from now on, in place of what it was started as."""

    def program_ended(self, end: End) -> None: ...


class BeforeLaunch(NamedTuple):
    """The parts of a program's state that a launch changes, as they were before it."""

    end: End | None
    """how the program before has ended, if there was one"""
    ended_at: float | None
    stop_scope: str
    output_start: int


class Debuggee:
    """Hears what the debugger says, as `protocols.Listener`, and keeps what is true now."""

    def __init__(
        self, log: EventLog, breakpoints: BreakpointTable, relatives: Relatives, owner: Owner, elder: Debuggee | None
    ) -> None:
        self.log = log
        self.breakpoints = breakpoints
        self._relatives = relatives
        self._owner = owner
        self._elder = elder
        """for a child, the program itself: activity of one keeps both alive"""
        self.reached = ReachedBreakpoints(log, breakpoints)
        self.exception_breakpoints = self.reached.on_exceptions
        self.data_breakpoints = self.reached.on_data
        self.output = OutputLines(log)
        self.state = State.CREATED
        self.stop_scope = "all"
        self.stop: Stop | None = None
        """the stop in focus: requests that name no thread are about it"""
        self.stops: dict[int, Stop] = {}
        """threads that stand at a stop of their own, in the order in which they came there"""
        self.stacks: dict[int, Frames] = {}
        """frames of halted threads that were asked for, by thread"""
        self.end: End | None = None
        self.ended_at: float | None = None
        self._expected_end: str | None = None
        """why somebody is ending the program"""
        self._early_end: End | None = None
        self._previous_end: End | None = None
        """how the program ended that was run before this one"""
        self.adapter: Adapter | None = None
        self.modules: dict[str, str] = {}
        """names of loaded modules by real path"""
        self.slow_code: list[SlowRow] = []
        """what of the program does not run at full speed"""
        self.last_activity = time.monotonic()
        self.run = Run()
        """the run of the whole program: its outcome is for clients that wait for no single thread"""
        self._runs: list[Run] = []
        """runs without an outcome so far"""
        self.change_count = 0
        """counts how often threads stopped or were let go, to notice that they did"""
        self._last_stop_number = 0
        """number of the last stop"""
        self._resume_serial = 0
        self._incoming = IncomingStops(self)
        self._output_start = 0
        """position in the log at which the output of this run of the program begins"""

    @property
    def is_going(self) -> bool:
        return self.state in (State.LAUNCHING, State.RUNNING)

    @property
    def ending(self) -> ProgramEnd:
        return describe_end(self.end)

    @property
    def was_let_go(self) -> bool:
        return self.end is not None and self.end.reason == DETACHED

    def touch(self) -> None:
        self.last_activity = time.monotonic()
        if self._elder is not None:
            self._elder.touch()

    def require_state(self, operation: str) -> None:
        if self.adapter is not None and self.adapter.is_undebugged and OPERATIONS[operation].needs_debugger:
            raise self.adapter.refusal(operation)
        require_state(operation, self.state, is_let_go=self.was_let_go)

    def require_adapter(self) -> Adapter:
        if self.adapter is None:
            raise RelayError("DEBUGPY_ERROR", "There is no debugger in this session", status=502)
        return self.adapter

    def require_stop(self, operation: str) -> Stop:
        self.require_state(operation)
        assert self.stop is not None
        return self.stop

    # Events that the debugger sends.

    def on_spawned(self, notice: dict[str, Any]) -> None:
        self._relatives.process_spawned(notice)

    def on_child(self, arrival: Arrival) -> None:
        self._relatives.family.child_arrived(arrival)

    def is_expecting(self) -> bool:
        return self._relatives.family.expects_children()

    def on_output(self, category: str, data: bytes) -> None:
        self.touch()
        self.output.add_bytes(category, data)

    def on_event(self, name: str, body: dict[str, Any]) -> None:
        """Log something that only this debugger tells."""
        shown = body if len(repr(body)) <= LONGEST_BODY else {"omitted": "it is very long"}
        self.log.add(EventKind.DEBUGGER_EVENT, {"event": name, "body": shown})

    def on_log(self, number: int, text: str) -> None:
        self.touch()
        self.require_adapter().drain()  # what was printed before comes before
        self.log.add_output("console", text + "\n")

    def on_bound(self, number: int, bound: Bound) -> None:
        self.reached.take_binding(number, bound, is_news=False)

    def on_rebound(self, number: int, bound: Bound) -> None:
        self.reached.take_binding(number, bound, is_news=True)

    def on_hits(self, hits: dict[int, int]) -> None:
        for number, count in hits.items():
            if bp := self.breakpoints.by_number(number):
                bp.hits = count

    def on_condition_error(self, number: int, error: str, of_exception: bool) -> None:
        self.reached.take_condition_error(number, error, of_exception)

    def on_slow_code(self, found: list[SlowRow]) -> None:
        self.slow_code = found

    def on_data_gone(self, number: int, why: str) -> None:
        self.data_breakpoints.remove_breakpoint(number, why)

    def on_thread(self, reason: str, thread_id: int) -> None:
        self.touch()
        self.log.add(EventKind.THREAD, {"reason": reason, "thread_id": thread_id})
        if reason != "exited":
            return
        self.stops.pop(thread_id, None)
        self.stacks.pop(thread_id, None)
        if self.stop is not None and self.stop.thread_id == thread_id:  # it was busy in code that is not traced
            self.stop = self.next_focus(thread_id) or self.stop
        for run in [run for run in self._runs if run.thread_id == thread_id]:
            run.finish_thread()
            self._runs.remove(run)

    def on_module(self, reason: str, module: dict[str, Any]) -> None:
        if module.get("path"):
            self.modules[os.path.realpath(module["path"])] = module["name"]
        shown = {"id": module["id"], "name": module["name"], "path": module.get("path"), "is_optimized": False}
        is_own = not is_library(module.get("path"))
        shown |= {"is_user_code": is_own, "version": module.get("version")}
        self.log.add(EventKind.MODULE, {"reason": reason, "module": shown})

    def on_stopped(self, event: StopEvent) -> None:
        self.touch()
        self._incoming.add_stop(event)

    def on_exec(self, program: ProgramRow) -> None:
        self._owner.program_replaced(program)
        self.on_event("exec", {"pid": self.require_adapter().pid, **program})

    def on_process(self, pid: int) -> None:
        """Hear that the program has been started, again if there was one before."""
        if self._previous_end is not None:
            previous = msgspec.to_builtins(describe_end(self._previous_end))
            self.log.add(EventKind.RESTARTED, {"pid": pid, "previous": previous})

    def on_exit(self, status: ExitStatus | None) -> None:
        self.finish_program(End(status, self._expected_end or ("killed" if status and status.signal else "exited")))

    def on_lost(self, reason: str) -> None:
        self.finish_program(End(None, self._expected_end or reason))

    # Handling of stops and of the end.

    def pass_over(self, event: StopEvent) -> Go:
        """Pass over a stop that nobody is told of."""
        self._last_stop_number = max(self._last_stop_number, event.number)
        return self._new_go(alone=self.stop is not None)

    def runs_ended_by_step(self, event: StopEvent) -> list[Run]:
        """Return the runs that may end with this stop, if it is that of a step."""
        return [run for run in self._runs if event.reason == "step" and run.thread_id in (None, event.thread_id)]

    def take_stop(self, stop: Stop) -> None:
        """Announce a stop that somebody waits for at once; let another wait its turn, and the stop in focus stay."""
        self.change_count += 1
        self._last_stop_number = max(self._last_stop_number, stop.event.number)
        standing = self.stops.get(stop.thread_id)
        if standing is not None and stop.reason == "pause" and not standing.event.is_blocked:
            stop = standing  # it only speaks for a program whose running threads are busy
        self.stops[stop.thread_id] = stop
        self.stacks[stop.thread_id] = stop.frames
        if self.stop in (None, standing) or any(run.ends_with(stop) for run in self._runs):
            self._announce_stop(stop)
            return
        stop.is_told = stop.reason in ROUTINE
        if self.stop_scope == "thread":
            self._log_stop(stop)

    def _announce_stop(self, stop: Stop) -> None:
        self.stop, self.state = stop, State.PAUSED
        self.touch()
        self._log_stop(stop)
        over = [run for run in self._runs if run.ends_with(stop)]
        self._runs = [run for run in self._runs if run not in over]
        for run in over:
            run.finish_with(stop)

    def _log_stop(self, stop: Stop) -> None:
        if not stop.is_logged:
            stop.is_logged = True
            self.log.add(EventKind.STOPPED, stop.to_event(), self.change_count)

    def finish_program(self, end: End) -> None:
        """End the program. While it is being launched that is not told yet: the launch may come to nothing."""
        self.output.finish()
        self._incoming.forget_all()
        if self.state is State.LAUNCHING:
            self._early_end = end
            return
        if self.state in ENDED and self.end is not None and self.end.status is None:
            self.end = End(end.status, self.end.reason)  # it ran on for a while without its debugger
        if self.state in ENDED or self.state is State.CREATED:
            return
        self.end, self.ended_at = end, time.monotonic()
        self.data_breakpoints.known.clear()
        self._forget_places()
        if end.reason == "exited":
            self.breakpoints.mark_never_loaded()
        self.state = State.TERMINATED
        self.touch()
        self.log.add(EventKind.TERMINATED, end.to_event())
        runs, self._runs = self._runs, []
        for run in [*runs, self.run]:
            run.finish_with(end)
        self._owner.program_ended(end)

    def before_launch(self) -> BeforeLaunch:
        return BeforeLaunch(self.end, self.ended_at, self.stop_scope, self._output_start)

    def undo_launch(self, before: BeforeLaunch) -> str:
        """Put back what was true before a launch that came to nothing. Return what that has written last."""
        self.output.finish()
        last_words = "".join(entry.body[1] for entry in self.last_output())
        self._incoming.forget_all()
        self._early_end = None
        self._forget_places()
        self._runs, self._last_stop_number, self._resume_serial = [], 0, 0
        if before.end is None:
            self.state, self.adapter = State.CREATED, None
        else:
            self.state, self.end = State.TERMINATED, before.end
            self.run.finish_with(before.end)
        self.ended_at, self.stop_scope, self._output_start = before.ended_at, before.stop_scope, before.output_start
        return last_words

    # Changes that other parts of the session ask for.

    def use_stop_scope(self, stop_scope: str) -> None:
        self.stop_scope = stop_scope

    def use_adapter(self, adapter: Adapter) -> None:
        self.adapter = adapter

    def expect_end(self, reason: str | None) -> None:
        """Remember why somebody is ending the program: its exit is told as that. None: nobody is."""
        self._expected_end = reason

    def remember_stack(self, thread_id: int, frames: Frames) -> Frames:
        """Keep the frames of a halted thread, unless they are known; return those that are kept."""
        return self.stacks.setdefault(thread_id, frames)

    def last_output(self) -> list[Entry]:
        """Return the last entries that this run of the program has written, none of an earlier run."""
        start = max(self._output_start, self.log.output_end - LAST_WORDS)
        return self.log.output_since(start, LAST_WORDS)[1]

    # Running and waiting.

    def begin_run(self, state: State = State.RUNNING, leaving: str | None = None) -> Run:
        """Begin a run: the next stop or end belongs to it, whoever waits for it."""
        for run in self._runs:
            run.thread_id = None  # who waits for one thread gets what comes of all
        self._forget_places()
        if state is State.LAUNCHING:
            self._output_start = self.log.output_end
        self.state, self.run = state, self.new_run(leaving)
        return self.run

    def new_run(self, leaving: str | None = None, thread_id: int | None = None) -> Run:
        run = Run(leaving, thread_id, self._resume_serial)
        self._runs.append(run)
        self.touch()
        return run

    def run_of(self, thread_id: int | None) -> Run:
        """Return the run of one thread, or of all, that is under way, or begin to take it for that."""
        return next((run for run in self._runs if run.thread_id == thread_id), None) or self.new_run(None, thread_id)

    def _forget_places(self) -> None:
        self.change_count += 1
        self.stop, self.stops, self.stacks = None, {}, {}

    def _new_go(self, alone: bool = False, keep: tuple[int, ...] = ()) -> Go:
        self._resume_serial += 1
        return Go(self._last_stop_number, self._resume_serial, alone, keep)

    def resume_all(self, thread_id: int, leaving: str | None = None) -> tuple[Run, Go | None]:
        """Let all threads run but those at a stop that nobody was told of: the next of those is the outcome.

        Where threads stop together, nothing moves before each of their stops was told."""
        waiting = self._mark_told(self.stop)
        go = None
        if waiting and self.stop_scope == "all":
            run = self.new_run()
        else:
            kept = {stop.thread_id: stop for stop in waiting}
            stacks = self.stacks
            go = self._new_go(keep=tuple(kept))
            run = self.begin_run(leaving=leaving)
            self.stops, self.stacks = kept, {thread: stacks[thread] for thread in kept}
        self.log.add(EventKind.CONTINUED, {"thread_id": thread_id, "all_threads_continued": not waiting})
        if waiting:
            self._announce_stop(waiting[0])
        return run, go

    def resume_thread(
        self, thread_id: int, focus: Stop | None, leaving: str | None = None
    ) -> tuple[Run, Go | None]:
        """Let one thread run, while the others do what they do; `focus` is a halted one to be looked at meanwhile.

        If it has just stopped and nobody was told, that is the outcome."""
        self._mark_told(self.stop)
        going = {"thread_id": thread_id, "all_threads_continued": False}
        own = self.stops.get(thread_id)
        if own is not None and not own.is_told and not own.is_logged:
            run = self.new_run(None, thread_id)
            self.log.add(EventKind.CONTINUED, going)
            self._announce_stop(own)
            return run, None
        self.change_count += 1
        go = self._new_go(alone=True)
        self.stops.pop(thread_id, None)
        self.stacks.pop(thread_id, None)
        if own is not None:
            self._log_stop(own)
        run = self.new_run(leaving, thread_id)
        self.stop, self.state = focus, State.PAUSED if focus else State.RUNNING
        self.log.add(EventKind.CONTINUED, going)
        if focus is not None:
            self.stacks[focus.thread_id] = focus.frames
            self._log_stop(focus)
        elif self.run.is_over:
            self.run = self.new_run()
        return run, go

    def _mark_told(self, stop: Stop | None) -> list[Stop]:
        """Mark the stop in focus as seen by who goes on; return those that nobody has seen, the oldest first."""
        if stop is not None:
            stop.is_told = True
        return [stop for stop in self.stops.values() if not stop.is_told]

    def next_focus(self, thread_id: int) -> Stop | None:
        """Return the stop to look at when that thread goes on alone."""
        others = [stop for stop in self.stops.values() if stop.thread_id != thread_id]
        return next((stop for stop in others if not stop.is_told), others[-1] if others else None)

    def is_at(self, thread_id: int, frames: Frames) -> bool:
        """Tell whether a thread still is where these frames were seen."""
        return self.stacks.get(thread_id) is frames

    def begin_rerun(self, previous: End) -> Run:
        """Begin the same program once more: forget what is known of the one before, except its output and events."""
        self._previous_end, self._expected_end, self.end, self.ended_at = previous, None, None, None
        self._last_stop_number = self._resume_serial = 0
        self.modules.clear()
        self.slow_code = []
        return self.begin_run(State.LAUNCHING)

    def finish_launch(self) -> None:
        """Take the launch as done; the program may have stopped or ended by now."""
        if self.state is State.LAUNCHING:
            self.state = State.RUNNING
        if self._early_end is not None:
            end, self._early_end = self._early_end, None
            self.finish_program(end)

    def undo_run(self, run: Run, stop: Stop) -> None:
        """Put back the stop: the debugger refused to resume, so the program is still where it was."""
        if not run.is_over and self.state in (State.RUNNING, State.PAUSED):
            self.change_count += 1
            self.stops[stop.thread_id], self.stacks[stop.thread_id] = stop, stop.frames
            stop.is_logged = False
            self._announce_stop(stop)
            run.finish_with(stop)


def describe_end(end: End | None) -> ProgramEnd:
    status, reason = (end.status, end.reason) if end else (None, None)
    code, signal = (status.code, status.signal) if status else (None, None)
    return ProgramEnd(exit_code=code, signal=signal, reason=reason)
