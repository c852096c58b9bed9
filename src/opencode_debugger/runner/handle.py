"""What the relay holds of a runner: calls to it, and the news of its end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import signal
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from ..adapters.permission import may_run
from ..adapters.processes import DYING, is_stopped
from ..adapters.watched import Watched
from ..errors import RelayError
from ..files import socket_address
from . import rpc
from .paths import SOCKET
from .rpc import GIVE_UP

logger = logging.getLogger(__name__)

PATIENCE = 180.0
LOOK = 0.7
"""Seconds between two looks at a runner that owes an answer; at the second that finds it stopped this is told."""
HUNG = 20.0
"""Seconds without a sign of life after which a runner that is not stopped is given up as well: it may be busy."""
READY = 1.0
"""Seconds for a runner that has nothing to do to say that it is there."""


class NoAnswer(RelayError):
    """It is the runner itself that does not answer, because it has ended, or is stopped, or hangs."""


class Handle(asyncio.Protocol):
    """One connection to one runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session_id = folder.name
        self.on_notice: Callable[[str, dict[str, Any]], None] = lambda method, params: None
        self.on_lost: Callable[[], None] = lambda: None
        self.is_ending = False
        self._transport: asyncio.Transport | None = None
        self._process: Watched | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._was_stopped = False
        self._lines = rpc.Lines()
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(cls, folder: Path) -> Handle:
        with socket_address(str(folder), SOCKET) as address:
            _, handle = await asyncio.get_running_loop().create_unix_connection(lambda: cls(folder), address)
        return handle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        pid = _peer(transport.get_extra_info("socket"))
        self._process = Watched(pid, is_kept=False) if pid else None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def call(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> bytes:
        """The result as JSON. Raises what the runner raised."""
        if self._transport is None or not self.is_open:
            raise _gone()
        id = next(self._ids)
        params = params or {}
        # A door that does not say what its caller may do gets no code run.
        line = rpc.encode_call(method, params, id, session, may_run.get(False))
        if len(line) > rpc.LONGEST:
            raise rpc.too_long("request")
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._look_later()
        self._pending[id] = future
        try:
            self._transport.write(line)
            async with asyncio.timeout(_longest(params)):
                return await future
        except TimeoutError:
            raise _silent("does not answer", operation=method) from None
        except (asyncio.CancelledError, NoAnswer):
            if self.is_open:
                self._transport.write(rpc.encode_call(GIVE_UP, {"id": id}))
            raise
        finally:
            self._pending.pop(id, None)

    async def is_ready(self) -> bool:
        """Whether it is there, and can be found again by the next relay."""
        if not self.folder.is_dir():
            return False
        with contextlib.suppress(NoAnswer, TimeoutError):
            await asyncio.wait_for(self.call(rpc.PING), READY)
            return True
        return False

    # A runner that owes answers is looked at: it may be stopped, or hang.

    def _look_later(self) -> None:
        if self._looking is None:
            loop = asyncio.get_running_loop()
            if not self._pending:
                self._heard_at, self._was_stopped = loop.time(), False
            self._looking = loop.call_later(LOOK, self._look)

    def _look(self) -> None:
        self._looking = None
        if not self._pending or self._transport is None:
            return
        was_stopped, self._was_stopped = self._was_stopped, self._process is not None and is_stopped(self._process.pid)
        silence = asyncio.get_running_loop().time() - self._heard_at
        if self._process is not None and self._was_stopped and was_stopped:
            self._fail(_stopped(self._process.pid))
        elif silence >= HUNG:
            self._fail(_silent("hangs"))
        elif silence >= LOOK:
            self._transport.write(rpc.encode_call(rpc.PING, {}, 0))
        self._look_later()

    def _fail(self, reason: RelayError) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(reason)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return msgspec.json.decode(await self.call(method, params))

    def data_received(self, data: bytes) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        try:
            lines = self._lines.feed(data)
        except ValueError as error:
            logger.warning("the runner of session %s is ended: it sent %s", self.session_id, error)
            self.kill()
            return
        for line in lines:
            try:
                self._take(rpc.decode_incoming(line))
            except rpc.GARBAGE as error:
                logger.warning("the runner of session %s sent garbage: %s", self.session_id, error)

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
        self._fail(_gone())
        self._closed.set_result(None)
        self.on_lost()

    def let_go(self, reason: RelayError) -> None:
        """Leaves the runner to itself; whoever waits for an answer of it is told why there is none."""
        self.on_lost = lambda: None
        self._fail(reason)
        if self._process is not None:
            self._process.close()
        if self._transport is not None:
            self._transport.close()

    async def hung_up(self, timeout: float) -> None:
        """Waits until it is noticed that the connection is gone, if it is."""
        await asyncio.wait([self._closed], timeout=timeout)

    async def closed(self, timeout: float) -> None:
        """Waits for the runner to be gone, and ends it if it does not go."""
        await self.hung_up(timeout)
        if not self._closed.done():
            self.kill()
            await self.gone()

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
        if self._transport is not None:
            self._transport.abort()

    async def gone(self) -> None:
        """Whoever is told that it is gone finds it gone: a moment after its connection; stopped ones never go."""
        if self._process is not None:
            await self._process.end(0 if is_stopped(self._process.pid) else DYING)
            self._process.close()


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


def _gone() -> NoAnswer:
    return NoAnswer("DEBUGPY_ERROR", "The process that held this session has ended unexpectedly", status=502)


def _silent(how: str, **details: Any) -> NoAnswer:
    suggestion = "Try again; if it stays so: DELETE /api/v1/sessions/{id}?force=true, and create a new session"
    return NoAnswer("DEBUGPY_TIMEOUT", f"The session's process {how}", suggestion=suggestion, **details)


def _stopped(pid: int) -> NoAnswer:
    return NoAnswer(
        "DEBUGPY_TIMEOUT",
        f"The session's process {pid} is stopped by a signal (SIGSTOP): what was asked is done when it goes on",
        pid=pid,
        suggestion=f"kill -CONT {pid} lets it go on, DELETE /api/v1/sessions/{{id}}?force=true ends it",
    )
