"""Looking at a paused program: threads, stack, scopes, variables, expressions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

from ..adapters.base import Adapter
from ..errors import RelayError
from .debuggee import Debuggee
from .state import ENDED, State
from .stops import Stop

DEFAULT_COUNT = 100
VALUE_BUDGET = 100_000
RESULT_LIMIT = 20_000


async def threads(debuggee: Debuggee) -> dict[str, Any]:
    debuggee.require("threads")
    listed = await debuggee.require_adapter().threads()
    stop = debuggee.stop
    status = str(State.PAUSED if debuggee.state is State.PAUSED else State.RUNNING)
    current = stop.thread_id if stop else None
    return {
        "threads": [
            {"id": thread["id"], "name": thread["name"], "status": status, "is_current": thread["id"] == current}
            for thread in listed
        ],
        "stopped_thread_id": current,
    }


async def require_thread(debuggee: Debuggee, thread_id: int) -> None:
    known = await debuggee.require_adapter().threads()
    if not any(thread["id"] == thread_id for thread in known):
        raise RelayError("THREAD_NOT_FOUND", f"Thread {thread_id} does not exist", thread_id=thread_id)


async def frames_of(debuggee: Debuggee, operation: str, thread_id: int | None) -> tuple[Stop, list[dict[str, Any]]]:
    """The stop and the stack of one of its threads, as debuggers describe frames."""
    stop = debuggee.require_stop(operation)
    if thread_id is None or thread_id == stop.thread_id:
        return stop, stop.frames
    if thread_id not in stop.stacks:
        await require_thread(debuggee, thread_id)
        stop.stacks[thread_id] = await debuggee.require_adapter().stack(thread_id)
    if debuggee.stop is not stop:
        raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
    return stop, stop.stacks[thread_id]


@contextlib.asynccontextmanager
async def in_frame(
    debuggee: Debuggee, operation: str, frame_id: int, thread_id: int | None
) -> AsyncIterator[tuple[Adapter, int]]:
    """The debugger and its own id of a frame. What fails because the program went on meanwhile is told as that."""
    stop, frames = await frames_of(debuggee, operation, thread_id)
    if frame_id >= len(frames):
        raise RelayError(
            "FRAME_NOT_FOUND",
            f"Frame {frame_id} does not exist: the stack has {len(frames)} frames",
            frame_id=frame_id,
            total_frames=len(frames),
        )
    try:
        yield debuggee.require_adapter(), frames[frame_id]["id"]
    except RelayError as error:
        if debuggee.stop is stop or debuggee.state in ENDED:
            raise
        raise RelayError("FRAME_NOT_FOUND", "The program has moved on", frame_id=frame_id) from error


async def stack_trace(
    debuggee: Debuggee, thread_id: int | None = None, start_frame: int = 0, levels: int = 20
) -> dict[str, Any]:
    stop, frames = await frames_of(debuggee, "stack_trace", thread_id)
    shown = frames[start_frame : start_frame + levels] if levels else frames[start_frame:]
    return {
        "thread_id": thread_id or stop.thread_id,
        "frames": [describe_frame(debuggee, frame, start_frame + index) for index, frame in enumerate(shown)],
        "total_frames": len(frames),
    }


def describe_frame(debuggee: Debuggee, frame: dict[str, Any], index: int) -> dict[str, Any]:
    path = (frame.get("source") or {}).get("path")
    return {
        "id": index,
        "name": frame["name"],
        "source": {"path": path, "name": os.path.basename(path) if path else None},
        "line": frame["line"],
        "column": frame["column"],
        "module_name": debuggee.modules.get(path or ""),
        "presentation_hint": frame.get("presentationHint") or "normal",
    }


async def scopes(debuggee: Debuggee, frame_id: int = 0, thread_id: int | None = None) -> dict[str, Any]:
    async with in_frame(debuggee, "scopes", frame_id, thread_id) as (adapter, frame):
        return {"frame_id": frame_id, "scopes": await adapter.scopes(frame)}


async def variables(
    debuggee: Debuggee,
    variables_reference: int,
    start: int = 0,
    count: int | None = None,
    filter: str | None = None,
) -> dict[str, Any]:
    async with in_frame(debuggee, "variables", 0, None) as (adapter, frame):
        answer = await adapter.children(
            frame, variables_reference, start, count or DEFAULT_COUNT, filter, VALUE_BUDGET
        )
    if answer.get("missing"):
        raise RelayError(
            "VARIABLE_NOT_FOUND",
            f"Variables reference {variables_reference} does not exist any more",
            variables_reference=variables_reference,
        )
    return answer


async def frame_variables(
    debuggee: Debuggee,
    frame_id: int = 0,
    thread_id: int | None = None,
    start: int = 0,
    count: int | None = None,
    summary: bool = False,
) -> dict[str, Any]:
    """The locals of a frame in one call."""
    async with in_frame(debuggee, "frame_variables", frame_id, thread_id) as (adapter, frame):
        answer = await adapter.locals(frame, start, count or DEFAULT_COUNT, VALUE_BUDGET)
    if summary:
        for variable in answer["variables"]:
            variable.pop("value")
    return {"frame_id": frame_id, **answer}


async def evaluate(
    debuggee: Debuggee,
    expression: str,
    timeout: float,
    frame_id: int = 0,
    thread_id: int | None = None,
    context: str = "repl",
) -> dict[str, Any]:
    async with in_frame(debuggee, "evaluate", frame_id, thread_id) as (adapter, frame):
        answer = await adapter.evaluate(frame, expression, context, RESULT_LIMIT, timeout)
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
            operation="evaluate",
            timeout=timeout,
            interrupted=True,
        )
    return answer
