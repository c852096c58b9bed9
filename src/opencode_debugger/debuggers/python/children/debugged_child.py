"""A child of a debugged program: its debugger calls, then its process is followed to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....dap.channel import Channel
from ....dap.messages import Event
from ....errors import RelayError
from ...dap_conversation import Conversation
from ...process.foreign_process import Watched
from ...process.program_process import ExitStatus
from ..debugpy_connection import DebugpyConnection
from ..debugpy_protocol import ALLOWED
from ..inside_calls import InsideCalls
from ..program_target import ProgramTarget

if TYPE_CHECKING:
    from ...protocols import Listener
    from ...rows import ChildRow
    from ..launch.launched_program import LaunchedProgram

INTRODUCTION = 10.0
LAST_WORDS = 1.0
"""Seconds for what a process said before its end to be read."""
END_PATIENCE = 2.0
"""Seconds from the end of a connection to the end of the process, if it is ending."""


class ChildArrival:
    """A child whose debugger has called, before there is a session for it."""

    def __init__(self, above: LaunchedProgram) -> None:
        self.above = above
        """the program that the session has started, from which it descends"""
        self.channel = Channel(self._hear)
        self.known: dict[str, Any] = {}
        self.taken_by: DebugpyConnection | None = None
        """the session's that has made it its program: it gets the events from then on"""

    def _hear(self, event: Event) -> None:
        if self.taken_by is not None:
            self.taken_by.hear(self.channel, event)

    async def introduce(self) -> ChildRow:
        conversation = Conversation(self.channel, ALLOWED, INTRODUCTION)
        about: ChildRow = await InsideCalls(conversation, INTRODUCTION).call_aside("about")
        if not (isinstance(about.get("pid"), int) and isinstance(about.get("ppid"), int)):
            raise RelayError("DEBUGPY_ERROR", "A child did not say what it is")
        return about

    def let_go(self) -> None:
        self.channel.close()


@dataclass(eq=False)
class DebuggedChild(ProgramTarget):
    """A process that another one of the session started. Its output comes through the pipes of the program."""

    _arrival: ChildArrival
    _watched: Watched
    _listener: Listener
    _connection: DebugpyConnection
    _on_left: Callable[[], None]
    """told when its end is known, or it is followed no longer"""
    _is_detached: bool = False

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._arrival.taken_by = self._connection
        self._link = self._connection.begin(self._arrival.channel, self)
        self._verdict: asyncio.Future[None] = loop.create_future()
        self._link.conversation.farewell = self._verdict
        self._following = loop.create_task(self._follow())

    @property
    def has_ended(self) -> bool:
        return self._watched.ended.done()

    def drain_output(self) -> None:
        self._arrival.above.drain_output()

    def debugger_finished(self) -> None:
        self._connection.hang_up()

    async def _follow(self) -> None:
        """Tell the end of its process, or only of its debugger."""
        ended, closed, events = self._watched.ended, self._link.channel.closed, self._link.events
        either: list[asyncio.Future[Any]] = [ended, closed]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([closed], timeout=LAST_WORDS)
        await asyncio.wait([ended], timeout=0 if events.replaced_by else END_PATIENCE)
        if not ended.done():
            self._listener.on_lost(events.why_it_left())
            self._verdict.set_result(None)
            await ended
        status = ended.result()
        if status is None and events.exit_code is not None:
            status = ExitStatus.of(events.exit_code)
        self._listener.on_exit(status)
        self._leave()

    def _leave(self) -> None:
        if not self._verdict.done():
            self._verdict.set_result(None)
        self._link.channel.close()
        self._on_left()

    def forget(self) -> None:
        self._following.cancel()
        self._watched.close()
        self._leave()

    async def let_go(self) -> None:
        self._is_detached = True
        await self._connection.disconnect(terminate=False)

    async def terminate(self, grace: float) -> None:
        await self._watched.end(grace)
        await asyncio.wait([self._following], timeout=LAST_WORDS + END_PATIENCE)
        self.forget()

    async def end(self, grace: float) -> None:
        if self._is_detached:
            self.forget()
        else:
            await self.terminate(grace)
