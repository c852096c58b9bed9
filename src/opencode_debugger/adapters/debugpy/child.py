"""A child that is debugged: its process, which another one of the session started, followed to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..base import Listener
from ..conversation import Conversation
from ..processes import ExitStatus
from ..watched import Watched
from .hearing import Hearing

LAST_WORDS = 1.0
"""Seconds for what a process said before its end to be read."""
END_PATIENCE = 2.0
"""Seconds from the end of a connection to the end of the process, if it is ending."""


class Child:
    def __init__(
        self, pid: int, talk: Conversation, heard: Hearing, listener: Listener, on_left: Callable[[], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self._watched = Watched(pid)
        self._channel = talk.channel
        self._heard = heard
        self._listener = listener
        self._on_left = on_left
        """told when its end is known, or it is followed no longer"""
        self._verdict: asyncio.Future[None] = loop.create_future()
        talk.farewell = self._verdict
        self._following = loop.create_task(self._follow())

    async def _follow(self) -> None:
        """Tells the end of its process, or only of its debugger."""
        ended, closed = self._watched.ended, self._channel.closed
        either: list[asyncio.Future[Any]] = [ended, closed]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([closed], timeout=LAST_WORDS)
        await asyncio.wait([ended], timeout=0 if self._heard.replaced_by else END_PATIENCE)
        if not ended.done():
            self._listener.on_lost(self._heard.why_it_left())
            self._verdict.set_result(None)
            await ended
        status = ended.result()
        if status is None and self._heard.exit_code is not None:
            status = ExitStatus.of(self._heard.exit_code)
        self._listener.on_exit(status)
        self._left()

    def _left(self) -> None:
        if not self._verdict.done():
            self._verdict.set_result(None)
        self._channel.close()
        self._on_left()

    def forget(self) -> None:
        self._following.cancel()
        self._watched.close()
        self._left()

    async def end(self, grace: float) -> None:
        await self._watched.end(grace)
        await asyncio.wait([self._following], timeout=LAST_WORDS + END_PATIENCE)
        self.forget()
