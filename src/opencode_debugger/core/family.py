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
from typing import TYPE_CHECKING, Any

from ..adapters.base import Arrival
from ..adapters.processes import parent_pid, runs
from ..adapters.watched import Watched
from ..errors import RelayError
from .missed import FREE, HANDED_DOWN
from .state import ENDED, LIVE, State
from .stops import DETACHED, Stop

if TYPE_CHECKING:
    from .session import Session

logger = logging.getLogger(__name__)

HANDSHAKE = 30.0
"""Seconds for a child to be welcomed; then it runs on without us."""
CALL = 60.0
"""Seconds for the debugger of a new child to call."""
KEPT = 100
"""Children that ended and can still be looked at; beyond that the oldest go."""
RECENT = 60.0
DEEPEST = 100
"""processes one above the other that are looked at for one that is debugged"""

NOT_ENABLED = "Subprocess spawned but not attached. Enable debug_subprocesses for child debugging."


class Family:
    """Made with the session of the program; its children's sessions share it."""

    def __init__(self, root: Session) -> None:
        self.root = root
        self.members: dict[str, Session] = {root.id: root}
        self.on_change: Callable[[str, dict[str, Any]], None] = lambda method, params: None
        """told of children that come and go"""
        self.on_session: Callable[[Session], None] = lambda session: None
        """told of each session that is made for a child, before anything is done with it"""
        self._parents: dict[str, str] = {}
        self._pids: dict[str, int] = {}
        self._called: dict[int, float] = {}
        """processes whose debugger has called lately, and when: what their parents say of them may come later"""
        self._expected: dict[int, asyncio.Future[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: dict[str, Stop | None] = {}
        """by child: the stop that a report of its parent has told of"""
        self._with_free: set[str] = set()
        """sessions whose program started processes that would be debugged if it had been asked for"""
        self._with_others: set[str] = set()
        """sessions whose program started others, such as shells, that are not debugged but may start Python"""
        self._with_hits: set[str] = set()
        """sessions of which a child that is forgotten by now stood at a breakpoint"""

    def listen(self) -> None:
        """To what the program says of its children."""
        self._listen_to(self.root)

    def _listen_to(self, session: Session) -> None:
        session.debuggee.on_spawned = lambda notice: self._spawned(session, notice)
        session.debuggee.on_child = self._arrived
        session.debuggee.is_expecting = lambda: bool(self._tasks)

    def find(self, session_id: str | None) -> Session:
        if session_id is None:
            return self.root
        if session_id in self.members:
            return self.members[session_id]
        raise RelayError("SESSION_NOT_FOUND", f"Session with ID '{session_id}' not found", session_id=session_id)

    # What it looks like from outside.

    def parent_id(self, session: Session) -> str | None:
        return self._parents.get(session.id)

    def children(self, session: Session) -> list[Session]:
        return [member for member in self.members.values() if self._parents.get(member.id) == session.id]

    def info(self, session: Session) -> dict[str, Any]:
        return {
            "parent_session_id": self.parent_id(session),
            "children": [self._brief(child) for child in self.children(session)],
            **self.output_note(session),
        }

    def _brief(self, child: Session) -> dict[str, Any]:
        summary = child.summary()
        brief = {name: summary[name] for name in ("session_id", "name", "status", "program")}
        return {**brief, "pid": self._pids[child.id]}

    def output_note(self, session: Session) -> dict[str, Any]:
        """Children write into the pipes of the program."""
        return {} if session is self.root else {"output_session_id": self.root.id}

    def described(self, session: Session) -> list[dict[str, Any]]:
        """All of them, with the program's session only."""
        if session is not self.root:
            return []
        return [member.describe() for member in self.members.values() if member is not self.root]

    # How children come.

    def _spawned(self, parent: Session, notice: dict[str, Any]) -> None:
        pid, command = notice["pid"], notice["command"]
        if not notice["comes"]:
            why_not = notice["why_not"]
            message = f"Subprocess spawned but not attached: {why_not}." if why_not else NOT_ENABLED
            if not why_not:
                self._with_free.add(parent.id)
            elif notice.get("through"):
                self._with_others.add(parent.id)
            self._announce(parent, pid, command, None, message)
        elif pid not in self._expected and time.monotonic() - self._called.get(pid, -math.inf) > RECENT:
            self._expected[pid] = asyncio.get_running_loop().create_future()
            self._later(self._expect(parent, pid, command, self._expected[pid]))

    def _has_called(self, pid: int) -> None:
        now = time.monotonic()
        self._called = {known: when for known, when in self._called.items() if when > now - RECENT}
        self._called[pid] = now
        expected = self._expected.get(pid)
        if expected is not None and not expected.done():
            expected.set_result(None)

    async def _expect(self, parent: Session, pid: int, command: str, called: asyncio.Future[None]) -> None:
        """Says so if it never comes: it may end before, or run something that is no Python after all."""
        watched = Watched(pid, is_kept=False)
        try:
            either: list[asyncio.Future[Any]] = [called, watched.ended]
            await asyncio.wait(either, timeout=CALL, return_when=asyncio.FIRST_COMPLETED)
            if not called.done():
                what = "it ended before its debugger called" if watched.ended.done() else "its debugger did not call"
                self._announce(parent, pid, command, None, f"Subprocess spawned but not attached: {what}.")
        finally:
            del self._expected[pid]
            watched.close()

    def _arrived(self, arrival: Arrival) -> None:
        if _was_let_go(self.root):
            arrival.let_go()  # it was on its way already
        else:
            self._later(self._welcome(arrival))

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.root.adapter.settle()

    async def _welcome(self, arrival: Arrival) -> None:
        """Each is answered at once, or let go: a child that nobody answers hangs, and its parent with it."""
        about = arrival.known
        try:
            async with asyncio.timeout(HANDSHAKE):
                about = await arrival.introduce()
                self._has_called(about["pid"])
                await self._join(arrival, about)
        except asyncio.CancelledError:
            arrival.let_go()
            raise
        except Exception as error:
            arrival.let_go()
            reason = _why(error)
            logger.warning("a child could not be debugged: %s", reason)
            if about:
                what = f", it runs on freely: {reason}" if runs(about["pid"]) else f": {_why_gone(error)}"
                message = f"Subprocess spawned but not attached{what}."
                self._announce(self._parent_of(about), about["pid"], _command(about), None, message)

    async def _join(self, arrival: Arrival, about: dict[str, Any]) -> None:
        parent = self._parent_of(about)
        child = self._new_session(parent, about)
        await child.placement.restore([])
        await child.watches.take_over(parent.watches.exported(str))
        try:
            await child.starting.join(arrival, about, parent.starting)
        except BaseException:
            child.placement.close()
            child.starting.tunnel.close()
            raise
        self.members[child.id] = child
        self._parents[child.id] = parent.id
        self._pids[child.id] = about["pid"]
        self.on_change("child", child.describe())
        message = f"Subprocess spawned and attached as session {child.id}."
        self._announce(parent, about["pid"], _command(about), child.id, message)
        self._forget_the_oldest()

    def paused_children(self, session: Session) -> list[str]:
        """Children of a session, and theirs, that stand at a stop, the news first: from then on they are told."""
        paused = sorted(self._paused(session), key=lambda child: not self._is_news(child))
        self._told.update({child.id: child.debuggee.stop for child in paused})
        return [child.id for child in paused]

    def has_news(self, session: Session) -> bool:
        """Whether one of them stands at a stop that nobody was told of."""
        return any(map(self._is_news, self._paused(session)))

    def _is_news(self, child: Session) -> bool:
        stop = child.debuggee.stop
        return stop is not None and not stop.is_told and self._told.get(child.id) is not stop

    def _paused(self, session: Session) -> list[Session]:
        return [
            child for id, child in self.members.items() if child.state is State.PAUSED and self._descends(id, session)
        ]

    def about_children(self, session: Session) -> str:
        """Why a breakpoint may not have been reached in a process that it started."""
        is_other = session.adapter.name == "none"  # it is not debugged itself
        if session.id in self._with_free or (is_other and not session.starting.debugs_children):
            return FREE
        return HANDED_DOWN if session.id in self._with_others or is_other else ""

    def have_hits(self, session: Session) -> bool:
        """Whether a breakpoint of the session was hit in one of the processes that it started."""
        return session.id in self._with_hits or any(
            _has_hits(child) for id, child in self.members.items() if self._descends(id, session)
        )

    def _descends(self, id: str, session: Session) -> bool:
        parent = self._parents.get(id)
        return parent is not None and (parent == session.id or self._descends(parent, session))

    def _parent_of(self, about: dict[str, Any]) -> Session:
        """The session of the nearest process above it that is debugged: between them may be a shell. Its own parent may
        have ended by now, as that of a daemon does."""
        above: int | None = about["ppid"]
        started_by = [id for id, pid in self._pids.items() if pid == above]
        if started_by:
            return self.members[started_by[-1]]
        by_pid = {pid: id for id, pid in self._pids.items() if self.members[id].state not in ENDED}
        for _ in range(DEEPEST):
            if above is None or above in by_pid:
                break
            above = parent_pid(above)
        return self.members[by_pid.get(above or 0, self.root.id)]

    def _new_session(self, parent: Session, about: dict[str, Any]) -> Session:
        from .session import Session

        config = replace(
            parent.config,
            session_id=f"sess_{os.urandom(4).hex()}",
            name=f"{parent.config.name}/{about['pid']}",
            python_path=about["interpreter"] or parent.config.python_path,
            adapter=about.get("adapter", parent.config.adapter),
            stop_scope=parent.debuggee.stop_scope,
            breakpoints=[],
            parts=None,
        )
        child = Session(config)
        child.family = self
        child.lifetime = self.root.lifetime
        child.debuggee.elder = self.root.debuggee
        self._listen_to(child)
        child.debuggee.breakpoints.copy_from(parent.debuggee.breakpoints)
        child.debuggee.exceptions.copy_from(parent.debuggee.exceptions)
        self.on_session(child)
        return child

    def _announce(self, parent: Session, pid: int, command: str, session_id: str | None, message: str) -> None:
        parent.debuggee.log.add(
            "subprocess_spawned",
            {
                "event": "subprocess_spawned",
                "pid": pid,
                "command": command,
                "debuggable": session_id is not None,
                "session_id": session_id,
                "message": message,
            },
        )

    # How they go.

    def _forget_the_oldest(self) -> None:
        ended = [member for member in self.members.values() if member is not self.root and member.state in ENDED]
        for child in ended[: max(0, len(ended) - KEPT)]:
            self._forget(child)

    def _forget(self, child: Session) -> None:
        above = self._parents.pop(child.id)
        if child.id in self._with_hits or _has_hits(child):
            self._with_hits.add(above)
        for id, parent in self._parents.items():
            if parent == child.id:
                self._parents[id] = above
        del self.members[child.id], self._pids[child.id]
        self._told.pop(child.id, None)
        self._with_hits.discard(child.id)
        self._with_free.discard(child.id)
        self._with_others.discard(child.id)
        child.placement.close()
        self.on_change("child_gone", {"session_id": child.id})

    async def let_go_below(self, session: Session) -> list[str]:
        """The processes below one that was let go; the sessions of those that run on freely now."""
        if session is self.root and _was_let_go(session):
            await self._stop_welcoming()
        below = [child for id, child in self.members.items() if child.state in LIVE and self._descends(id, session)]
        await asyncio.gather(*(child.ending.detach() for child in below), return_exceptions=True)
        return [child.id for child in below if _was_let_go(child)]

    async def _stop_welcoming(self) -> None:
        """Those who have come so far are let go."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=HANDSHAKE)

    async def end(self, session_id: str | None, reason: str, **options: Any) -> dict[str, Any]:
        """Of one child only its process; of the program everything."""
        session = self.find(session_id)
        answer = await session.end(reason, **options)
        if session is not self.root and session.id in self.members:
            self._forget(session)
        return answer

    def ending(self, session: Session, reason: str) -> None:
        """With the program its children end."""
        if session is self.root:
            for task in self._tasks:
                task.cancel()
            for member in self.members.values():
                if member is not self.root:
                    member.placement.close()
                    member.debuggee.ending = reason


def _was_let_go(session: Session) -> bool:
    return session.debuggee.end is not None and session.debuggee.end.reason == DETACHED


def _has_hits(session: Session) -> bool:
    return any(bp.hits for bp in session.debuggee.breakpoints.all())


def _why(error: Exception) -> str:
    if isinstance(error, RelayError):
        return str(error).removesuffix(".")
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    logger.error("while a child was welcomed", exc_info=error)
    return f"{type(error).__name__} in the relay"


def _why_gone(error: Exception) -> str:
    """What came of debugging one that has ended says little, unless it was noticed there."""
    is_noticed = isinstance(error, RelayError) and error.details.get("is_gone")
    return _why(error) if is_noticed else "it ended before its debugger had come"


def _command(about: dict[str, Any]) -> str:
    if about.get("fork"):
        return f"fork of {about['ppid']}"
    with contextlib.suppress(KeyError):
        return " ".join(about["command"]).encode("utf-8", "backslashreplace").decode()[:1000]
    return ""
