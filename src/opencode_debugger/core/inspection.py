"""Looking at a paused program: threads, stack, scopes, variables, expressions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

from ..adapters.base import Adapter, Frames, StackPage
from ..errors import RelayError
from ..wording import counted
from .debuggee import Debuggee
from .state import ENDED
from .stops import Stop, own_frame
from .threads import require_halted, runs_now

VALUE_BUDGET = 100_000
RESULT_LIMIT = 20_000
MOST_FRAMES = 10_000
"""in one answer"""


async def frames_of(debuggee: Debuggee, operation: str, thread_id: int | None) -> tuple[Stop, list[dict[str, Any]]]:
    """The stop and the stack of one of its threads, as debuggers describe frames."""
    stop = debuggee.require_stop(operation)
    thread_id = stop.thread_id if thread_id is None else thread_id
    frames = debuggee.stacks.get(thread_id)
    if frames is None:
        before = debuggee.changes
        await require_halted(debuggee, thread_id)
        frames = await debuggee.require_adapter().stack(thread_id)
        if debuggee.changes != before:
            raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
        frames = debuggee.stacks.setdefault(thread_id, frames)
    return debuggee.stops.get(thread_id, stop), frames


def chosen_frame(debuggee: Debuggee, frame_id: int | None, thread_id: int | None) -> int:
    """The frame that was named, or the one in focus, which reports are about."""
    stop = debuggee.stop if thread_id is None else debuggee.stops.get(thread_id)
    return frame_id if frame_id is not None else stop.focus if stop else 0


@contextlib.asynccontextmanager
async def in_frame(
    debuggee: Debuggee, operation: str, frame_id: int | None, thread_id: int | None
) -> AsyncIterator[tuple[Adapter, int]]:
    """The debugger and its own id of a frame. What fails because the program went on meanwhile is told as that."""
    stop, frames = await frames_of(debuggee, operation, thread_id)
    frame_id = chosen_frame(debuggee, frame_id, thread_id)
    thread_id = stop.thread_id if thread_id is None else thread_id
    page = await _page(debuggee, thread_id, frames, frame_id, 1)
    if not page.frames:
        raise RelayError(
            "FRAME_NOT_FOUND",
            f"Frame {frame_id} does not exist: the stack has {counted(page.total, 'frame')}",
            frame_id=frame_id,
            total_frames=page.total,
        )
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
    """The same in a task, whichever thread the program is stopped in; without a frame_id its first own frame."""
    debuggee.require_stop(operation)
    adapter = debuggee.require_adapter()
    _, frames = await adapter.task_stack(task_id)
    frame_id = own_frame(frames) if frame_id is None else frame_id
    if frame_id >= len(frames):
        raise RelayError(
            "FRAME_NOT_FOUND",
            f"Frame {frame_id} does not exist: the task has {len(frames)} frames",
            frame_id=frame_id,
            total_frames=len(frames),
        )
    yield adapter, frames[frame_id]["id"]


def looked_into(
    debuggee: Debuggee, operation: str, frame_id: int | None, thread_id: int | None, task_id: int | None
) -> contextlib.AbstractAsyncContextManager[tuple[Adapter, int]]:
    if task_id is not None:
        return in_task(debuggee, operation, frame_id, task_id)
    return in_frame(debuggee, operation, frame_id, thread_id)


async def stack_trace(
    debuggee: Debuggee,
    thread_id: int | None = None,
    start_frame: int = 0,
    levels: int = 20,
    task_id: int | None = None,
) -> dict[str, Any]:
    """Of a thread that runs too: where it was when it was asked."""
    running = task_id is None and thread_id is not None and await runs_now(debuggee, thread_id)
    levels = levels or MOST_FRAMES
    if task_id is not None:
        debuggee.require("tasks")
        thread_id, frames = await debuggee.require_adapter().task_stack(task_id)
        page = StackPage(frames[start_frame : start_frame + levels], len(frames), True)
    elif thread_id is not None and running:
        frames = await debuggee.require_adapter().look(thread_id)
        page = StackPage(frames[start_frame : start_frame + levels], len(frames), True)
    else:
        stop, frames = await frames_of(debuggee, "stack_trace", thread_id)
        thread_id = stop.thread_id if thread_id is None else thread_id
        page = await _page(debuggee, thread_id, frames, start_frame, levels)
    return {
        "thread_id": thread_id,
        "frames": [describe_frame(debuggee, frame, start_frame + index) for index, frame in enumerate(page.frames)],
        "total_frames": page.total,
        **({} if page.is_counted else {"has_more": True}),
        **({"running": True} if running else {}),
        **({} if task_id is None else {"task_id": task_id}),
    }


async def _page(debuggee: Debuggee, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
    """Some frames of a stack: of one that went wrong there are very many, and most were not fetched."""
    page = await debuggee.require_adapter().stack_page(thread_id, frames, start, levels)
    if not debuggee.is_at(thread_id, frames):
        raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
    return page


def describe_frame(debuggee: Debuggee, frame: dict[str, Any], index: int) -> dict[str, Any]:
    path = (frame.get("source") or {}).get("path")
    return {
        "id": index,
        "name": frame["name"],
        "source": {"path": path, "name": os.path.basename(path) if path else None},
        "line": frame["line"],
        "column": frame["column"],
        "module_name": debuggee.modules.get(os.path.realpath(path)) if path else None,
        "presentation_hint": frame.get("presentationHint") or "normal",
    }


async def scopes(debuggee: Debuggee, frame_id: int | None = None, thread_id: int | None = None) -> dict[str, Any]:
    frame_id = chosen_frame(debuggee, frame_id, thread_id)
    async with in_frame(debuggee, "scopes", frame_id, thread_id) as (adapter, frame):
        return {"frame_id": frame_id, "scopes": await adapter.scopes(frame)}


async def variables(
    debuggee: Debuggee, variables_reference: int, frame_id: int = 0, thread_id: int | None = None, **page: Any
) -> dict[str, Any]:
    """A page of what is under a reference; `page` may have start, count, filter, name, summary and budget."""
    async with in_frame(debuggee, "variables", frame_id, thread_id) as (adapter, frame):
        answer = await adapter.children(frame, variables_reference, {**page, "limit_total": VALUE_BUDGET})
    if answer.get("missing"):
        raise reference_gone(variables_reference)
    return answer


def reference_gone(variables_reference: int) -> RelayError:
    return RelayError(
        "VARIABLE_NOT_FOUND",
        f"Variables reference {variables_reference} does not exist any more",
        variables_reference=variables_reference,
    )


async def children(debuggee: Debuggee, variables_reference: int, **page: Any) -> dict[str, Any]:
    """The same, with the rows under the name that goes with offset and limit."""
    answer = await variables(debuggee, variables_reference, **page)
    return {"items": answer.pop("variables"), **answer}


async def frame_variables(
    debuggee: Debuggee, frame_id: int = 0, thread_id: int | None = None, task_id: int | None = None, **page: Any
) -> dict[str, Any]:
    """The locals of a frame in one call, a page as of `variables`."""
    async with looked_into(debuggee, "frame_variables", frame_id, thread_id, task_id) as (adapter, frame):
        answer = await adapter.locals(frame, {**page, "limit_total": VALUE_BUDGET})
    return {"frame_id": frame_id, **answer}


async def evaluate(
    debuggee: Debuggee,
    expression: str,
    timeout: float,
    frame_id: int | None = None,
    thread_id: int | None = None,
    context: str = "repl",
    task_id: int | None = None,
) -> dict[str, Any]:
    async with looked_into(debuggee, "evaluate", frame_id, thread_id, task_id) as (adapter, frame):
        answer = await adapter.evaluate(frame, expression, context, RESULT_LIMIT, timeout)
        refuse_expression(answer, expression, timeout, "evaluate")
        if context in ("watch", "hover"):
            answer["has_side_effects"] = adapter.has_side_effects(expression)
    return answer


def refuse_expression(answer: dict[str, Any], expression: str, timeout: float, operation: str) -> None:
    """What does not parse, or does not end, is an error; what raises is an answer."""
    problem = answer.get("syntax_error")
    if problem:
        raise RelayError(
            "EVALUATE_ERROR",
            f"SyntaxError: {problem['message']}",
            expression=expression[:1000],
            error_message=problem["message"],
            line=problem["line"],
            offset=problem["offset"],
            text=problem["text"],
        )
    if answer.get("timed_out"):
        raise RelayError(
            "DEBUGPY_TIMEOUT",
            f"The expression ran longer than {timeout:g} s and was interrupted",
            operation=operation,
            timeout=timeout,
            interrupted=True,
        )
