"""A session that the relay holds: its runner, and what there is to say of it when that has died."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..core.events import timestamp
from ..core.state import State, require
from ..errors import RelayError
from ..runner.handle import ChildHandle, Handle
from ..runner.rpc import GARBAGE

OF_THE_LOST = frozenset({"info", "status", "report"})
"""What can still be said of a session whose runner died."""
SUMMARY = 2.0
"""Seconds for a runner to say in short what it holds."""
SUMMARIZED = ("session_id", "name", "status", "created_at", "program", "parent_session_id")


@dataclass
class Held:
    handle: Handle | ChildHandle
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
    clearing: asyncio.Task[Any] | None = None
    """ends what the lost runner left behind"""

    @property
    def session_id(self) -> str:
        return self.handle.session_id

    @property
    def runner(self) -> Handle:
        return self.handle.family if isinstance(self.handle, ChildHandle) else self.handle

    @property
    def is_child(self) -> bool:
        """A session of a program's child lives and dies with the program's, and takes no place of its own."""
        return isinstance(self.handle, ChildHandle)

    async def cleared(self) -> None:
        """Whoever is told that it has failed finds nothing of it running."""
        if not self.runner.is_open:
            await self.runner.hung_up(SUMMARY)  # that it is gone may not have been noticed yet
        if self.clearing is not None:
            await asyncio.wait([self.clearing])

    async def summary(self) -> dict[str, Any]:
        if (said := await self._summed_up()) is not None:
            return said
        await self.cleared()
        failed = self.failed()
        return {name: failed[name] for name in SUMMARIZED}

    async def answers(self) -> bool:
        return await self._summed_up() is not None

    async def _summed_up(self) -> dict[str, Any] | None:
        if not self.is_lost:
            with contextlib.suppress(RelayError, TimeoutError, TypeError, *GARBAGE):
                return dict(await asyncio.wait_for(self.handle.ask("summary"), SUMMARY))
        return None

    def failed(self) -> dict[str, Any]:
        """What there is to say when the runner died."""
        return {
            **self.info,
            "status": "failed",
            "reason": "the process that held this session ended unexpectedly",
            "expires_at": timestamp((self.lost_at or time.time()) + self.timeout),
        }

    def call_lost(self, operation: str) -> bytes:
        """It can still be looked at and deleted."""
        if operation in OF_THE_LOST:
            return msgspec.json.encode(self.failed())
        require(operation, State.FAILED)
        raise RelayError(
            "INVALID_SESSION_STATE",
            "The process that held this session has ended unexpectedly",
            current_state="failed",
            suggestion="DELETE the session and create a new one",
        )


def unknown(session_id: str) -> dict[str, Any]:
    """A session whose runner says nothing about it."""
    return {
        "session_id": session_id,
        "name": session_id,
        "created_at": None,
        "program": None,
        "parent_session_id": None,
    }
