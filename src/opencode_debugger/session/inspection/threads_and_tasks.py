"""The program's threads and tasks: which there are, which of them run, where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.inspection import Locks, TaskList, Thread, ThreadList
from ...answers.sessions import StoppedThread, ThreadStatus
from ...answers.shape import UNSET
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.states import LIVE, State
from ..execution.stops import frame_location
from ..lifecycle.debuggee import Debuggee

if TYPE_CHECKING:
    from ...debuggers.rows import ThreadRow

TRIES = 3


async def find_thread(debuggee: Debuggee, thread_id: int | None) -> list[ThreadRow]:
    """Return every thread; the one that is named must be among them."""
    rows = await debuggee.require_adapter().inspection.threads()
    if thread_id is not None and not any(row["id"] == thread_id for row in rows):
        raise RelayError("THREAD_NOT_FOUND", f"Thread {thread_id} does not exist", thread_id=thread_id)
    return rows


def is_paused(debuggee: Debuggee, row: ThreadRow) -> bool:
    """Tell whether a thread is halted, or about to be where threads stop together: busy in a call, it can be looked
    at."""
    if debuggee.state is not State.PAUSED:
        return False
    return bool(row["marked"] if debuggee.stop_scope == "all" else row["halted"])


async def require_halted(debuggee: Debuggee, thread_id: int) -> list[ThreadRow]:
    """Return all threads if this one is halted; raise if not."""
    rows = await find_thread(debuggee, thread_id)
    row = next(row for row in rows if row["id"] == thread_id)
    if debuggee.state is State.PAUSED and not is_paused(debuggee, row):
        raise thread_runs_error(thread_id)
    return rows


async def runs_now(debuggee: Debuggee, thread_id: int) -> bool:
    if debuggee.state not in LIVE or thread_id in debuggee.stacks:
        return False
    row = next(row for row in await find_thread(debuggee, thread_id) if row["id"] == thread_id)
    return debuggee.state in LIVE and not is_paused(debuggee, row)


def thread_runs_error(thread_id: int) -> RelayError:
    states: dict[str, Any] = {"current_state": str(State.RUNNING), "required_state": str(State.PAUSED)}
    hint, message = advice(f"Pause it with {{pause thread_id={thread_id}}}"), f"Thread {thread_id} is running"
    return RelayError("INVALID_SESSION_STATE", message, thread_id=thread_id, **states, suggestion=hint)


@dataclass(eq=False)
class ThreadsAndTasks:
    """Tells which threads and tasks there are, and who waits for whom."""

    _debuggee: Debuggee

    async def list_threads(self) -> list[Thread]:
        self._debuggee.require_state("threads")
        for _ in range(TRIES):
            before = self._debuggee.change_count
            rows = await self._debuggee.require_adapter().inspection.threads()
            if self._debuggee.change_count == before:
                break
        return [_describe_thread(self._debuggee, row) for row in rows]

    async def threads(self) -> ThreadList:
        rows = await self.list_threads()
        stop = self._debuggee.stop
        return ThreadList(threads=rows, stopped_thread_id=stop.thread_id if stop else None)

    async def locks(self) -> Locks:
        """Return who waits for whom, among threads and tasks."""
        self._debuggee.require_state("locks")
        return msgspec.convert(await self._debuggee.require_adapter().tasks_and_locks.locks(), Locks)

    async def tasks(self, offset: int = 0, limit: int = 100) -> TaskList:
        """Return the asyncio tasks of every event loop."""
        self._debuggee.require_state("tasks")
        answer = await self._debuggee.require_adapter().tasks_and_locks.tasks(offset, limit)
        has_more = offset + len(answer["tasks"]) < answer["total"]
        return msgspec.convert({**answer, "offset": offset, "limit": limit, "has_more": has_more}, TaskList)

    def stopped_threads(self, threads: list[Thread]) -> list[StoppedThread]:
        """Return the threads that stand at a stop of their own, in the order in which they came there."""
        names, stopped = {thread.id: thread.name for thread in threads}, []
        for stop in self._debuggee.stops.values():
            hit, name = next(iter(stop.hit_ids), None), names.get(stop.thread_id)
            where: dict[str, Any] = {"reason": stop.reason, "location": stop.location}
            stopped.append(StoppedThread(thread_id=stop.thread_id, name=name, breakpoint_id=hit, **where))
        return stopped


def _describe_thread(debuggee: Debuggee, row: ThreadRow) -> Thread:
    stop, own = debuggee.stop, debuggee.stops.get(row["id"])
    paused = own is not None or is_paused(debuggee, row)
    location = own.location if own else frame_location(row["top"]) if paused and row["top"] else UNSET
    status = str(State.PAUSED if paused else State.RUNNING)
    is_current = stop is not None and row["id"] == stop.thread_id
    return Thread(id=row["id"], name=row["name"], status=status, is_current=is_current, location=location)


def short_rows(threads: list[Thread]) -> list[ThreadStatus]:
    """Return threads as the session's status shows them."""
    return [
        ThreadStatus(thread_id=each.id, name=each.name, status=each.status, location=each.location) for each in threads
    ]
