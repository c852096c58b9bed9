"""What the relay holds of a runner: calls to it, and the news of its end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from ..adapters.processes import DYING
from ..adapters.watched import Watched
from ..errors import RelayError
from . import rpc
from .paths import socket_address
from .rpc import GIVE_UP

logger = logging.getLogger(__name__)

PATIENCE = 180.0


class Handle(asyncio.Protocol):
    """One connection to one runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session_id = folder.name
        self.on_notice: Callable[[str, dict[str, Any]], None] = lambda method, params: None
        self.on_lost: Callable[[], None] = lambda: None
        self.is_ending = False
        self._transport: asyncio.Transport | None = None
        self._pid: int | None = None
        self._lines = rpc.Lines()
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(cls, folder: Path) -> Handle:
        with socket_address(folder) as address:
            _, handle = await asyncio.get_running_loop().create_unix_connection(lambda: cls(folder), address)
        return handle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._pid = _peer(transport.get_extra_info("socket"))

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def call(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> bytes:
        """The result as JSON. Raises what the runner raised."""
        if self._transport is None or not self.is_open:
            raise _gone()
        id = next(self._ids)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[id] = future
        params = params or {}
        try:
            self._transport.write(rpc.encode_call(method, params, id, session))
            async with asyncio.timeout(_longest(params)):
                return await future
        except TimeoutError:
            raise RelayError("DEBUGPY_TIMEOUT", "The session's process does not answer", operation=method) from None
        except asyncio.CancelledError:
            if self.is_open:
                self._transport.write(rpc.encode_call(GIVE_UP, {"id": id}))
            raise
        finally:
            self._pending.pop(id, None)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return msgspec.json.decode(await self.call(method, params))

    def data_received(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            try:
                self._take(rpc.decode_incoming(line))
            except msgspec.MsgspecError as error:
                logger.warning("runner %s: %s", self.session_id, error)

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

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        for future in self._pending.values():
            if not future.done():
                future.set_exception(_gone())
        self._closed.set_result(None)
        self.on_lost()

    def let_go(self, reason: RelayError) -> None:
        """Leaves the runner to itself; whoever waits for an answer of it is told why there is none."""
        self.on_lost = lambda: None
        for future in self._pending.values():
            if not future.done():
                future.set_exception(reason)
        if self._transport is not None:
            self._transport.close()

    async def closed(self, timeout: float) -> None:
        """Waits for the runner to be gone, and ends it if it does not go."""
        await asyncio.wait([self._closed], timeout=timeout)
        if not self._closed.done():
            if self._pid is not None:
                await _kill(self._pid)
            if self._transport is not None:
                self._transport.abort()


async def _kill(pid: int) -> None:
    """Whoever is told that it is gone finds it gone."""
    watched = Watched(pid, is_kept=False)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    await asyncio.wait([watched.ended], timeout=DYING)
    watched.close()


class ChildHandle:
    """A session of a runner beside its first: a child of that one's program."""

    def __init__(self, family: Handle, session_id: str) -> None:
        self.family = family
        self.session_id = session_id
        self._is_ending = False

    @property
    def is_ending(self) -> bool:
        return self._is_ending or self.family.is_ending

    @is_ending.setter
    def is_ending(self, value: bool) -> None:
        self._is_ending = value

    async def call(self, method: str, params: dict[str, Any] | None = None) -> bytes:
        return await self.family.call(method, params, self.session_id)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return msgspec.json.decode(await self.call(method, params))


def _peer(sock: Any) -> int | None:
    """The process at the other end (Linux)."""
    if sock is None or not hasattr(socket, "SO_PEERCRED"):
        return None
    packed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", packed)[0])


def _longest(params: dict[str, Any]) -> float:
    """A runner ends every wait by itself; this is for one that hangs."""
    asked = (params.get(name) for name in ("wait", "timeout", "connect_timeout"))
    return PATIENCE + sum(value for value in asked if isinstance(value, (int, float)))


def _gone() -> RelayError:
    return RelayError("DEBUGPY_ERROR", "The process that held this session has ended unexpectedly", status=502)
