"""Going further in one call: several steps, steps until something is so, into a chosen call, to a line."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any

from ..adapters.base import Adapter
from ..errors import RelayError, invalid_parameter
from .breakpoints import Breakpoint
from .by_text import find_line
from .debuggee import Debuggee
from .execution import Execution, Wait
from .inspection import in_frame, refuse_expression
from .patience import UNENDING, of_this_call
from .pausing import PAUSE_PATIENCE, Pausing
from .placement import Placement
from .report import check_fields
from .run import Run
from .state import State
from .stops import Outcome, Stop

STEPS_UNTIL = 1000
FOREVER = 10 * 365 * 86400.0


class Travel:
    def __init__(
        self, debuggee: Debuggee, adapter: Adapter, execution: Execution, pausing: Pausing, placement: Placement
    ) -> None:
        self._debuggee = debuggee
        self._adapter = adapter
        self._execution = execution
        self._pausing = pausing
        self._placement = placement
        self._leaving: set[asyncio.Task[None]] = set()

    # Steps that go on by themselves inside the program, and what came of them.

    async def step(
        self,
        operation: str,
        count: int = 1,
        target: str | int | None = None,
        thread_id: int | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        if target is not None:
            return await self._step_into(target, thread_id, **options)
        if count == 1:
            return await self._execution.step(operation, thread_id, **options)
        check_fields(options.get("fields"))
        journey = await self._set_out(operation, thread_id, most=count)
        answer = await self._go(operation, journey["token"], thread_id, **options)
        done = await self._adapter.journey(journey["token"], end=self._debuggee.state is not State.RUNNING)
        return {**answer, "steps": done.get("steps")}

    async def _step_into(self, target: str | int, thread_id: int | None, **options: Any) -> dict[str, Any]:
        check_fields(options.get("fields"))
        journey = await self._set_out("step_into", thread_id, target=target)
        if journey.get("unknown"):
            raise _unknown_target(target, journey["targets"])
        answer = await self._go("step_into", journey["token"], thread_id, **options)
        done = await self._adapter.journey(journey["token"], end=self._debuggee.state is not State.RUNNING)
        return {**answer, "target": journey["target"], "target_reached": bool(done.get("met"))}

    async def step_targets(self, frame_id: int = 0, thread_id: int | None = None) -> dict[str, Any]:
        """The calls on the line at which a frame is, in the order in which they are made."""
        async with in_frame(self._debuggee, "step_targets", frame_id, thread_id) as (adapter, frame):
            return {"frame_id": frame_id, **await adapter.step_targets(frame)}

    async def step_until(
        self,
        expression: str,
        kind: str = "over",
        max_steps: int = STEPS_UNTIL,
        timeout: float | None = None,
        thread_id: int | None = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        """When the time is up the program is paused where it is: this call leaves nothing that goes on by itself."""
        check_fields(fields)
        of_this_call.set(UNENDING)  # the program would be paused when whoever called has gone
        operation = f"step_{kind}"
        journey = await self._set_out("step_until", thread_id, most=max_steps, until=expression)
        seconds = timeout or self._execution.seconds(True, 0)
        refuse_expression(journey, expression, seconds, "step-until")
        answer = await self._go(operation, journey["token"], thread_id, wait=seconds, fields=fields, budget=budget)
        timed_out = bool(answer.get("timed_out"))
        done = await self._adapter.journey(journey["token"], end=True)
        if timed_out:
            answer = await self._halt(fields, budget)
            done = await self._adapter.journey(journey["token"], end=True) or done
        answer |= {"condition_met": bool(done.get("met")), "steps": done.get("steps")}
        if timed_out:
            answer["timed_out"] = True
        if done.get("error"):
            answer["error"] = done["error"]
        return answer

    async def _halt(self, fields: list[str] | None, budget: int | None) -> dict[str, Any]:
        """The report of wherever it is, paused if it can be."""
        with contextlib.suppress(RelayError):  # it has just stopped or ended
            return await self._pausing.pause(wait=PAUSE_PATIENCE, fields=fields, budget=budget)
        return await self._execution.report(fields=fields, budget=budget)

    async def _set_out(self, operation: str, thread_id: int | None, **journey: Any) -> dict[str, Any]:
        async with in_frame(self._debuggee, operation, 0, thread_id) as (adapter, frame):
            return await adapter.set_out(frame, **journey)

    async def _go(self, operation: str, token: int, thread_id: int | None, **options: Any) -> dict[str, Any]:
        try:
            return await self._execution.step(operation, thread_id, **options)
        except RelayError:
            await self._adapter.journey(token, end=True)
            raise

    # To a line.

    async def run_to(
        self,
        line: int | None = None,
        path: str | None = None,
        relative_ok: bool = False,
        text: str | None = None,
        occurrence: int | None = None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        check_fields(fields)
        place = self._debuggee.require_stop("run_to").location
        if path:
            path = self._debuggee.breakpoints.resolve(path, "file" if relative_ok else "source.path")
        path = path or (place or {}).get("path")
        if path is None:
            raise invalid_parameter("line", str(line), "The program is not in a file now", "Give a file as well")
        if path.startswith("<"):
            raise RelayError(
                "NOT_SUPPORTED",
                f"{path} is no file: a run can go to lines of files only",
                suggestion="Use POST /sessions/{id}/step-until, or step-over with count",
            )
        if text is not None:
            line = await find_line(path, text, occurrence, self._adapter)
        (draft,) = await self._debuggee.breakpoints.check([{"path": path, "line": line}], True, self._adapter)
        run, leaving = await self._run_with_visit(draft.path, draft.line)
        seconds = self._execution.seconds(wait, self._execution.seconds(True, 0))
        answer = await self._execution.answer(run, seconds, fields, budget)
        if run.outcome is not None:
            await asyncio.wait([leaving])
        return {**answer, "target": {"path": draft.path, "line": draft.line}, "reached": _is_at(run.outcome, draft)}

    async def _run_with_visit(self, path: str, line: int) -> tuple[Run, asyncio.Task[None]]:
        """The line is forgotten when the run is over, however it ends and whoever waits for that."""
        async with self._placement.changing:
            await self._adapter.visit(path, line)
        try:
            run = await self._execution.go_on()
        except BaseException:
            await self._leave(path, line)
            raise
        leaving = asyncio.get_running_loop().create_task(self._leave(path, line, run))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return run, leaving

    async def _leave(self, path: str, line: int, run: Run | None = None) -> None:
        if run is not None:
            await run.wait(FOREVER)
        async with self._placement.changing:
            with contextlib.suppress(RelayError):  # the program is gone, and the line with it
                await self._adapter.leave(path, line)


def _is_at(outcome: Outcome | None, draft: Breakpoint) -> bool:
    if not isinstance(outcome, Stop) or outcome.location is None or outcome.reason not in ("run_to", "breakpoint"):
        return False
    return (os.path.realpath(outcome.location["path"] or ""), outcome.location["line"]) == draft.key


def _unknown_target(target: str | int, targets: list[dict[str, Any]]) -> RelayError:
    name = "target_id" if isinstance(target, int) else "target"
    known = ", ".join(each["name"] for each in targets)
    message = f"The line calls nothing that is called {target!r}" if targets else "The line calls nothing"
    suggestion = (
        f"Choose one of details.targets: {known}" if targets else "Use step-into without a target, or step-over"
    )
    return invalid_parameter(name, str(target), message, suggestion[:500], targets=targets)
