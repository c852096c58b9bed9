"""The connection to the debugger inside the program: one after the other, as programs come and go."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...dap.channel import Channel
from ...dap.messages import Event
from ...errors import RelayError
from ..dap_conversation import Conversation
from .breakpoint_ids import BreakpointIds
from .debugpy_events import DebugpyEvents
from .debugpy_protocol import ALLOWED
from .inside_calls import InsideCalls

if TYPE_CHECKING:
    from ..protocols import Listener
    from .program_target import ProgramTarget

DISCONNECT = 2.0


class Link:
    """One connection, and what talks over it."""

    def __init__(
        self, channel: Channel, owner: ProgramTarget, listener: Listener, ids: BreakpointIds, timeout: float
    ) -> None:
        self.owner = owner
        self.conversation = Conversation(channel, ALLOWED, timeout)
        self.inside = InsideCalls(self.conversation, timeout)
        self.events = DebugpyEvents(listener, ids, self.inside)
        self.is_initialized = False

    @property
    def channel(self) -> Channel:
        return self.conversation.channel


@dataclass(eq=False)
class DebugpyConnection:
    _listener: Listener
    _ids: BreakpointIds
    _timeout: float
    _refuse: Callable[[], RelayError]
    """makes the error for whoever asks while there is none"""
    _link: Link | None = None
    last_events: DebugpyEvents | None = None
    """what came over the last connection, also after its end"""

    # How it comes and goes.

    def new_channel(self) -> Channel:
        channel = Channel(lambda event: self.hear(channel, event), lambda reason: self._closed(channel, reason))
        return channel

    def begin(self, channel: Channel, owner: ProgramTarget) -> Link:
        link = self._link = Link(channel, owner, self._listener, self._ids, self._timeout)
        self.last_events = link.events
        return link

    def hear(self, channel: Channel, event: Event) -> None:
        """Take an event, only from the debugger that has shown the token."""
        link = self._link
        if link is None or channel is not link.channel:
            return
        if event.event == "terminated":
            link.owner.debugger_finished()
        else:
            link.events.handle(event)

    def _closed(self, channel: Channel, reason: Exception | None) -> None:
        link = self._link
        if link is not None and channel is link.channel:
            link.owner.connection_closed(link, reason)

    async def disconnect(self, terminate: bool, awaits_close: bool = False) -> None:
        """Tell the debugger to leave the program, or to end it."""
        link, self._link = self._link, None
        if link is None:
            return
        with contextlib.suppress(RelayError):
            await link.conversation.request("disconnect", {"terminateDebuggee": terminate}, timeout=DISCONNECT)
        if awaits_close:
            await asyncio.wait([link.channel.closed], timeout=DISCONNECT)
        link.channel.close()

    def hang_up(self) -> None:
        """Close the channel. Its owner is told when that is done."""
        if self._link is not None:
            self._link.channel.close()

    def drop(self) -> None:
        """Close the channel and tell nobody."""
        link, self._link = self._link, None
        if link is not None:
            link.channel.close()

    def forget(self) -> None:
        """Have nothing left of the last program."""
        self._link = self.last_events = None

    # What is asked over it.

    @property
    def is_initialized(self) -> bool:
        return self._link is not None and self._link.is_initialized

    @property
    def is_open(self) -> bool:
        return self._link is not None and self._link.is_initialized and not self._link.channel.closed.done()

    @property
    def link(self) -> Link:
        if self._link is None:
            raise self._refuse()
        return self._link

    async def request(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        return await self.link.conversation.request(command, arguments)

    async def call_aside(self, method: str, **arguments: Any) -> Any:
        return await self.link.inside.call_aside(method, **arguments)

    async def call_in_frame(self, frame: int, method: str, timeout: float | None = None, **arguments: Any) -> Any:
        return await self.link.inside.call_in_frame(frame, method, timeout or self._timeout, **arguments)
