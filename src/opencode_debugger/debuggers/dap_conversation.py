"""A DAP conversation as a session needs it: only requests that the debugger knows, failures that clients understand."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from ..dap.channel import Channel, ChannelClosed, RequestFailed, answer_body
from ..dap.messages import Response
from ..errors import RelayError


@dataclass(eq=False)
class Conversation:
    channel: Channel
    _allowed: frozenset[str]
    _timeout: float
    farewell: asyncio.Future[None] | None = None
    """done when it is known how a lost connection ended"""

    def send(self, command: str, arguments: dict[str, Any]) -> asyncio.Future[Response]:
        """Send at once, whether or not somebody waits for the answer."""
        assert command in self._allowed, command
        try:
            return self.channel.send(command, arguments)
        except ChannelClosed as error:
            raise _connection_lost(command) from error

    async def request(
        self, command: str, arguments: dict[str, Any] | None = None, *, timeout: float | None = None
    ) -> Any:
        assert command in self._allowed, command
        async with self.translated(command):
            return await answer_body(self.channel.send(command, arguments), timeout or self._timeout)

    async def answer(self, command: str, sent: asyncio.Future[Response], timeout: float | None = None) -> Any:
        async with self.translated(command):
            return await answer_body(sent, timeout or self._timeout)

    @contextlib.asynccontextmanager
    async def translated(self, operation: str) -> AsyncIterator[None]:
        """Turn what goes wrong between us and the debugger into the errors that clients are told."""
        try:
            yield
        except RequestFailed as error:
            raise RelayError("DEBUGPY_ERROR", f"The debugger refused {operation}: {error}") from error
        except TimeoutError as error:
            message = f"The debugger did not answer {operation} in time"
            raise RelayError("DEBUGPY_TIMEOUT", message, operation=operation) from error
        except ChannelClosed as error:
            await asyncio.sleep(0)  # a connection that is closing says so in the next turn of the loop
            await asyncio.sleep(0)
            if self.farewell is not None:  # it is known how the program ended: whoever asks next gets no stale state
                await asyncio.wait([self.farewell])
            raise _connection_lost(operation) from error


def _connection_lost(operation: str) -> RelayError:
    return RelayError("DEBUGPY_ERROR", f"Connection to the debugger lost during {operation}", status=502)
