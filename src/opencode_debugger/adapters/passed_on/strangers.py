"""Telling clients in their own protocol that they are at the wrong door."""

from __future__ import annotations

import asyncio
import contextlib

from ...dap import framing, messages
from .client import Client

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
        request = messages.decode(framing.Deframer().feed(begun)[0])
        if isinstance(request, messages.Request):
            seq, command = request.seq, request.command
    body = {"error": {"id": 400, "format": text, "showUser": True}}
    return framing.frame(messages.encode(messages.Response(seq, False, command, text, body, 1)))


async def turn_away(client: Client, text: str, begun: bytes = b"") -> None:
    """When it has said something, so that it listens for the answer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            begun = begun or await client.read()
    await client.write(in_dap(begun, text) if begun.startswith(DAP) else in_gdb_remote(text))
