"""The relay's handle of a runner: calls to it, and the news of its end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import signal
import socket
import struct
from pathlib import Path
from typing import Any, Protocol, cast

from ..debuggers.process.foreign_process import Watched
from ..debuggers.process.program_process import DYING, is_stopped
from ..debuggers.run_permission import may_run
from ..errors import RelayError
from ..files import socket_address
from ..operations.advice import advice
from ..operations.asking_client import asking_client
from . import rpc
from .paths import SOCKET
from .rpc import GIVE_UP

logger = logging.getLogger(__name__)

PATIENCE = 180.0
LOOK = 0.7
"""Seconds between two looks at a runner that owes an answer; at the second that finds it stopped this is told."""
HUNG = 20.0
"""Seconds without a sign of life after which a runner that is not stopped is given up as well: it may be busy."""
STOPPED = "The session's process {pid} is stopped by a signal (SIGSTOP): what was asked is done when it goes on"
READY = 1.0
"""Seconds for a runner that has nothing to do to say that it is there."""


class NoAnswer(RelayError):
    """The runner itself does not answer, because it has ended, or is stopped, or hangs."""


class Follower(Protocol):
    """The relay, as far as it has to know what becomes of a runner."""

    def runner_said(self, method: str, params: dict[str, Any]) -> None: ...

    def runner_lost(self) -> None: ...


class RunnerHandle(asyncio.Protocol):
    """One connection to one runner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session_id = folder.name
        self._follower: Follower | None = None
        self._unheard: list[tuple[str, dict[str, Any]]] = []
        """notices that came before somebody followed"""
        self.is_ending = False
        self._transport: asyncio.Transport | None = None
        self._process: Watched | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._was_stopped = False
        self._lines = rpc.LineBuffer()
        self._ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def connect(cls, folder: Path) -> RunnerHandle:
        with socket_address(str(folder), SOCKET) as address:
            _, handle = await asyncio.get_running_loop().create_unix_connection(lambda: cls(folder), address)
        return handle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and hasattr(socket, "SO_PEERCRED"):  # Linux: the process at the other end is known
            packed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid = int(struct.unpack("3i", packed)[0])
            self._process = Watched(pid, is_kept=False) if pid else None

    def follow(self, follower: Follower, from_now: bool = False) -> None:
        """Tell what the runner says by itself, and has said unless it is only `from_now`, and when it is lost."""
        self._follower = follower
        unheard, self._unheard = [] if from_now else self._unheard, []
        for method, params in unheard:
            try:
                follower.runner_said(method, params)
            except rpc.GARBAGE as error:
                self._warn_of_garbage(error)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def call(self, method: str, params: dict[str, Any] | None = None, session: str | None = None) -> bytes:
        """Return the result as JSON; raise what the runner raised."""
        if self._transport is None or not self.is_open:
            raise _gone_error()
        id = next(self._ids)
        params = params or {}
        # A door that does not say what its caller may do gets no code run.
        line = rpc.encode_call(method, params, id, session, may_run.get(False), asking_client.get())
        if len(line) > rpc.LONGEST:
            raise rpc.too_long("request")
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        # Runners end every wait by themselves, unless they hang.
        waits = (params.get(name) for name in ("wait", "timeout", "connect_timeout"))
        longest = PATIENCE + sum(value for value in waits if isinstance(value, (int, float)))
        self._look_later()
        self._pending[id] = future
        try:
            self._transport.write(line)
            async with asyncio.timeout(longest):
                return await future
        except TimeoutError:
            raise _silent_error("does not answer", operation=method) from None
        except (asyncio.CancelledError, NoAnswer):
            if self.is_open:
                self._transport.write(rpc.encode_call(GIVE_UP, {"id": id}))
            raise
        finally:
            self._pending.pop(id, None)

    async def is_ready(self) -> bool:
        """Tell whether the runner is there, and can be found again by the next relay."""
        with contextlib.suppress(NoAnswer, TimeoutError):
            if self.folder.is_dir():
                await asyncio.wait_for(self.call(rpc.PING), READY)
                return True
        return False

    # A runner that owes answers is looked at: it may be stopped, or hang.

    def _look_later(self) -> None:
        if self._looking is None:
            loop = asyncio.get_running_loop()
            if not self._pending:
                self._heard_at, self._was_stopped = loop.time(), False
            self._looking = loop.call_later(LOOK, self._look_at_runner)

    def _look_at_runner(self) -> None:
        self._looking = None
        if not self._pending or self._transport is None:
            return
        was_stopped, self._was_stopped = self._was_stopped, self._process is not None and is_stopped(self._process.pid)
        silence = asyncio.get_running_loop().time() - self._heard_at
        if self._process is not None and self._was_stopped and was_stopped:
            pid = self._process.pid
            suggestion = advice("kill -CONT {pid} lets it go on, {/delete_session force=true} ends it", pid=pid)
            message = STOPPED.format(pid=pid)
            self._fail_pending(NoAnswer("DEBUGPY_TIMEOUT", message, pid=pid, suggestion=suggestion))
        elif silence >= HUNG:
            self._fail_pending(_silent_error("hangs"))
        elif silence >= LOOK:
            self._transport.write(rpc.encode_call(rpc.PING, {}, 0))
        self._look_later()

    def _fail_pending(self, reason: RelayError) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(reason)

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
                self._take_message(rpc.decode_incoming(line))
            except rpc.GARBAGE as error:
                self._warn_of_garbage(error)

    def _warn_of_garbage(self, error: Exception) -> None:
        logger.warning("the runner of session %s sent garbage: %s", self.session_id, error)

    def _take_message(self, incoming: rpc.Incoming) -> None:
        if incoming.method is not None:
            if self._follower is None:
                self._unheard.append((incoming.method, incoming.params))
            else:
                self._follower.runner_said(incoming.method, incoming.params)
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
        self._fail_pending(_gone_error())
        self._closed.set_result(None)
        if self._follower is not None:
            self._follower.runner_lost()

    def let_go(self, reason: RelayError) -> None:
        """Leave the runner to itself; whoever waits for an answer of it is told why there is none."""
        self._follower = None
        self._fail_pending(reason)
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
        """Wait until the runner is gone, which is a moment after its connection; stopped ones never go."""
        if self._process is not None:
            await self._process.end(0 if is_stopped(self._process.pid) else DYING)
            self._process.close()


class ChildHandle:
    """A session of a runner beside its first: a child of that one's program."""

    def __init__(self, family: RunnerHandle, session_id: str) -> None:
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


def _gone_error() -> NoAnswer:
    return NoAnswer("DEBUGPY_ERROR", "The process that held this session has ended unexpectedly", status=502)


def _silent_error(how: str, **details: Any) -> NoAnswer:
    suggestion = advice("Try again; if it stays so: {/delete_session force=true}, and create a new session")
    return NoAnswer("DEBUGPY_TIMEOUT", f"The session's process {how}", suggestion=suggestion, **details)
