"""What the relay holds of a runner: calls to it, and the news of its end."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ..errors import RelayError
from . import rpc
from .paths import socket_address

logger = logging.getLogger(__name__)


class Handle:
    """One connection to one runner."""

    def __init__(self, folder: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.folder = folder
        self.session_id = folder.name
        self.on_notice: Callable[[str, dict[str, Any]], None] = lambda method, params: None
        self.on_lost: Callable[[], None] = lambda: None
        self.is_ending = False
        self._writer = writer
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))

    @classmethod
    async def connect(cls, folder: Path) -> Handle:
        with socket_address(folder) as address:
            reader, writer = await asyncio.open_unix_connection(address, limit=rpc.LONGEST_LINE)
        return cls(folder, reader, writer)

    async def call(self, method: str, params: dict[str, Any] | None = None) -> bytes:
        """The result as JSON. Raises what the runner raised."""
        if self._writer.is_closing():
            raise _gone()
        id = next(self._ids)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[id] = future
        try:
            self._writer.write(rpc.encode_call(method, params or {}, id))
            return await future
        finally:
            self._pending.pop(id, None)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return msgspec.json.decode(await self.call(method, params))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._take(rpc.decode_incoming(line))
        except (ConnectionError, ValueError, msgspec.MsgspecError) as error:
            logger.warning("runner %s: %s", self.session_id, error)
        finally:
            self._writer.close()
            for future in self._pending.values():
                if not future.done():
                    future.set_exception(_gone())
            self.on_lost()

    def _take(self, incoming: rpc.Incoming) -> None:
        if incoming.method is not None:
            self.on_notice(incoming.method, incoming.params)
            return
        future = self._pending.get(incoming.id or 0)
        if future is None or future.done():
            return
        if incoming.error is not None:
            future.set_exception(incoming.error.to_error())
        else:
            future.set_result(bytes(incoming.result))

    async def closed(self, timeout: float) -> bool:
        """Waits for the runner to be gone."""
        await asyncio.wait([self._reading], timeout=timeout)
        return self._reading.done()

    def close(self) -> None:
        self._writer.close()


def _gone() -> RelayError:
    return RelayError("DEBUGPY_ERROR", "The process that held this session has ended unexpectedly", status=502)
