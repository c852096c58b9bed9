"""DAP with one client: its requests one by one, answers and events to it, nothing kept that it does not take."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

from ..adapters.passed_on.strangers import GDB_REMOTE, in_gdb_remote
from ..dap import framing, messages

CHUNK = 65536
LONGEST = 4 * 1024 * 1024
"""Bytes of a request."""
SPEAKS_DAP = (
    "This tunnel speaks DAP: attach an editor to it, or launch with tunnel_only to have a debug server for gdb or lldb"
)


class Malformed(Exception):
    """A message that is no request; the ones after it may be."""

    def __init__(self, reason: str, seq: int = 0) -> None:
        super().__init__(reason)
        self.seq = seq


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._writing = asyncio.Lock()

    async def received(self) -> AsyncIterator[messages.Request | Malformed]:
        """Until the client leaves. What is not DAP at all ends it, with a word about why."""
        deframer = framing.Deframer(LONGEST)
        is_first = True
        while data := await self._reader.read(CHUNK):
            if is_first and data.startswith(GDB_REMOTE):
                await self._tell_gdb()
                return
            is_first = False
            try:
                bodies = deframer.feed(data)
            except framing.FramingError as error:
                await self.fail(0, "", f"Not DAP: {error}")
                return
            for body in bodies:
                yield understood(body)

    async def _tell_gdb(self) -> None:
        """In its own protocol, so that it shows what is wrong."""
        self._writer.write(in_gdb_remote(SPEAKS_DAP))
        await self._writer.drain()

    async def answer(self, request: messages.Request, body: Any = None) -> None:
        await self._send(messages.Response(request.seq, True, request.command, body=body, seq=next(self._numbers)))

    async def fail(
        self, seq: int, command: str, text: str, short: str | None = None, id: int = 400, is_shown: bool = False
    ) -> None:
        """Shown, it opens a window in the editor."""
        body = {"error": {"id": id, "format": text.replace("{", "(").replace("}", ")"), "showUser": is_shown}}
        await self._send(messages.Response(seq, False, command, short or text, body, next(self._numbers)))

    async def tell(self, event: str, body: dict[str, Any] | None = None) -> None:
        await self._send(messages.Event(event, body or {}, next(self._numbers)))

    async def _send(self, message: messages.Message) -> None:
        """Whoever has something to say waits until the client has taken most of what was said before."""
        async with self._writing:
            self._writer.write(framing.frame(messages.encode(message)))
            await self._writer.drain()


def understood(body: bytes) -> messages.Request | Malformed:
    try:
        message = messages.decode(body)
    except (messages.MessageError, RecursionError) as error:
        return Malformed(f"Not a DAP message: {error}", _seq_of(body))
    if not isinstance(message, messages.Request):
        return Malformed("Only requests are expected here")
    return message


def _seq_of(body: bytes) -> int:
    """Of a message in which something else is wrong, so that its answer finds its way."""
    try:
        seq = messages.decode_json(body)["seq"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0
    return seq if isinstance(seq, int) else 0
