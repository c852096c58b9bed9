"""A WebSocket on the wire: uvicorn's, with writes in batches and an end to readers that do not read."""

import asyncio
import contextlib
import fcntl
import logging
import struct
import termios
from collections.abc import Iterable
from typing import Any, Protocol, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import Frame
from websockets.http11 import Request

EXTENSION = "opencode_debugger.wire"
BATCH = 64 * 1024
TEXT, BINARY = 0x81, 0x82
STALLED = 60.0
"""Seconds for which a reader may take nothing at all while something waits to be sent."""
PARTING = 10.0
"""Seconds in which the other side may answer a close frame, or read what was sent before it."""
LEAVING = 1.0
"""Seconds that are left to whoever does not read when the relay stops."""
QUIET = 0.2
"""Seconds in which whoever broke the protocol must send nothing to be taken to have noticed."""

MOST_UNSENT = 256 * 1024 * 1024
"""Bytes that may wait for all readers together."""
HELD = 1024 * 1024
"""Bytes that are counted for each who does not read, besides what its connection has: the page that comes next."""
HESITATING = 1.0
"""Seconds for which anybody may take nothing."""

SILENT = logging.getLogger("opencode_debugger.doors.websocket.silent")
SILENT.disabled = True


class Gone(Exception):
    """The other side has left."""


class Stalled(Exception):
    """The other side does not read."""


class BoundedWebSocket(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Addresses and headers would be logged, and with them what clients put there: tokens.
        self.logger = SILENT
        self.conn.logger, self.conn.debug = SILENT, False
        self._end: asyncio.TimerHandle | None = None
        self.idle_since: float | None = None
        """when it was closed from here: from then on only the other side has something to do"""
        self.waiting_since: float | None = None
        """when the other side stopped reading"""

    # Opening.

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):
            cast(dict[str, Any], self.scope["extensions"])[EXTENSION] = self

    # Sending.

    def pause_writing(self) -> None:
        self.waiting_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.waiting_since = None
        super().resume_writing()

    async def send_texts(self, texts: Iterable[bytes]) -> None:
        """Messages that are UTF-8 already. Returns when there is room for more."""
        batch: list[bytes] = []
        size = 0
        for text in texts:
            batch += (head_of(len(text)), text)
            size += len(text)
            if size >= BATCH:
                await self._write_frame(b"".join(batch))
                batch, size = [], 0
        if batch:
            await self._write_frame(b"".join(batch))

    async def send_bytes(self, data: bytes) -> None:
        await self._write_frame(head_of(len(data), BINARY) + data)

    async def _write_frame(self, data: bytes) -> None:
        while not self.writable.is_set():
            before = unsent_bytes(self.transport)
            try:
                async with asyncio.timeout(STALLED):
                    await self.writable.wait()
            except TimeoutError:
                if unsent_bytes(self.transport) >= before:
                    raise Stalled from None
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise Gone
        self.transport.write(data)

    def handle_ping(self) -> None:
        """Answer a ping only to those who read, or answers would pile up here."""
        answer = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(answer)

    # Ending. Closing a transport waits until all is sent, which may be never.

    def end_stream(self, code: int, reason: str = "") -> None:
        if self.close_sent or self.disconnected or self.transport.is_closing():
            return
        self.conn.send_close(code, reason)
        self._send_close()
        self.close_timer = self.loop.call_later(PARTING, self.transport.abort)

    def _send_close(self) -> None:
        """Sends the close frame. What the other side is still sending is taken, or it might never read it."""
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent, self.idle_since = True, self.loop.time()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()

    def handle_close(self, event: Frame) -> None:
        super().handle_close(event)
        self._end_soon(PARTING)

    def data_received(self, data: bytes) -> None:
        if self.conn.parser_exc is None:
            super().data_received(data)
            if not self.handshake_initiated:
                # All of the request's head has come, and it was not understood: nothing more would happen.
                answer = b"".join(self.conn.data_to_send())
                self.transport.write(answer or self.conn.reject(400, "This request opens no WebSocket\n").serialize())
                self.transport.close()
        else:
            self._close_when_quiet()

    def send_receive_event_to_app(self) -> None:
        """Text that is not UTF-8 ends the stream, unless its sender has ended it with the same packet."""
        with contextlib.suppress(InvalidState):
            super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        closed = self.conn.close_sent
        assert closed is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": closed.code, "reason": closed.reason})
        self._send_close()
        self._close_when_quiet()
        self._end_soon(PARTING)

    def _close_when_quiet(self) -> None:
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = self.loop.call_later(QUIET, self.transport.close)

    def shutdown(self) -> None:
        super().shutdown()
        self._end_soon(LEAVING)

    def _end_soon(self, seconds: float) -> None:
        if self._end is None and not self.disconnected:
            self._end = self.loop.call_later(seconds, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)


class Reader(Protocol):
    transport: asyncio.Transport
    waiting_since: float | None


def cut_slowest(readers: Iterable[Reader], now: float) -> None:
    """Ends those who have not read for longest, as far as too much waits for all of them together."""
    waiting = [reader for reader in readers if reader.waiting_since is not None]
    sizes = {reader: reader.transport.get_write_buffer_size() + HELD for reader in waiting}
    total = sum(sizes.values())
    for reader in sorted(waiting, key=lambda reader: reader.waiting_since or now):
        if total <= MOST_UNSENT or now - (reader.waiting_since or now) < HESITATING:
            return
        reader.transport.abort()
        total -= sizes[reader]


def unsent_bytes(transport: asyncio.Transport) -> int:
    """Bytes that the other side has not taken, those included that only the system still has."""
    size = transport.get_write_buffer_size()
    with contextlib.suppress(OSError):
        descriptor = transport.get_extra_info("socket").fileno()
        (queued,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)))
        size += queued
    return size


def head_of(length: int, kind: int = TEXT) -> bytes:
    """Return the head of an unmasked, unfragmented frame."""
    if length < 126:
        return bytes((kind, length))
    if length < 65536:
        return struct.pack("!BBH", kind, 126, length)
    return struct.pack("!BBQ", kind, 127, length)
