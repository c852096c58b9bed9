"""A session that the relay holds: its runner, what there is to say of it when that has died, its breakpoints saved."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..answers.sessions import SessionItem
from ..errors import RelayError
from ..operations.states import State
from ..operations.table import OPERATIONS
from ..persistence.breakpoint_store import BreakpointStore
from ..runner.handle import ChildHandle, RunnerHandle
from ..runner.rpc import GARBAGE
from ..session.state import require_state
from ..timestamps import timestamp

SUMMARY = 2.0
"""Seconds for a runner to say in short what it holds."""
UNKNOWN = {"created_at": None, "program": None, "parent_session_id": None}
"""Information about a session that its runner does not give."""
NOT_SAVED = (
    "This holds for the session, but was not saved for its project, whose next session will not know it: {why}. "
    "Free some space on the disk of the data folder, or make the folder writable, and send it again"
)


@dataclass
class SessionRecord:
    handle: RunnerHandle | ChildHandle
    project_root: str | None
    info: dict[str, Any]
    """as it was when the relay got hold of it"""
    timeout: float
    """seconds without activity after which it expires"""
    saves_breakpoints: bool = True
    """for its project; a session that was made without those of the project keeps its own to itself"""
    saving: asyncio.Lock = field(default_factory=asyncio.Lock)
    """held while changes of its breakpoints are saved, so that the last one is saved last"""
    is_lost: bool = False
    lost_at: float = 0.0
    item: SessionItem | None = None
    """what the runner has said last about it by itself"""
    clearing: asyncio.Task[Any] | None = None
    """ends what the lost runner left behind"""

    def __post_init__(self) -> None:
        self.info = {"session_id": self.session_id, "name": self.session_id, **UNKNOWN, **self.info}

    @property
    def session_id(self) -> str:
        return self.handle.session_id

    @property
    def runner(self) -> RunnerHandle:
        return self.handle.family if isinstance(self.handle, ChildHandle) else self.handle

    @property
    def is_child(self) -> bool:
        """A session of a program's child lives and dies with the program's, and takes no place of its own."""
        return isinstance(self.handle, ChildHandle)

    async def wait_until_cleared(self) -> None:
        """Wait until nothing of a failed session runs any more, before anybody is told that it has failed."""
        if not self.runner.is_open:
            await self.runner.hung_up(SUMMARY)  # that it is gone may not have been noticed yet
        if self.clearing is not None:
            await asyncio.wait([self.clearing])

    async def summary(self) -> SessionItem:
        if (said := await self.ask_summary()) is not None:
            return said
        await self.wait_until_cleared()
        known = {name: self.info[name] for name in ("session_id", "name", *UNKNOWN)}
        return SessionItem(status="failed", **known)

    async def current_item(self, asks: bool = False) -> SessionItem:
        """Return what the session looks like; without `asks` as its runner told it last, a moment ago perhaps."""
        told = self.item
        if told is not None and not asks and not self.is_lost:
            return told
        found = await self.summary()
        if self.item is told:  # else the runner has told of a change meanwhile, which may be newer
            self.item = found
        return found

    async def ask_summary(self) -> SessionItem | None:
        """Return what the runner says; nothing if it does not answer."""
        if not self.is_lost:
            with contextlib.suppress(RelayError, TimeoutError, *GARBAGE):
                answer = await asyncio.wait_for(self.handle.call("summary"), SUMMARY)
                return msgspec.json.decode(answer, type=SessionItem)
        return None

    def call_lost(self, operation: str) -> bytes:
        """Answer for a lost session, which can still be looked at and deleted."""
        if OPERATIONS[operation].is_told_of_lost:
            why = "the process that held this session ended unexpectedly"
            until = timestamp((self.lost_at or time.time()) + self.timeout)
            return msgspec.json.encode({**self.info, "status": "failed", "reason": why, "expires_at": until})
        require_state(operation, State.FAILED)
        message = "The process that held this session has ended unexpectedly"
        suggestion = "DELETE the session and create a new one"
        raise RelayError("INVALID_SESSION_STATE", message, current_state="failed", suggestion=suggestion)


class Unsaved(msgspec.Struct):
    """Changes of a session's breakpoints since it was last asked."""

    changed: list[dict[str, Any]]
    gone: list[dict[str, Any]]


async def save_breakpoints(store: BreakpointStore, record: SessionRecord) -> str | None:
    """Saves what is not saved yet; says why, if that could not be done."""
    if record.project_root is None or not record.saves_breakpoints:
        return None
    async with record.saving:
        try:
            answer = await record.handle.call("unsaved_breakpoints")
        except RelayError:
            return None  # it has just ended: there is nobody to be told
        unsaved = msgspec.json.decode(answer, type=Unsaved)
        why = await asyncio.to_thread(store.change, record.project_root, unsaved.changed, unsaved.gone)
    return None if why is None else NOT_SAVED.format(why=why)


async def save_after(store: BreakpointStore, record: SessionRecord, operation: str, answer: bytes) -> bytes:
    """The answer of an operation of a session; which says so if its breakpoints could not be saved.

    When a program is started, breakpoints follow their lines in files that were edited."""
    starts = OPERATIONS[operation].starts_program
    if not starts and not OPERATIONS[operation].changes_breakpoints:
        return answer
    warning = await save_breakpoints(store, record)
    if warning is None:
        return answer
    said = msgspec.json.decode(answer)
    told = {"warnings": [*said.get("warnings", []), warning]} if starts else {"warning": warning}
    return msgspec.json.encode({**said, **told})
