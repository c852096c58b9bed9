"""A program and the processes that it starts: each Python child that is debugged is a session beside the program's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...answers.sessions import SessionDeleted, TunnelInfo
from ...debuggers.process.foreign_process import Watched
from ...debuggers.process.program_process import parent_pid, runs
from ...errors import RelayError
from ...operations.states import ENDED, LIVE

if TYPE_CHECKING:
    from ...debuggers.protocols import Arrival
    from ...debuggers.rows import ChildRow
    from ..session import Session

logger = logging.getLogger(__name__)

WELCOME_TIMEOUT = 30.0
"""Seconds for a child to be welcomed; then it runs on without us."""
CALL_TIMEOUT = 60.0
"""Seconds for the debugger of a new child to call."""
KEPT_CHILDREN = 100
"""Children that ended and can still be looked at; beyond that the oldest go."""
RECENT_SECONDS = 60.0
DEEPEST_SEARCH = 100
"""processes one above the other that are looked at for one that is debugged"""


class Tunnel(Protocol):
    async def open(self) -> dict[str, str]:
        """Open the tunnel, unless it is open already. Return variables about it for the program's environment."""

    def info(self, with_token: bool) -> TunnelInfo:
        """Say where it is and who is in it; the token is for those who may change the program."""

    def close(self) -> None:
        """Let nobody else in, since the program is gone; clients that are in hear of the end and leave."""

    async def closed(self) -> None:
        """Wait until no client is in any more. This does not take long, whatever they do."""


class NoTunnel:
    """The tunnel of a session that nobody outside can reach."""

    async def open(self) -> dict[str, str]:
        return {}

    def info(self, with_token: bool) -> TunnelInfo:
        return TunnelInfo()

    def close(self) -> None:
        pass

    async def closed(self) -> None:
        pass


MakeTunnel = Callable[["Session"], Tunnel]
Tell = Callable[[str, Any], None]


