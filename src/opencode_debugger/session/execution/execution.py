"""Making the program run and waiting for what comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, partialmethod
from typing import TYPE_CHECKING, TypedDict, Unpack

from ...answers.shape import UNSET, extended
from ...answers.stop_reports import Continued, InputSent, StopReport
from ...debuggers.shapes import Go, StopEvent
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.states import ENDED, State
from ..inspection.threads_and_tasks import is_paused, require_halted
from ..lifecycle.debuggee import Debuggee
from ..log.program_input import ProgramInput
from .patience import call_patience
from .program_run import Run
from .stop_report import Reporter, check_fields
from .stops import Stop

if TYPE_CHECKING:
    from ...debuggers.rows import ThreadRow

STEPS = {"step_over": "next", "step_into": "stepIn", "step_out": "stepOut"}
BACKWARD_STEPS = {"step_back": "stepBack", "reverse_continue": "reverseContinue"}
TRIES = 5
"""How often a thread is singled out again when others stop or go on meanwhile."""
STILL_RUNNING = "It runs on, nothing is lost: {report wait=30} waits for its next stop"
HOW_TO_LOOK = ", {pause} says where it is"
CHILD_PAUSED = (
    "A process that it started is paused (child_report), and it may be waiting for that one: "
    "{{continue session_id={child}}} lets it run."
)
NO_NEWLINE = "What was sent does not end with a newline: the program may be waiting for the rest of its line"
Wait = float | bool | None
"""seconds; True for the default time, False for none, None for what is usual for the operation"""


class ReportWish(TypedDict, total=False):
    """What the answer of a call that makes the program run is to be."""

    wait: Wait
    fields: list[str] | None
    budget: int | None


@dataclass(eq=False)
class Execution:
    _debuggee: Debuggee
    _input: ProgramInput
    _reporter: Reporter
    default_wait: float

    async def continue_program(
        self, thread_id: int | None = None, single_thread: bool | None = None, **wish: Unpack[ReportWish]
    ) -> Continued:
        """Let all threads run, or only the one that is named."""
        check_fields(wish.get("fields"))
        alone = thread_id is not None if single_thread is None else single_thread
        run = await self.resume_program(thread_id, alone)
        return extended(await self.report_wish(run, 0, **wish), Continued, continued=True)

    async def resume_program(self, thread_id: int | None = None, alone: bool = False) -> Run:
        begun = await self._begin_run("continue", thread_id, alone)
        return await self._start_run(begun, self._debuggee.require_adapter().control.resume)

    async def take_step(
        self, operation: str, thread_id: int | None = None, single_thread: bool = False, granularity: str = "line",
        **wish: Unpack[ReportWish],
    ) -> StopReport:
        check_fields(wish.get("fields"))
        run = await self.begin_step(operation, thread_id, single_thread, granularity)
        return await self.report_wish(run, self.default_wait, **wish)

    async def begin_step(
        self, operation: str, thread_id: int | None = None, single_thread: bool = False, granularity: str = "line"
    ) -> Run:
        """Begin a step and leave it to others to see what comes of it."""
        if granularity == "instruction":
            self._require_capability("instruction_steps")
        alone = single_thread or self._debuggee.stop_scope == "thread"
        begun = await self._begin_run(operation, thread_id, alone)
        if operation == "step_into":
            begun.run.entering = begun.stop
        step = partial(self._debuggee.require_adapter().control.step, STEPS[operation], granularity=granularity)
        return await self._start_run(begun, step)

    async def _run_backwards(
        self, operation: str, thread_id: int | None = None, **wish: Unpack[ReportWish]
    ) -> StopReport:
        """Go back in what was recorded."""
        check_fields(wish.get("fields"))
        self._debuggee.require_state(operation)
        self._require_capability("reverse")
        begun = await self._begin_run(operation, thread_id, False)
        reverse = partial(self._debuggee.require_adapter().recording.reverse, BACKWARD_STEPS[operation])
        return await self.report_wish(await self._start_run(begun, reverse), self.default_wait, **wish)

    step_back = partialmethod(_run_backwards, "step_back")
    reverse_continue = partialmethod(_run_backwards, "reverse_continue")

    def _require_capability(self, capability: str) -> None:
        """Refuse what the debugger cannot do before anything is let go."""
        adapter = self._debuggee.adapter
        if adapter is not None and capability not in adapter.capabilities:
            raise adapter.refusal(capability)

    async def _begin_run(self, operation: str, thread_id: int | None, alone: bool) -> BegunRun:
        if alone:
            return await self._begin_alone(operation, thread_id)
        debuggee = self._debuggee
        stop = debuggee.require_stop(operation)
        if thread_id is not None and thread_id != stop.thread_id:
            await require_halted(debuggee, thread_id)
            stop = debuggee.require_stop(operation)  # it may have moved on
        thread_id = stop.thread_id if thread_id is None else thread_id
        run, go = debuggee.resume_all(thread_id, self._function_left(operation, thread_id))
        return BegunRun(thread_id, stop, run, go)

    async def _begin_alone(self, operation: str, wanted: int | None) -> BegunRun:
        """Let one thread run; look again when others stopped or went on while this one was asked about."""
        debuggee = self._debuggee
        for _ in range(TRIES):
            stop = debuggee.require_stop(operation)
            thread_id = stop.thread_id if wanted is None else wanted
            before = debuggee.change_count
            focus = debuggee.next_focus(thread_id)
            if debuggee.stop_scope == "all" or thread_id not in debuggee.stops:
                rows = await require_halted(debuggee, thread_id)
                if debuggee.change_count == before and len(rows) == 1:
                    return await self._begin_run(operation, None, alone=False)
                focus = focus or await self._choose_halted(rows, thread_id)
            if debuggee.change_count == before:
                at = debuggee.stops.get(thread_id) or stop
                run, go = debuggee.resume_thread(thread_id, focus, self._function_left(operation, thread_id))
                return BegunRun(thread_id, at, run, go)
        debuggee.require_stop(operation)
        message = f"Thread {wanted} cannot be singled out: other threads stop and go on too fast"
        hint = advice("Look at {status} and try again")
        raise RelayError("INVALID_SESSION_STATE", message, current_state=str(debuggee.state), suggestion=hint)

    async def _choose_halted(self, rows: list[ThreadRow], thread_id: int) -> Stop | None:
        """Choose another thread to look at, which did not stop by itself; rather one that waits than one busy in a
        call."""
        others = [row for row in rows if row["id"] != thread_id and is_paused(self._debuggee, row)]
        if not others:
            return None
        chosen = max(others, key=lambda row: bool(row["halted"]))
        frames = await self._debuggee.require_adapter().inspection.stack(chosen["id"])
        return Stop(StopEvent("pause", chosen["id"]), frames, [], is_told=True, is_logged=True)

    def _function_left(self, operation: str, thread_id: int) -> str | None:
        frames = self._debuggee.stacks.get(thread_id)
        return str(frames[0]["name"]) if operation == "step_out" and frames else None

    async def _start_run(self, begun: BegunRun, start: Callable[[int, Go], Awaitable[None]]) -> Run:
        """Have the debugger start a run, unless there is another stop to be told first; undo it if that refuses.

        A program that ended on the way is no failure: the answer says so."""
        try:
            if begun.go is not None:
                await start(begun.thread_id, begun.go)
        except RelayError as error:
            if self._debuggee.state not in ENDED:
                if error.code != "DEBUGPY_TIMEOUT":  # without an answer it may have been taken all the same
                    self._debuggee.undo_run(begun.run, begun.stop)
                raise
        return begun.run

    async def report_now(
        self, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None, frame: str = "own"
    ) -> StopReport:
        """Return the stop report of now; with wait, that of the next stop if the program is running."""
        check_fields(fields)
        if self._debuggee.is_going:
            return await self.report_wish(self._debuggee.run, 0, wait, fields, budget)
        outcome = self._debuggee.stop or self._debuggee.end
        return (await self._reporter.collect_parts(outcome, fields, budget, frame)).to_report()

    async def send_input(self, input: str = "", eof: bool = False, **wish: Unpack[ReportWish]) -> InputSent:
        """Send input; with wait, answer with what comes of it: the next stop, request for input, or end."""
        check_fields(wish.get("fields"))
        accepted = self._input.send_text(input, eof)
        answer = StopReport(status=self._debuggee.state.value)
        if self.wait_seconds(wish.get("wait"), 0):
            answer = await self.report_now(**wish)
        awaits_rest = answer.waiting_for_input is not UNSET and input and not input.endswith("\n")
        more = {"message": NO_NEWLINE} if awaits_rest else {}
        return extended(answer, InputSent, accepted=accepted, pending=self._input.pending, eof=eof, **more)

    def wait_seconds(self, wait: Wait, usual: float) -> float:
        if isinstance(wait, bool):
            return self.default_wait if wait else 0
        return usual if wait is None else wait

    async def report_wish(
        self, run: Run, usual: float, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None
    ) -> StopReport:
        """Report the outcome of a run after the time that is wished for, or that is usual."""
        return await self.report_outcome(run, self.wait_seconds(wait, usual), fields, budget)

    async def report_outcome(
        self, run: Run, seconds: float, fields: list[str] | None = None, budget: int | None = None,
        until_input: bool = True,
    ) -> StopReport:
        """Wait for the outcome of a run and report it, or that the program goes on, perhaps to wait for its input."""
        patience = call_patience.get()
        if until_input:
            outcome, timed_out = await self._input.wait_for_outcome(run, seconds, patience)
        else:
            outcome = await run.wait_for_outcome(seconds, patience)
            timed_out = not run.is_over and seconds > 0
        shown = outcome or self._debuggee.stop
        if isinstance(shown, Stop):
            shown.is_told = True
        answer = await self._reporter.collect_parts(shown, fields, budget)
        if outcome is None and isinstance(shown, Stop):
            self._reporter.add_paused_children(answer)  # this is where another thread is
        if timed_out:
            answer["timed_out"] = True
        if seconds and (children := answer.get("paused_children")):
            answer["message"] = advice(CHILD_PAUSED.format(child=children[0]))
            answer["child_report"] = await self._reporter.child_report(answer, fields, budget)
        elif timed_out and answer["status"] == State.RUNNING and "waiting_for_input" not in answer:
            adapter = self._debuggee.adapter
            can_pause = adapter is not None and not adapter.is_undebugged
            answer["message"] = advice(f"{STILL_RUNNING}{HOW_TO_LOOK if can_pause else ''}.")
        if outcome is None and run.thread_id is not None and answer["status"] == State.PAUSED:
            does = "has ended" if run.thread_ended else "runs"
            where = f"Thread {run.thread_id} {does}; this is thread {answer['thread_id']}, which is halted"
            answer["message"] = f"{where}. {answer['message']}" if "message" in answer else where
        return answer.to_report()


@dataclass
class BegunRun:
    """Threads that are about to be let go; without `go` there is another stop to be told first."""

    thread_id: int
    stop: Stop
    """the stop at which the thread was"""
    run: Run
    go: Go | None
