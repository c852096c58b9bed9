"""A connection to a relay as a stream of bytes: what HTTP is read from, and written to."""

from __future__ import annotations

import select
from typing import BinaryIO, Protocol, cast

from .address import Address


class Stream(Protocol):
    """Its coroutines wait, or block: then they never suspend."""

    @property
    def is_usable(self) -> bool:
        """Tell whether another request can be sent, as far as can be seen from here."""

    async def send(self, data: bytes) -> None: ...

    async def read_line(self) -> bytes:
        """Return a line with its end; less at the end of the stream."""

    async def read_exactly(self, count: int) -> bytes:
        """Raises EOFError if the stream ends before."""

    def close(self) -> None: ...


class BlockingStream:
    def __init__(self, address: Address, timeout: float) -> None:
        connection = address.open_socket()
        try:
            connection.settimeout(timeout)
            trust = address.tls_trust
            self._socket = connection if trust is None else trust.wrap_socket(connection, server_hostname=address.host)
            self._file = cast(BinaryIO, self._socket.makefile("rb"))
        except BaseException:
            connection.close()
            raise

    @property
    def is_usable(self) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)  # what can be read before anything was asked is the end

    def set_timeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    async def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    async def read_line(self) -> bytes:
        return self._file.readline()

    async def read_exactly(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def close(self) -> None:
        self._file.close()
        self._socket.close()