class Family:
    """The sessions of a program and of the children that it starts. The first that joins is the program's own."""

    def __init__(
        self, make_tunnel: MakeTunnel = lambda _: NoTunnel(), tell: Tell = lambda *_: None,
        note_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.make_tunnel = make_tunnel
        self._tell = tell
        """told of children that come and go"""
        self.note_change = note_change
        """told that one of the sessions may have changed"""
        self.members: dict[str, Session] = {}
        self._recent_callers: dict[int, float] = {}
        """processes whose debugger has called lately, and when: what their parents say of them may come later"""
        self._expected: dict[int, asyncio.Future[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def root(self) -> Session:
        """Return the program's session; until that has joined there is none."""
        return next(iter(self.members.values()))

    def expects_children(self) -> bool:
        return bool(self._tasks)

    def find_session(self, session_id: str | None) -> Session:
        if session_id is None:
            return self.root
        if session_id in self.members:
            return self.members[session_id]
        raise RelayError("SESSION_NOT_FOUND", f"Session with ID '{session_id}' not found", session_id=session_id)

    # Children that arrive.

    def expect_child(self, parent: Session, pid: int, command: str) -> None:
        since = time.monotonic() - self._recent_callers.get(pid, -math.inf)
        if pid not in self._expected and since > RECENT_SECONDS:
            self._expected[pid] = asyncio.get_running_loop().create_future()
            self._run_task(self._await_child(parent, pid, command, self._expected[pid]))

    def _has_called(self, pid: int) -> None:
        now = time.monotonic()
        recent = {known: when for known, when in self._recent_callers.items() if when > now - RECENT_SECONDS}
        self._recent_callers = recent | {pid: now}
        expected = self._expected.get(pid)
        if expected is not None and not expected.done():
            expected.set_result(None)

    async def _await_child(self, parent: Session, pid: int, command: str, called: asyncio.Future[None]) -> None:
        """Say so if a child never comes: it may end before, or run something that is no Python after all."""
        watched = Watched(pid, is_kept=False)
        try:
            either: list[asyncio.Future[Any]] = [called, watched.ended]
            await asyncio.wait(either, timeout=CALL_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
            if not called.done():
                what = "it ended before its debugger called" if watched.ended.done() else "its debugger did not call"
                parent.relatives.log_spawn(pid, command, None, f"Subprocess spawned but not attached: {what}.")
        finally:
            del self._expected[pid]
            watched.close()

    def child_arrived(self, arrival: Arrival) -> None:
        if self.root.debuggee.was_let_go:
            arrival.let_go()  # it was on its way already
        else:
            self._run_task(self._welcome_child(arrival))

    def _run_task(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.root.adapter.settle()

    async def _welcome_child(self, arrival: Arrival) -> None:
        """Answer a child at once, or let it go: a child that nobody answers hangs, and its parent with it."""
        about: ChildRow | None = cast("ChildRow", arrival.known) or None
        try:
            async with asyncio.timeout(WELCOME_TIMEOUT):
                about = await arrival.introduce()
                self._has_called(about["pid"])
                await self._join_child(arrival, about)
        except asyncio.CancelledError:
            arrival.let_go()
            raise
        except Exception as error:
            arrival.let_go()
            reason = _failure_reason(error)
            logger.warning("a child could not be debugged: %s", reason)
            if about:
                # The failure to debug it says little about why it has ended, unless that was noticed.
                is_noticed = isinstance(error, RelayError) and error.details.get("is_gone")
                ended = reason if is_noticed else "it ended before its debugger had come"
                what = f", it runs on freely: {reason}" if runs(about["pid"]) else f": {ended}"
                message = f"Subprocess spawned but not attached{what}."
                parent = self._parent_of(about).relatives
                parent.log_spawn(about["pid"], _command_text(about), None, message)

    async def _join_child(self, arrival: Arrival, about: ChildRow) -> None:
        parent = self._parent_of(about)
        child = self._new_session(parent, about)
        await child.placement.restore_breakpoints([])
        await child.watches.take_over(parent.watches.export_watches(str))
        try:
            await child.starting.join_child(arrival, about, parent.starting)
        except BaseException:
            child.placement.stop_watching()
            child.tunnel.close()
            raise
        self.members[child.id] = child
        self._tell("child", child.describe())
        message = f"Subprocess spawned and attached as session {child.id}."
        parent.relatives.log_spawn(about["pid"], _command_text(about), child.id, message)
        ended = [member for member in self.members.values() if member is not self.root and member.state in ENDED]
        for oldest in ended[: max(0, len(ended) - KEPT_CHILDREN)]:
            self._forget_child(oldest)

    def _parent_of(self, about: ChildRow) -> Session:
        """Return the session of the nearest process above it that is debugged: between them may be a shell.

        Its own parent may have ended by now, as that of a daemon does."""
        above: int | None = about["ppid"]
        children = [member for member in self.members.values() if member.relatives.parent is not None]
        started_by = [child for child in children if child.relatives.pid == above]
        if started_by:
            return started_by[-1]
        by_pid = {child.relatives.pid: child for child in children if child.state not in ENDED}
        for _ in range(DEEPEST_SEARCH):
            if above is None or above in by_pid:
                break
            above = parent_pid(above)
        return by_pid.get(above or 0, self.root)

    def _new_session(self, parent: Session, about: ChildRow) -> Session:
        from ..session import Session

        config = replace(parent.config, session_id=f"sess_{os.urandom(4).hex()}", breakpoints=[], parts=None)
        config.name += f"/{about['pid']}"
        config.python_path = about["interpreter"] or config.python_path
        config.adapter = about.get("adapter", config.adapter)
        config.stop_scope = parent.debuggee.stop_scope
        child = Session(config, self, parent, about["pid"])
        child.debuggee.breakpoints.copy_from(parent.debuggee.breakpoints)
        child.debuggee.exception_breakpoints.copy_from(parent.debuggee.exception_breakpoints)
        return child

    # Children that leave.

    def _forget_child(self, child: Session) -> None:
        child.relatives.leave_to_parent()
        del self.members[child.id]
        child.placement.stop_watching()
        self._tell("child_gone", {"session_id": child.id})

    async def detach_below(self, session: Session) -> list[str]:
        """Detach from the processes below one that was let go. Return the sessions of those that run on freely now."""
        if session is self.root and session.debuggee.was_let_go and self._tasks:
            tasks = list(self._tasks)  # those that have come so far are let go
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=WELCOME_TIMEOUT)
        below = [child for child in session.relatives.below() if child.state in LIVE]
        await asyncio.gather(*(child.let_go() for child in below), return_exceptions=True)
        return [child.id for child in below if child.debuggee.was_let_go]

    async def end_session(self, session_id: str | None, reason: str, **options: Any) -> SessionDeleted:
        """End the process of one child, or everything if it is the program's session."""
        session = self.find_session(session_id)
        answer = await session.end(reason, **options)
        if session is not self.root and session.id in self.members:
            self._forget_child(session)
        return answer

    def expect_end(self, session: Session, reason: str) -> None:
        """Expect the end of all children with the program's."""
        if session is self.root:
            for task in self._tasks:
                task.cancel()
            for member in self.members.values():
                if member is not self.root:
                    member.placement.stop_watching()
                    member.debuggee.expect_end(reason)


def _failure_reason(error: Exception) -> str:
    if isinstance(error, RelayError):
        return str(error).removesuffix(".")
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    logger.error("while a child was welcomed", exc_info=error)
    return f"{type(error).__name__} in the relay"


def _command_text(about: ChildRow) -> str:
    if about.get("fork"):
        return f"fork of {about['ppid']}"
    with contextlib.suppress(KeyError):
        return " ".join(about["command"]).encode("utf-8", "backslashreplace").decode()[:1000]
    return ""
