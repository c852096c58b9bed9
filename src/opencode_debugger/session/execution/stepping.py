"""Going further in one call: several steps, steps until an expression is true, into a chosen call, to a line."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from functools import partialmethod
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from ...answers.shape import UNSET, extended
from ...answers.stop_reports import RanTo, Stepped, SteppedUntil, StepTarget, StepTargets, StopReport, TargetLine
from ...errors import RelayError, invalid_parameter
from ...operations.advice import advice
from ...operations.states import State
from ..breakpoints.find_line import find_line
from ..breakpoints.placement import Placement
from ..inspection.paused_program import in_frame, refuse_expression
from ..lifecycle.debuggee import Debuggee
from .execution import Execution, ReportWish
from .patience import UNENDING, call_patience
from .pausing import PAUSE_PATIENCE, Pausing
from .program_run import Run
from .stop_report import check_fields
from .stops import Stop

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter
    from ...debuggers.rows import JourneyStart

STEPS_UNTIL = 1000
FOREVER = 10 * 365 * 86400.0


@dataclass(eq=False)
class Stepping:
    _debuggee: Debuggee
    _adapter: Adapter
    _execution: Execution
    _pausing: Pausing
    _placement: Placement
    _removals: set[asyncio.Task[None]] = field(default_factory=set)

    # Several steps, taken inside the program without asking the session after each.

    async def _take_steps(
        self, operation: str, count: int = 1, target: str | int | None = None, thread_id: int | None = None,
        **options: Any,
    ) -> StopReport:
        if count == 1 and target is None:
            return await self._execution.take_step(operation, thread_id, **options)
        check_fields(options.get("fields"))
        wishes = {"most": count} if target is None else {"target": target}
        prepared = await self._prepare_steps(operation, thread_id, **wishes)
        if target is not None and prepared.get("unknown"):
            targets = prepared["targets"]
            known = f"Choose one of details.targets: {', '.join(each['name'] for each in targets)}"
            hint = known[:500] if targets else "Use step-into without a target, or step-over"
            message = f"The line calls nothing that is called {target!r}" if targets else "The line calls nothing"
            name = "target_id" if isinstance(target, int) else "target"
            raise invalid_parameter(name, str(target), message, hint, targets=targets)
        answer = await self._run_steps(operation, prepared["token"], thread_id, **options)
        done = await self._adapter.control.journey(prepared["token"], end=self._debuggee.state is not State.RUNNING)
        if target is None:
            return extended(answer, Stepped, steps=done.get("steps"))
        called = msgspec.convert(prepared["target"], StepTarget)
        return extended(answer, Stepped, target=called, target_reached=bool(done.get("met")))

    step_over = partialmethod(_take_steps, "step_over")
    step_into = partialmethod(_take_steps, "step_into")
    step_out = partialmethod(_take_steps, "step_out")

    async def step_targets(self, frame_id: int = 0, thread_id: int | None = None) -> StepTargets:
        """Return the calls on the line at which a frame is, in the order in which they are made."""
        async with in_frame(self._debuggee, "step_targets", frame_id, thread_id) as (adapter, frame):
            return msgspec.convert({"frame_id": frame_id, **await adapter.control.step_targets(frame)}, StepTargets)

    async def step_until(
        self, expression: str, kind: str = "over", max_steps: int = STEPS_UNTIL, timeout: float | None = None,
        thread_id: int | None = None, fields: list[str] | None = None, budget: int | None = None,
    ) -> SteppedUntil:
        """Step until an expression is true.

        When the time is up the program is paused where it is: this call leaves nothing that goes on by itself."""
        check_fields(fields)
        call_patience.set(UNENDING)  # the program would be paused when whoever called has gone
        prepared = await self._prepare_steps("step_until", thread_id, most=max_steps, until=expression)
        seconds = timeout or self._execution.default_wait
        refuse_expression(prepared, expression, seconds, "step-until")
        shown: ReportWish = {"fields": fields, "budget": budget}
        answer = await self._run_steps(f"step_{kind}", prepared["token"], thread_id, wait=seconds, **shown)
        timed_out = answer.timed_out is not UNSET
        done = await self._adapter.control.journey(prepared["token"], end=True)
        if timed_out:
            try:
                answer = await self._pausing.pause(wait=PAUSE_PATIENCE, fields=fields, budget=budget)
            except RelayError:  # it has just stopped or ended
                answer = await self._execution.report_now(fields=fields, budget=budget)
            done = await self._adapter.control.journey(prepared["token"], end=True) or done
        met, error = bool(done.get("met")), done.get("error") or UNSET
        more = {"timed_out": True} if timed_out else {}
        return extended(answer, SteppedUntil, condition_met=met, steps=done.get("steps"), error=error, **more)

    async def _prepare_steps(self, operation: str, thread_id: int | None, **wishes: Any) -> JourneyStart:
        async with in_frame(self._debuggee, operation, 0, thread_id) as (adapter, frame):
            return await adapter.control.set_out(frame, **wishes)

    async def _run_steps(self, operation: str, token: int, thread_id: int | None, **options: Any) -> StopReport:
        try:
            return await self._execution.take_step(operation, thread_id, **options)
        except RelayError:
            await self._adapter.control.journey(token, end=True)
            raise

    # Running to a line.

    async def run_to(
        self, line: int | None = None, path: str | None = None, relative_ok: bool = False, text: str | None = None,
        occurrence: int | None = None, **wish: Unpack[ReportWish],
    ) -> RanTo:
        check_fields(wish.get("fields"))
        place = self._debuggee.require_stop("run_to").location
        if path:
            path = self._debuggee.breakpoints.resolve_path(path, "file" if relative_ok else "source.path")
        path = path or (place.path if place else None)
        if path is None:
            raise invalid_parameter("line", str(line), "The program is not in a file now", "Give a file as well")
        if path.startswith("<"):
            message = f"{path} is no file: a run can go to lines of files only"
            raise RelayError("NOT_SUPPORTED", message, suggestion=advice("Use {step_until}, or step-over with count"))
        if text is not None:
            line = await find_line(path, text, occurrence, self._adapter)
        (draft,) = await self._debuggee.breakpoints.check_drafts([{"path": path, "line": line}], True, self._adapter)
        run, leaving = await self._run_to_line(draft.path, draft.line)
        answer = await self._execution.report_wish(run, self._execution.default_wait, **wish)
        if run.outcome is not None:
            await asyncio.wait([leaving])
        is_reached, outcome = False, run.outcome
        if isinstance(outcome, Stop) and outcome.location and outcome.reason in ("run_to", "breakpoint"):
            is_reached = (os.path.realpath(outcome.location.path or ""), outcome.location.line) == draft.key
        target = TargetLine(path=draft.path, line=draft.line)
        return extended(answer, RanTo, target=target, reached=is_reached)

    async def _run_to_line(self, path: str, line: int) -> tuple[Run, asyncio.Task[None]]:
        """Run with a temporary stop on the line, forgotten when the run is over, however it ends and whoever waits."""
        async with self._placement.change_lock:
            await self._adapter.control.visit(path, line)
        try:
            run = await self._execution.resume_program()
        except BaseException:
            await self._forget_line(path, line)
            raise
        leaving = asyncio.get_running_loop().create_task(self._forget_line(path, line, run))
        self._removals.add(leaving)
        leaving.add_done_callback(self._removals.discard)
        return run, leaving

    async def _forget_line(self, path: str, line: int, run: Run | None = None) -> None:
        if run is not None:
            await run.wait_for_outcome(FOREVER)
        async with self._placement.change_lock:
            with contextlib.suppress(RelayError):  # the program is gone, and the line with it
                await self._adapter.control.leave(path, line)
