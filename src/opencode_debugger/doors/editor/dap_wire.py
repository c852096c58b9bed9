"""DAP with one client: its requests one by one, answers and events to it, nothing kept that it does not take."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

from ...dap import framing, messages
from ...debuggers.handed_over.tunnel_client import GDB_REMOTE, in_gdb_remote

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


class EditorWire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._writing = asyncio.Lock()

    async def receive_requests(self) -> AsyncIterator[messages.Request | Malformed]:
        """Yield requests until the client leaves. What is not DAP at all ends it, with a word about why."""
        deframer = framing.Deframer(LONGEST)
        is_first = True
        while data := await self._reader.read(CHUNK):
            if is_first and data.startswith(GDB_REMOTE):
                self._writer.write(in_gdb_remote(SPEAKS_DAP))  # in its own protocol, so that it shows what is wrong
                await self._writer.drain()
                return
            is_first = False
            try:
                bodies = deframer.feed(data)
            except framing.FramingError as error:
                await self.send_failure(0, "", f"Not DAP: {error}")
                return
            for body in bodies:
                yield read_request(body)

    async def send_answer(self, request: messages.Request, body: object = None) -> None:
        answer = messages.Response(request.seq, True, request.command, body=body, seq=next(self._numbers))
        await self._send_message(answer)

    async def send_failure(
        self, seq: int, command: str, text: str, short: str | None = None, id: int = 400, is_shown: bool = False
    ) -> None:
        """Shown, it opens a window in the editor."""
        body = {"error": {"id": id, "format": text.replace("{", "(").replace("}", ")"), "showUser": is_shown}}
        await self._send_message(messages.Response(seq, False, command, short or text, body, next(self._numbers)))

    async def send_event(self, event: str, body: object = None) -> None:
        await self._send_message(messages.Event(event, body or {}, next(self._numbers)))

    async def _send_message(self, message: messages.Message) -> None:
        """Send a message once the client has taken most of those before it."""
        async with self._writing:
            self._writer.write(framing.framed_message(messages.encode(message)))
            await self._writer.drain()


def read_request(body: bytes) -> messages.Request | Malformed:
    try:
        message = messages.decode_message(body)
    except (messages.MessageError, RecursionError) as error:
        seq = 0  # of a message in which something else is wrong, so that its answer finds its way
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            seq = messages.decode_json(body)["seq"]
        return Malformed(f"Not a DAP message: {error}", seq if isinstance(seq, int) else 0)
    if not isinstance(message, messages.Request):
        return Malformed("Only requests are expected here")
    return message
