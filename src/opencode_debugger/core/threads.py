"""The program's threads and tasks: which there are, which of them run, where they are."""

from __future__ import annotations

from typing import Any

from ..errors import RelayError
from .debuggee import Debuggee
from .state import LIVE, State
from .stops import location

TRIES = 3

Rows = list[dict[str, Any]]
"""as adapters describe threads"""


async def find_thread(debuggee: Debuggee, thread_id: int | None) -> Rows:
    """Every thread; the one that is named must be among them."""
    rows = await debuggee.require_adapter().threads()
    if thread_id is not None and not any(row["id"] == thread_id for row in rows):
        raise RelayError("THREAD_NOT_FOUND", f"Thread {thread_id} does not exist", thread_id=thread_id)
    return rows


def is_paused(debuggee: Debuggee, row: dict[str, Any]) -> bool:
    """Halted, or, where threads stop together, about to be: in a call that it is busy with it can be looked at."""
    if debuggee.state is not State.PAUSED:
        return False
    return bool(row["marked"] if debuggee.stop_scope == "all" else row["halted"])


async def require_halted(debuggee: Debuggee, thread_id: int) -> Rows:
    """All threads, if this one is halted."""
    rows = await find_thread(debuggee, thread_id)
    row = next(row for row in rows if row["id"] == thread_id)
    if debuggee.state is State.PAUSED and not is_paused(debuggee, row):
        raise runs(thread_id)
    return rows


async def runs_now(debuggee: Debuggee, thread_id: int) -> bool:
    if debuggee.state not in LIVE or thread_id in debuggee.stacks:
        return False
    row = next(row for row in await find_thread(debuggee, thread_id) if row["id"] == thread_id)
    return debuggee.state in LIVE and not is_paused(debuggee, row)


def runs(thread_id: int) -> RelayError:
    return RelayError(
        "INVALID_SESSION_STATE",
        f"Thread {thread_id} is running",
        thread_id=thread_id,
        current_state=str(State.RUNNING),
        required_state=str(State.PAUSED),
        suggestion=f'Pause it with POST /sessions/{{id}}/pause {{"thread_id": {thread_id}}}',
    )


async def overview(debuggee: Debuggee) -> Rows:
    """Every thread as clients see it: id, name, status, location of those that are paused, is_current."""
    debuggee.require("threads")
    for _ in range(TRIES):
        before = debuggee.changes
        rows = await debuggee.require_adapter().threads()
        if debuggee.changes == before:
            break
    return [_shown(debuggee, row) for row in rows]


def _shown(debuggee: Debuggee, row: dict[str, Any]) -> dict[str, Any]:
    stop, own = debuggee.stop, debuggee.stops.get(row["id"])
    paused = own is not None or is_paused(debuggee, row)
    shown = {
        "id": row["id"],
        "name": row["name"],
        "status": str(State.PAUSED if paused else State.RUNNING),
        "is_current": stop is not None and row["id"] == stop.thread_id,
    }
    if own is not None:
        shown["location"] = own.location
    elif paused and row["top"]:
        shown["location"] = location(row["top"])
    return shown


def in_short(rows: Rows) -> Rows:
    """As the session's status shows them."""
    return [
        {("thread_id" if name == "id" else name): row[name] for name in row if name != "is_current"} for row in rows
    ]


async def threads(debuggee: Debuggee) -> dict[str, Any]:
    rows = await overview(debuggee)
    stop = debuggee.stop
    return {"threads": rows, "stopped_thread_id": stop.thread_id if stop else None}


def stopped_threads(debuggee: Debuggee, rows: Rows) -> Rows:
    """Those that stand at a stop of their own, in the order in which they came there."""
    names = {row["id"]: row["name"] for row in rows}
    return [
        {
            "thread_id": stop.thread_id,
            "name": names.get(stop.thread_id),
            "breakpoint_id": next(iter(stop.hit_ids), None),
            "reason": stop.reason,
            "location": stop.location,
        }
        for stop in debuggee.stops.values()
    ]


async def locks(debuggee: Debuggee) -> dict[str, Any]:
    """Who waits for whom, among threads and tasks."""
    debuggee.require("locks")
    return await debuggee.require_adapter().locks()


async def tasks(debuggee: Debuggee, offset: int = 0, limit: int = 100) -> dict[str, Any]:
    """The asyncio tasks of every event loop."""
    debuggee.require("tasks")
    answer = await debuggee.require_adapter().tasks(offset, limit)
    shown = offset + len(answer["tasks"])
    return {**answer, "offset": offset, "limit": limit, "has_more": shown < answer["total"]}
