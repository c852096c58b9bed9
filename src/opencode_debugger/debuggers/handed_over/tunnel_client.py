"""A client of the tunnel, to whom everything is passed on, or who is told that it is at the wrong door."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from ...dap import framing, messages

CHUNK = 65536
GDB_REMOTE = (b"+", b"$", b"-", b"\x03")
"""How debuggers begin that want a debug server."""
DAP = b"Content-Length"
PATIENCE = 5.0


def in_gdb_remote(text: str) -> bytes:
    """An error packet, whose text gdb shows."""
    body = b"E." + text.encode()
    return b"+$%b#%02x" % (body, sum(body) % 256)


def in_dap(begun: bytes, text: str) -> bytes:
    """The answer to the first request, if all of it has come."""
    seq, command = 1, "initialize"
    with contextlib.suppress(framing.FramingError, messages.MessageError, IndexError):
        request = messages.decode_message(framing.Deframer().feed(begun)[0])
        if isinstance(request, messages.Request):
            seq, command = request.seq, request.command
    body = {"error": {"id": 400, "format": text, "showUser": True}}
    return framing.framed_message(messages.encode(messages.Response(seq, False, command, text, body, 1)))


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    on_use: Callable[[], None]
    """what it sends keeps the session alive"""

    async def read(self) -> bytes:
        data = await self.reader.read(CHUNK)
        self.on_use()
        return data

    async def write(self, data: bytes) -> None:
        """Send data, and wait until the client has taken most of it."""
        self.writer.write(data)
        await self.writer.drain()

    async def turn_away(self, text: str, begun: bytes = b"") -> None:
        """Send it away in its own protocol when it has said something, so that it listens for the answer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                begun = begun or await self.read()
        await self.write(in_dap(begun, text) if begun.startswith(DAP) else in_gdb_remote(text))
