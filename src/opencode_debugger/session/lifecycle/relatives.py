"""A session's place in its family: its parent, and what its program's children mean to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...answers.sessions import Child
from ...operations.event_kinds import EventKind
from ...operations.states import State
from ..breakpoints.reached_breakpoints import NOT_DEBUGGED, NOT_FOLLOWED
from ..execution.stops import Stop

if TYPE_CHECKING:
    from ..session import Session
    from .family import Family

NOT_ENABLED = "Subprocess spawned but not attached. Enable debug_subprocesses for child debugging."


@dataclass(eq=False)
class Relatives:
    family: Family
    _session: Session
    parent: Session | None
    """for a child, the session of the process that started it"""
    pid: int
    """of a child"""
    _told_stop: Stop | None = None
    """the stop that a report of its parent has told of"""
    _has_undebugged: bool = False
    """its program started processes that would be debugged if it had been asked for"""
    _has_other_programs: bool = False
    """its program started others, such as shells, that are not debugged but may start Python"""
    _had_hits: bool = False
    """a child that is forgotten by now stood at a breakpoint"""

    def children(self) -> list[Session]:
        return [member for member in self.family.members.values() if member.relatives.parent is self._session]

    def below(self) -> list[Session]:
        """Return the children, and theirs."""
        return [member for member in self.family.members.values() if member.relatives._is_below(self._session)]

    def _is_below(self, session: Session) -> bool:
        return self.parent is not None and (self.parent is session or self.parent.relatives._is_below(session))

    def describe_children(self) -> list[Child]:
        found = [(child.summary(), child.relatives.pid) for child in self.children()]
        return [
            Child(session_id=each.session_id, name=each.name, status=each.status, program=each.program, pid=pid)
            for each, pid in found
        ]

    def output_session_id(self) -> str | None:
        """Name the session that has the output: children write into the pipes of the program."""
        return None if self.parent is None else self.family.root.id

    # Processes that the program starts, as its debugger tells of them.

    def process_spawned(self, notice: dict[str, Any]) -> None:
        pid, command, why_not = notice["pid"], notice["command"], notice.get("why_not")
        if notice["comes"]:
            self.family.expect_child(self._session, pid, command)
            return
        if not why_not:
            self._has_undebugged = True
        elif notice.get("through"):
            self._has_other_programs = True
        message = f"Subprocess spawned but not attached: {why_not}." if why_not else NOT_ENABLED
        self.log_spawn(pid, command, None, message)

    def log_spawn(self, pid: int, command: str, session_id: str | None, message: str) -> None:
        body = {"event": "subprocess_spawned", "pid": pid, "command": command, "debuggable": session_id is not None}
        body |= {"session_id": session_id, "message": message}
        self._session.debuggee.log.add(EventKind.SUBPROCESS_SPAWNED, body)

    # Facts about children for reports.

    def paused_children(self, is_told: bool) -> list[str]:
        """Return the sessions of children at a stop, the news first; if it `is_told` they are news no more."""
        paused = sorted(self._paused_sessions(), key=lambda child: not child.relatives._is_news())
        for child in paused if is_told else []:
            child.relatives._told_stop = child.debuggee.stop
        return [child.id for child in paused]

    def has_news(self) -> bool:
        """Tell whether a process that the program started stands at a stop that nobody was told of."""
        return any(child.relatives._is_news() for child in self._paused_sessions())

    def _is_news(self) -> bool:
        stop = self._session.debuggee.stop
        return stop is not None and not stop.is_told and self._told_stop is not stop

    def _paused_sessions(self) -> list[Session]:
        return [child for child in self.below() if child.state is State.PAUSED]

    def about_children(self) -> str:
        """Say why a breakpoint may not have been reached in a process that it started."""
        is_other = self._session.adapter.name == "none"  # it is not debugged itself
        if self._has_undebugged or (is_other and not self._session.starting.debugs_children):
            return NOT_DEBUGGED
        return NOT_FOLLOWED if self._has_other_programs or is_other else ""

    def have_hits(self) -> bool:
        """Tell whether its breakpoints were hit in processes that it started."""
        return self._had_hits or any(child.relatives._is_hit() for child in self.below())

    def _is_hit(self) -> bool:
        return any(bp.hits for bp in self._session.debuggee.breakpoints.all())

    def leave_to_parent(self) -> None:
        """Leave the children of a child that is forgotten, and what is known of its breakpoints, to its parent."""
        assert self.parent is not None
        self.parent.relatives._had_hits |= self._had_hits or self._is_hit()
        for child in self.children():
            child.relatives.parent = self.parent
