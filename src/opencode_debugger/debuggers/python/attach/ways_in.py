"""Programs that ran before the session came: reached by their debugger's port, or by bringing a debugger into them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....dap.channel import Channel
from ....errors import RelayError
from ....operations.advice import advice
from ...process.foreign_process import Watched
from ...process.program_process import ExitStatus
from ...shapes import AttachSpec
from ..children.debugged_child import END_PATIENCE
from ..debugpy_connection import DebugpyConnection, Link
from ..launch.callback_socket import CallBack
from ..program_target import ProgramTarget
from . import attach_target, debugpy_ports
from .inject_debugger import Delivery, inject

if TYPE_CHECKING:
    from ...protocols import Listener

DIAL = 1.0
NOTICE = 0.1
"""Seconds in which the end of a process is noticed that has broken a connection."""
BUSY = (
    "Attach again when it has time, or with a larger connect_timeout. It runs on as before; native code that lets no "
    "other thread run must return first"
)


@contextlib.asynccontextmanager
async def translated_failures(spec: AttachSpec) -> AsyncIterator[None]:
    """Turn what goes wrong on the way into the errors that clients are told."""
    where = f"process {spec.pid}" if spec.pid is not None else f"{spec.host}:{spec.port}"
    try:
        yield
    except TimeoutError:
        limit = f"within {spec.connect_timeout:g} s"
        if spec.port is not None:
            raise RelayError("ATTACH_TIMEOUT", f"Nothing answered as a debugger at {where} {limit}") from None
        message = f"{where.capitalize()} did not load the debugger {limit}: it is busy, perhaps in native code"
        raise RelayError("ATTACH_TIMEOUT", message, suggestion=BUSY) from None
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        code = "ATTACH_FAILED" if spec.port is None else "ATTACH_REFUSED"
        raise RelayError(code, f"No connection to {where}: {reason}") from error
    except RelayError as error:
        if error.code.startswith("ATTACH_"):
            raise
        if error.code == "DEBUGPY_TIMEOUT":
            raise RelayError("ATTACH_TIMEOUT", f"The debugger at {where} does not answer") from error
        what = f"The debugger in {where} failed" if spec.port is None else f"What listens at {where} is not a debugger"
        more = "" if spec.port is None else " that can be attached to"
        raise RelayError("ATTACH_FAILED", f"{what}{more}: {error.message}") from error


async def dial_port(new_channel: Callable[[], Channel], host: str, port: int) -> Channel:
    """Connect, trying again for a moment: a target that has just started, or was just let go, listens in a moment."""
    loop = asyncio.get_running_loop()
    patience = loop.time() + DIAL
    while True:
        try:
            _, channel = await loop.create_connection(new_channel, host, port)
            return channel
        except ConnectionRefusedError:
            if loop.time() > patience:
                raise
        await asyncio.sleep(DIAL / 20)


class Injection:
    """A debugger on its way into a process, and back to us."""

    def __init__(self, stranger: Watched, folder: str, new_channel: Callable[[], Channel]) -> None:
        self._stranger = stranger
        self._pid = pid = stranger.pid
        self._callback = CallBack(folder if attach_target.can_enter(pid, folder) else None, new_channel)
        self._callback.users.add(attach_target.effective_user(pid))
        if not attach_target.shares_namespace(pid, "user"):
            self._callback.user = None  # there we have another number
        self._delivery = Delivery(self._callback)

    async def __aenter__(self) -> Injection:
        await self._callback.__aenter__()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._callback.close()
        self._delivery.close()
        if isinstance(error, (RelayError, TimeoutError, OSError)):
            await asyncio.wait([self._stranger.ended], timeout=NOTICE)
            if self._stranger.ended.done():
                raise RelayError("ATTACH_FAILED", f"Process {self._pid} ended while it was attached to") from error

    async def debugger_connection(self, gdb_path: str | None, seconds: float) -> Channel:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        await inject(self._pid, gdb_path, self._delivery, seconds)
        some: list[asyncio.Future[Any]] = [self._callback.debugger, self._delivery.answer, self._stranger.ended]
        await asyncio.wait(some, timeout=max(0, deadline - loop.time()), return_when=asyncio.FIRST_COMPLETED)
        if self._callback.debugger.done():
            return self._callback.take()
        if self._delivery.answer.done():
            await self.await_done()
        raise TimeoutError

    async def await_done(self) -> None:
        """Return when every thread of the program heeds the debugger, or raise why not."""
        answer = await self._delivery.answer
        if answer.refused is not None:
            instead = advice("{/list_processes} tells which session, or which port, it is debugged through")
            message = f"Cannot attach to process {self._pid}: {answer.refused}"
            raise RelayError("ATTACH_FAILED", message, suggestion=instead)
        if answer.failed is not None:
            raise RelayError("ATTACH_FAILED", f"The debugger did not start in process {self._pid}: {answer.failed}")


@dataclass(eq=False)
class AttachedByPort(ProgramTarget):
    """Somebody else's debugger, which listens at a port."""

    _port: int
    _listener: Listener
    _connection: DebugpyConnection

    def is_here(self, pid: int) -> bool:
        """Tell whether it is on this machine: only its port shows that."""
        return debugpy_ports.debugpy_port(pid) == self._port

    def debugger_finished(self) -> None:
        self._connection.hang_up()

    def connection_closed(self, link: Link, reason: Exception | None) -> None:
        if link.events.exit_code is not None:
            self._listener.on_exit(ExitStatus.of(link.events.exit_code))
        else:
            self._listener.on_lost(str(reason or "the program ended or its debugger let go"))

    async def let_go(self) -> None:
        await self._disconnect(terminate=False)

    async def _disconnect(self, terminate: bool) -> None:
        # Its adapter dies, and its port with it, if we are gone before it has closed its end.
        await self._connection.disconnect(terminate, awaits_close=True)

    async def terminate(self, grace: float) -> None:
        await self._disconnect(terminate=True)

    async def end(self, grace: float) -> None:
        if self._connection.is_initialized:
            await self.let_go()


@dataclass(eq=False)
class AttachedByPid(ProgramTarget):
    """A process into which we brought the debugger."""

    process: Watched
    _listener: Listener
    _connection: DebugpyConnection

    def debugger_finished(self) -> None:
        self._connection.hang_up()

    def connection_closed(self, link: Link, reason: Exception | None) -> None:
        link.conversation.farewell = asyncio.get_running_loop().create_task(self._expect_end())

    async def _expect_end(self) -> None:
        """Tell that it ended: whoever is not its parent does not get to know how."""
        ended = self.process.ended
        await asyncio.wait([ended], timeout=END_PATIENCE)
        goes_on = "the program closed the connection to its debugger and runs on"
        self._listener.on_lost("exited" if ended.done() else goes_on)

    async def let_go(self) -> None:
        await self._connection.disconnect(terminate=False)

    async def terminate(self, grace: float) -> None:
        await self.process.end(grace)
        if self.process.is_alive:
            raise RelayError("DEBUGPY_TIMEOUT", f"Process {self.process.pid} did not end", operation="terminate")

    async def end(self, grace: float) -> None:
        if self._connection.is_initialized:
            await self.let_go()
        self.process.close()
