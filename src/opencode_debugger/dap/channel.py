"""One DAP conversation over a socket: requests with deadlines, events, reverse requests."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any, cast

from . import framing, messages

logger = logging.getLogger(__name__)

# Linux only. A debugger at the other end of a TCP connection uses Nagle's algorithm, which waits for our delayed ACK:
# 40 ms a message without this.
TCP_QUICKACK = getattr(socket, "TCP_QUICKACK", None)


class ChannelClosed(Exception):
    """The debugger is gone, or the connection to it."""


class RequestFailed(Exception):
    """The debugger answered that it could not do it."""


async def answer_body(sent: asyncio.Future[messages.Response], timeout: float) -> Any:
    """Return the body of what came for a request. Raise RequestFailed, TimeoutError or ChannelClosed."""
    if not sent.done():
        async with asyncio.timeout(timeout):
            await sent
    response = sent.result()
    if not response.success:
        raise RequestFailed(response.message or f"{response.command} failed")
    return response.body


class Channel(asyncio.Protocol):
    """One conversation: give it to `loop.create_connection` or `create_server`; it is usable once connected."""

    def __init__(
        self,
        on_event: Callable[[messages.Event], None],
        on_closed: Callable[[Exception | None], None] = lambda reason: None,
    ) -> None:
        self.on_event = on_event
        self.on_closed = on_closed
        self.connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._deframer = framing.Deframer()
        self._pending: dict[int, asyncio.Future[messages.Response]] = {}
        self.last_seq = 0
        """the number of the message that was sent last, by which a request can be cancelled"""
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            self._socket = sock
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._quick_ack()
        if not self.connected.done():
            self.connected.set_result(None)

    def _quick_ack(self) -> None:
        """Ask for it again after each read: the kernel forgets it."""
        if self._socket is not None and TCP_QUICKACK is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 1)

    def data_received(self, data: bytes) -> None:
        self._quick_ack()
        try:
            for body in self._deframer.feed(data):
                self._dispatch_message(messages.decode_message(body))
        except (framing.FramingError, messages.MessageError) as error:
            logger.warning("the debugger sent something that is not DAP: %s", error)
            self.close(error)

    def _dispatch_message(self, message: messages.Message) -> None:
        match message:
            case messages.Response():
                future = self._pending.pop(message.request_seq, None)
                if future is not None and not future.done():
                    future.set_result(message)
            case messages.Event():
                self.on_event(message)
            case messages.Request():
                logger.debug("reverse request refused: %s", message.command)
                seq = self._next_seq()
                self._write_message(messages.Response(message.seq, False, message.command, "not supported", seq=seq))

    def _next_seq(self) -> int:
        self.last_seq += 1
        return self.last_seq

    def _write_message(self, message: messages.Message) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ChannelClosed("the debugger is not connected")
        self._transport.write(framing.framed_message(messages.encode(message)))

    def send(self, command: str, arguments: dict[str, Any] | None = None) -> asyncio.Future[messages.Response]:
        """Send at once; the future holds the answer, whatever it says."""
        seq = self._next_seq()
        future: asyncio.Future[messages.Response] = asyncio.get_running_loop().create_future()
        self._pending[seq] = future
        try:
            self._write_message(messages.Request(seq, command, arguments or {}))
        except BaseException:
            del self._pending[seq]
            raise
        return future

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        pending, self._pending = self._pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(ChannelClosed("the debugger closed the connection"))
                future.exception()  # nobody may be waiting any more
        if not self.connected.done():
            self.connected.cancel()
        if not self.closed.done():
            self.closed.set_result(None)
        self.on_closed(exc)

    def close(self, reason: Exception | None = None) -> None:
        if self._transport is not None:
            if reason is None:
                self._transport.close()
            else:
                self._transport.abort()

    def hand_over(self) -> tuple[asyncio.Transport, framing.Deframer]:
        """Return the connection for somebody else to talk through, and what has come of the next message."""
        if self._transport is None:
            raise ChannelClosed("the debugger closed the connection")
        transport, self._transport = self._transport, None
        return transport, self._deframer
