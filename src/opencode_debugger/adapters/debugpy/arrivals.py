"""A child of a debugged program whose debugger has called, before there is a session for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dap.channel import Channel
from ...errors import RelayError
from ..conversation import Conversation
from .probe import Probe
from .protocol import ALLOWED

if TYPE_CHECKING:
    from .adapter import DebugpyAdapter

INTRODUCTION = 10.0


class ChildArrival:
    def __init__(self, channel: Channel, elder: DebugpyAdapter) -> None:
        self.channel = channel
        self.elder = elder
        self.known: dict[str, Any] = {}

    async def introduce(self) -> dict[str, Any]:
        talk = Conversation(self.channel, ALLOWED, INTRODUCTION)
        about = await Probe(talk, INTRODUCTION).aside("about")
        if not (isinstance(about.get("pid"), int) and isinstance(about.get("ppid"), int)):
            raise RelayError("DEBUGPY_ERROR", "A child did not say what it is")
        return dict(about)

    def let_go(self) -> None:
        self.channel.close()
