"""DAP framing without IO: bytes in, message bodies out."""

from __future__ import annotations

MAX_BODY = 256 * 1024 * 1024
MAX_HEADER = 16 * 1024
_SEPARATOR = b"\r\n\r\n"


class FramingError(Exception):
    """The other side does not speak the protocol; the connection is useless from here on."""


def framed_message(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Deframer:
    """Collects bytes and gives back each complete message body once."""

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._buffer = bytearray()
        self._wanted: int | None = None

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        return list(iter(self._next_message, None))

    def _next_message(self) -> bytes | None:
        if self._wanted is None:
            self._wanted = self._read_header()
        if self._wanted is None or len(self._buffer) < self._wanted:
            return None
        body = bytes(self._buffer[: self._wanted])
        del self._buffer[: self._wanted]
        self._wanted = None
        return body

    def _read_header(self) -> int | None:
        end = self._buffer.find(_SEPARATOR)
        if end < 0:
            if len(self._buffer) > MAX_HEADER:
                raise FramingError(f"no header in the first {MAX_HEADER} bytes: {bytes(self._buffer[:60])!r}")
            return None
        header = bytes(self._buffer[:end])
        del self._buffer[: end + len(_SEPARATOR)]
        return _content_length(header, self._max_body)


def _content_length(header: bytes, max_body: int) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
            if length > max_body:
                raise FramingError(f"message of {length} bytes is over the limit of {max_body}")
            return length
    raise FramingError(f"no Content-Length in header {header[:60]!r}")
