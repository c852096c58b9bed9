"""Who asks, through which relay, and about which session."""

from __future__ import annotations

import os
import re
from collections.abc import Coroutine
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from ..answers.sessions import SessionItem, SessionList
from ..errors import RelayError
from ..operations.advice import advice, door
from ..operations.door_words import name_session
from ..operations.operation import ID
from ..operations.states import ENDED
from ..text.lean import lean_answer
from ..text.render import make_room, render_answer

T = TypeVar("T")
SHOWN_SESSIONS = 5
DEFAULT_WAIT = 30.0
SESSION_NAME = re.compile(r"[\w-]{1,128}")
FORGOTTEN = ("SESSION_NOT_FOUND", "SESSION_EXPIRED")


class Asker(Protocol):
    """Asks a relay, over HTTP or in its own process."""

    base: str | None
    """folder from which relative paths are meant; None if the client has not said"""
    environment: dict[str, str] | None
    """for programs that are run; None: that of the relay"""

    async def ask(self, operation: str, params: dict[str, Any]) -> bytes:
        """Return the answer as JSON; failures are raised as RelayError."""


class SessionMemory(Protocol):
    """Remembers the session that was asked about last."""

    def recall(self) -> str | None: ...

    def remember(self, session_id: str | None) -> None: ...


class LastSession:
    """Remembers the session for one client, as long as that is there."""

    def __init__(self) -> None:
        self._session_id: str | None = None

    def recall(self) -> str | None:
        return self._session_id

    def remember(self, session_id: str | None) -> None:
        self._session_id = session_id


class Told(NamedTuple):
    """The answer to an agent call."""

    text: str
    data: Any
    """the lean answer"""
    status: str | None = None
    """of the session, if it is about one"""
    session_id: str | None = None


class Conversation(msgspec.Struct):
    asker: Asker
    memory: SessionMemory
    reveal: bool = False
    """show values of names that look like secrets"""

    async def tell(self, operation: str, params: dict[str, Any], session: str | None = None) -> Told:
        """Ask for an operation, of a session if one is named, and render its answer."""
        if session is not None:
            params = {ID: session, **params}
        try:
            answer = await self.asker.ask(operation, make_room(operation, params))
        except RelayError as error:
            self._note_asked(session, error.code not in FORGOTTEN)
            raise
        self._note_asked(session, True)
        text = render_answer(operation, answer, self.asker.base, self.reveal, params.get("budget"))
        data = msgspec.json.decode(lean_answer(operation, answer))
        status = data.get("status") if isinstance(data, dict) else None
        told_session = data.get(ID, session) if isinstance(data, dict) else session
        return Told(text, data, status, told_session)

    async def find_session(self, named: str | None) -> str:
        """Return the session that is meant: the one that is named, else the last that was asked about, else the only
        one whose program has not ended, else the only one."""
        if named and not SESSION_NAME.fullmatch(named):
            raise RelayError("SESSION_NOT_FOUND", f"There is no session {named[:100]!r}")
        return named or self.memory.recall() or await self._find_only_session()

    def _note_asked(self, session: str | None, is_there: bool) -> None:
        """Remember a session that was asked about; one that is not there leaves what is remembered besides."""
        if is_there and session is not None:
            self.memory.remember(session)
        elif session == self.memory.recall():
            self.memory.remember(None)

    async def _find_only_session(self) -> str:
        listed = await self.asker.ask("list_sessions", {"limit": 1000})
        sessions = [item for item in msgspec.json.decode(listed, type=SessionList).items if not item.parent_session_id]
        candidates = [item for item in sessions if item.status not in ENDED] or sessions
        if len(candidates) != 1:
            raise _not_one(candidates)
        return candidates[0].session_id


def only_given(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def seconds_to_wait(seconds: float | None) -> float:
    return DEFAULT_WAIT if seconds is None else seconds


def _not_one(candidates: list[SessionItem]) -> RelayError:
    if not candidates:
        suggestion = advice("Start a program first: {/run_program}")
        return RelayError("SESSION_NOT_FOUND", "There is no session", suggestion=suggestion)
    latest = candidates[-SHOWN_SESSIONS:]
    programs = [os.path.basename(item.program or item.name) for item in latest]
    shown = ", ".join(
        f"{item.session_id} ({program}, {item.status})" for item, program in zip(latest, programs, strict=True))
    message = f"There are {len(candidates)} sessions; the latest: {shown}"
    suggestion = f"Say which one is meant, for instance {name_session(latest[-1].session_id, door.get())}"
    return RelayError("SESSION_NOT_FOUND", message, suggestion=suggestion)


def run_now(asking: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine whose asker never suspends, without an event loop."""
    try:
        asking.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("the asker has suspended")
