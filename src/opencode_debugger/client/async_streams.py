"""A connection to a relay as a stream of an event loop."""

from __future__ import annotations

import asyncio

from .address import Address


class AsyncStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def connect(cls, address: Address) -> AsyncStream:
        connection = await asyncio.to_thread(address.open_socket)
        connection.setblocking(False)
        trust = address.tls_trust
        try:
            return cls(*await asyncio.open_connection(
                sock=connection, ssl=trust, server_hostname=None if trust is None else address.host))
        except BaseException:
            connection.close()
            raise

    @property
    def is_usable(self) -> bool:
        is_ours = self._loop is asyncio.get_running_loop()
        return is_ours and not self._reader.at_eof() and not self._writer.is_closing()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def read_line(self) -> bytes:
        return await self._reader.readline()

    async def read_exactly(self, count: int) -> bytes:
        return await self._reader.readexactly(count)

    def close(self) -> None:
        """Hang up at once: the relay notices, and gives up what it was doing for us."""
        if not self._loop.is_closed():
            self._writer.transport.abort()

