"""Looking at a paused program: threads, stack, scopes, variables, expressions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from ...answers import inspection as answers
from ...answers.shape import UNSET, unless_none
from ...debuggers.shapes import Frames, StackPage
from ...errors import RelayError
from ...operations.states import ENDED
from ...wording import counted
from ..execution.stops import Stop, frame_path, own_frame
from ..lifecycle.debuggee import Debuggee
from .threads_and_tasks import require_halted, runs_now

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter
    from ...debuggers.rows import EvaluationRow, FrameRow, JourneyStart, PageWish, SyntaxProblem, VariablePage

VALUE_BUDGET = 100_000
RESULT_LIMIT = 20_000
MOST_FRAMES = 10_000
"""in one answer"""


async def frames_of(debuggee: Debuggee, operation: str, thread_id: int | None) -> tuple[Stop, Frames]:
    """Return the stop and the stack of one of its threads, as debuggers describe frames."""
    stop = debuggee.require_stop(operation)
    thread_id = stop.thread_id if thread_id is None else thread_id
    frames = debuggee.stacks.get(thread_id)
    if frames is None:
        before = debuggee.change_count
        await require_halted(debuggee, thread_id)
        frames = await debuggee.require_adapter().inspection.stack(thread_id)
        if debuggee.change_count != before:
            raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
        frames = debuggee.remember_stack(thread_id, frames)
    return debuggee.stops.get(thread_id, stop), frames


def choose_frame(debuggee: Debuggee, frame_id: int | None, thread_id: int | None) -> int:
    """Return the frame that was named, or the one in focus, which reports are about."""
    stop = debuggee.stop if thread_id is None else debuggee.stops.get(thread_id)
    return frame_id if frame_id is not None else stop.focus_frame if stop else 0


@contextlib.asynccontextmanager
async def in_frame(
    debuggee: Debuggee, operation: str, frame_id: int | None, thread_id: int | None
) -> AsyncIterator[tuple[Adapter, int]]:
    """Give the debugger and its own id of a frame. Tell a failure as "moved on" if the program went on meanwhile."""
    stop, frames = await frames_of(debuggee, operation, thread_id)
    frame_id = choose_frame(debuggee, frame_id, thread_id)
    thread_id = stop.thread_id if thread_id is None else thread_id
    page = await _stack_page(debuggee, thread_id, frames, frame_id, 1)
    if not page.frames:
        raise _no_frame(frame_id, f"the stack has {counted(page.total, 'frame')}", page.total)
    try:
        yield debuggee.require_adapter(), page.frames[0]["id"]
    except RelayError as error:
        if debuggee.is_at(thread_id, frames) or debuggee.state in ENDED:
            raise
        raise RelayError("FRAME_NOT_FOUND", "The program has moved on", frame_id=frame_id) from error


@contextlib.asynccontextmanager
async def in_task(
    debuggee: Debuggee, operation: str, frame_id: int | None, task_id: int
) -> AsyncIterator[tuple[Adapter, int]]:
    """Give the same in a task, whichever thread the program is stopped in; without a frame_id its first own frame."""
    debuggee.require_stop(operation)
    adapter = debuggee.require_adapter()
    _, frames = await adapter.tasks_and_locks.task_stack(task_id)
    frame_id = own_frame(frames) if frame_id is None else frame_id
    if frame_id >= len(frames):
        raise _no_frame(frame_id, f"the task has {len(frames)} frames", len(frames))
    yield adapter, frames[frame_id]["id"]


def _no_frame(frame_id: int, why: str, total: int) -> RelayError:
    message = f"Frame {frame_id} does not exist: {why}"
    return RelayError("FRAME_NOT_FOUND", message, frame_id=frame_id, total_frames=total)


def in_frame_or_task(
    debuggee: Debuggee, operation: str, frame_id: int | None, thread_id: int | None, task_id: int | None
) -> contextlib.AbstractAsyncContextManager[tuple[Adapter, int]]:
    if task_id is not None:
        return in_task(debuggee, operation, frame_id, task_id)
    return in_frame(debuggee, operation, frame_id, thread_id)


@dataclass(eq=False)
class Inspection:
    """Answers questions about stacks, scopes, variables and expressions."""

    _debuggee: Debuggee
    _default_timeout: float

    async def stack_trace(
        self, thread_id: int | None = None, start_frame: int = 0, levels: int = 20, task_id: int | None = None
    ) -> answers.StackTrace:
        """Return the stack of a thread; if it runs, where it was when it was asked."""
        running = task_id is None and thread_id is not None and await runs_now(self._debuggee, thread_id)
        levels = levels or MOST_FRAMES
        if task_id is not None:
            self._debuggee.require_state("tasks")
            thread_id, frames = await self._debuggee.require_adapter().tasks_and_locks.task_stack(task_id)
            page = StackPage(frames[start_frame : start_frame + levels], len(frames), True)
        elif thread_id is not None and running:
            frames = await self._debuggee.require_adapter().inspection.look(thread_id)
            page = StackPage(frames[start_frame : start_frame + levels], len(frames), True)
        else:
            stop, frames = await frames_of(self._debuggee, "stack_trace", thread_id)
            thread_id = stop.thread_id if thread_id is None else thread_id
            page = await _stack_page(self._debuggee, thread_id, frames, start_frame, levels)
        shown = [describe_frame(self._debuggee, frame, at) for at, frame in enumerate(page.frames, start_frame)]
        deep = UNSET if page.is_counted else True
        trace = answers.StackTrace(thread_id=thread_id, frames=shown, total_frames=page.total, has_more=deep)
        return replace(trace, running=running or UNSET, task_id=unless_none(task_id))

    async def scopes(self, frame_id: int | None = None, thread_id: int | None = None) -> answers.ScopeList:
        frame_id = choose_frame(self._debuggee, frame_id, thread_id)
        async with in_frame(self._debuggee, "scopes", frame_id, thread_id) as (adapter, frame):
            scopes = msgspec.convert(await adapter.inspection.scopes(frame), list[answers.VariableScope])
        return answers.ScopeList(frame_id=frame_id, scopes=scopes)

    async def variables(self, variables_reference: int, **page: Any) -> answers.VariableList:
        return msgspec.convert(await self._page_under(variables_reference, **page), answers.VariableList)

    async def children(self, variables_reference: int, **page: Any) -> answers.ChildList:
        """Return the same with the rows under the name that goes with offset and limit."""
        found = await self._page_under(variables_reference, **page)
        return msgspec.convert({**found, "items": found["variables"]}, answers.ChildList)

    async def _page_under(
        self, variables_reference: int, frame_id: int = 0, thread_id: int | None = None, **page: Any
    ) -> VariablePage:
        """Return a page of what is under a reference; `page` may have start, count, filter, name, summary and
        budget."""
        async with in_frame(self._debuggee, "variables", frame_id, thread_id) as (adapter, frame):
            found = await adapter.inspection.children(frame, variables_reference, bounded(page))
        if found.get("missing"):
            raise reference_gone(variables_reference)
        return found

    async def frame_variables(
        self, frame_id: int = 0, thread_id: int | None = None, task_id: int | None = None, **page: Any
    ) -> answers.FrameVariables:
        """Return the locals of a frame in one call, a page as in `variables`."""
        place = in_frame_or_task(self._debuggee, "frame_variables", frame_id, thread_id, task_id)
        async with place as (adapter, frame):
            found = await adapter.inspection.locals(frame, bounded(page))
        return msgspec.convert({"frame_id": frame_id, **found}, answers.FrameVariables)

    async def evaluate(
        self, expression: str, frame_id: int | None = None, thread_id: int | None = None, context: str = "repl",
        task_id: int | None = None, timeout: float | None = None,
    ) -> answers.Evaluation:
        timeout = timeout or self._default_timeout
        async with in_frame_or_task(self._debuggee, "evaluate", frame_id, thread_id, task_id) as (adapter, frame):
            found = await adapter.inspection.evaluate(frame, expression, context, RESULT_LIMIT, timeout)
            refuse_expression(found, expression, timeout, "evaluate")
            if context in ("watch", "hover"):
                found["has_side_effects"] = adapter.inspection.has_side_effects(expression)
        return msgspec.convert(found, answers.Evaluation)


async def _stack_page(debuggee: Debuggee, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
    """Return some frames of a stack: an endless recursion has very many, and most were not fetched."""
    page = await debuggee.require_adapter().inspection.stack_page(thread_id, frames, start, levels)
    if not debuggee.is_at(thread_id, frames):
        raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
    return page


def bounded(page: dict[str, Any]) -> PageWish:
    """Return the wish for a page with a limit on all that it has."""
    return cast("PageWish", {**page, "limit_total": VALUE_BUDGET})


def describe_frame(debuggee: Debuggee, frame: FrameRow, index: int) -> answers.Frame:
    path = frame_path(frame)
    source = answers.FrameSource(path=path, name=os.path.basename(path) if path else None)
    module = debuggee.modules.get(os.path.realpath(path)) if path else None
    return answers.Frame(
        id=index, name=frame["name"], source=source, line=frame["line"], column=frame["column"], module_name=module,
        presentation_hint=frame.get("presentationHint") or "normal",
    )


def syntax_error(problem: SyntaxProblem, expression: str, **more: Any) -> RelayError:
    more |= {"error_message": problem["message"], "offset": problem["offset"], "text": problem["text"]}
    return RelayError("EVALUATE_ERROR", f"SyntaxError: {problem['message']}", expression=expression[:1000], **more)


def reference_gone(variables_reference: int) -> RelayError:
    message = f"Variables reference {variables_reference} does not exist any more"
    return RelayError("VARIABLE_NOT_FOUND", message, variables_reference=variables_reference)


def refuse_expression(answer: EvaluationRow | JourneyStart, expression: str, timeout: float, operation: str) -> None:
    """Raise for an expression that does not parse, or does not end; one that raises is an answer."""
    if problem := answer.get("syntax_error"):
        raise syntax_error(problem, expression, line=problem["line"])
    if answer.get("timed_out"):
        message = f"The expression ran longer than {timeout:g} s and was interrupted"
        raise RelayError("DEBUGPY_TIMEOUT", message, operation=operation, timeout=timeout, interrupted=True)
