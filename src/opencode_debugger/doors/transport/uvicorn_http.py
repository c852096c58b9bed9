"""HTTP on the wire: uvicorn's, with an end to whoever does not read, or does not come to the end of a request."""

import asyncio
import uuid
from enum import Enum
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...auth.guard import COMMON_HEADERS, JSON_TYPE
from ...errors import RelayError
from ...models import envelope
from . import uvicorn_websocket

LARGEST_HEAD = 64 * 1024
"""Bytes of the head of a request, and of what comes behind a body."""


class Awaited(Enum):
    HEAD = "head"
    BODY = "body"
    NOTHING = "nothing"


PATIENCE = {Awaited.HEAD: 30.0, Awaited.BODY: 60.0}
"""Seconds for all of a head; seconds in which something of a body must come, and all of it, if it is not long."""
SLOWEST = 16 * 1024
"""Bytes of a long body that must come per second, on the whole."""


def refusal_of(error: RelayError) -> bytes:
    """All of an answer, for whoever is closed with it."""
    body = envelope.failure_answer(error, str(uuid.uuid4()))
    headers = [JSON_TYPE, *COMMON_HEADERS, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    lines = [b"HTTP/1.1 %d %b" % (error.status, HTTPStatus(error.status).phrase.encode())]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b"", body])


class Http(HttpToolsProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._look: asyncio.TimerHandle | None = None
        self._due: asyncio.TimerHandle | None = None
        self._awaited = Awaited.HEAD
        self._loose = 0
        """bytes since the last that were understood as a head, or as part of a body"""
        self._idle_since = self.loop.time()
        self._body_due = 0.0
        """when a body must have come to its end: it might else come so slowly that it goes on for ever"""
        self.waiting_since: float | None = None
        """when the other side stopped reading"""

    @property
    def idle_since(self) -> float | None:
        """Since when there is no request to answer; None while there is one."""
        return self._idle_since if self.cycle is None or self.cycle.response_complete else None

    # Requests that come in. Until its token is seen, anybody may have sent one.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_body()

    def data_received(self, data: bytes) -> None:
        self._loose += len(data)
        super().data_received(data)
        if self._loose > LARGEST_HEAD and not self.transport.is_closing():
            message = f"The head of the request is larger than {LARGEST_HEAD} bytes"
            self._refuse_request(message, "Send less in its headers")
        if self._awaited is Awaited.NOTHING or self.transport.is_closing():
            self._wait_no_more()
        elif self._awaited is Awaited.BODY and self.loop.time() > self._body_due:
            self.transport.close()
        elif self._awaited is Awaited.BODY or self._due is None:
            self._wait_for_body()

    def on_message_begin(self) -> None:
        self._awaited = Awaited.HEAD
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._awaited is Awaited.HEAD:  # those behind a body would count as if they stood before it
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._loose, self._awaited = 0, Awaited.BODY
        self._body_due = self.loop.time() + PATIENCE[Awaited.BODY]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._loose = 0
        self._body_due += len(body) / SLOWEST
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._loose, self._awaited = 0, Awaited.NOTHING
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        self._awaited = Awaited.NOTHING
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        suggestion = "Use https:// if, and only if, the relay has a certificate"
        self._refuse_request("This is not a request in HTTP/1.1", suggestion)

    def _refuse_request(self, message: str, suggestion: str) -> None:
        self.transport.write(refusal_of(RelayError("INVALID_REQUEST", message, suggestion=suggestion)))
        self.transport.close()

    def _wait_for_body(self) -> None:
        self._wait_no_more()
        self._due = self.loop.call_later(PATIENCE[self._awaited], self._give_up)

    def _wait_no_more(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        is_answering = self._awaited is Awaited.HEAD and self.cycle is not None and not self.cycle.response_complete
        if self.flow.read_paused or is_answering:
            self._wait_for_body()  # it is we who do not read, or have not answered what came before
        else:
            self.transport.close()

    # Answers that go out.

    def pause_writing(self) -> None:
        super().pause_writing()
        self.waiting_since = self.loop.time()
        self._look_after(uvicorn_websocket.STALLED)

    def resume_writing(self) -> None:
        self._look_no_more()
        self.waiting_since = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        self._look_no_more()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        if self.flow.write_paused:
            self._look_after(uvicorn_websocket.LEAVING)

    def _look_after(self, seconds: float) -> None:
        self._look_no_more()
        self._look = self.loop.call_later(seconds, self._end_if_stalled, uvicorn_websocket.unsent_bytes(self.transport))

    def _end_if_stalled(self, before: int) -> None:
        if uvicorn_websocket.unsent_bytes(self.transport) >= before:
            self.transport.abort()
        else:
            self._look_after(uvicorn_websocket.STALLED)

    def _look_no_more(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None
