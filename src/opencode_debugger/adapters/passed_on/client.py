"""A client of the tunnel, to whom everything is passed on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

CHUNK = 65536


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
        """Returns when it has taken most of it."""
        self.writer.write(data)
        await self.writer.drain()
