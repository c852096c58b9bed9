"""Ways to a program that runs already: through its debugger's port, or by bringing a debugger into the process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from ...dap.channel import Channel
from ...errors import RelayError
from ..base import AttachSpec
from ..watched import Watched
from . import target
from .callback import CallBack
from .inject import Delivery, inject

DIAL = 1.0
NOTICE = 0.1
"""Seconds in which the end of a process is noticed that has broken a connection."""
BUSY = (
    "Attach again when it has time, or with a larger connect_timeout. It runs on as before; native code that lets no "
    "other thread run must return first"
)


@contextlib.asynccontextmanager
async def translated(spec: AttachSpec) -> AsyncIterator[None]:
    """What goes wrong on the way, as clients are told."""
    where = f"process {spec.pid}" if spec.pid is not None else f"{spec.host}:{spec.port}"
    try:
        yield
    except TimeoutError:
        raise _too_late(spec, where) from None
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


def _too_late(spec: AttachSpec, where: str) -> RelayError:
    limit = f"within {spec.connect_timeout:g} s"
    if spec.port is None:
        message = f"{where.capitalize()} did not load the debugger {limit}: it is busy, perhaps in native code"
        return RelayError("ATTACH_TIMEOUT", message, suggestion=BUSY)
    return RelayError("ATTACH_TIMEOUT", f"Nothing answered as a debugger at {where} {limit}")


async def dial(new_channel: Callable[[], Channel], host: str, port: int) -> Channel:
    """Tries again for a moment: a target that has just started, or was just let go, listens in a moment."""
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


def stranger(pid: int) -> Watched:
    target.require_attachable(pid)
    return Watched(pid, is_kept=False)


class Injection:
    """A debugger on its way into a process, and back to us."""

    def __init__(self, stranger: Watched, folder: str, new_channel: Callable[[], Channel]) -> None:
        self._stranger = stranger
        self._pid = pid = stranger.pid
        self._callback = CallBack(folder if target.can_enter(pid, folder) else None, new_channel)
        self._callback.users.add(target.effective_user(pid))
        if not target.shares_namespace(pid, "user"):
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

    async def connection(self, gdb_path: str | None, seconds: float) -> Channel:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        await inject(self._pid, gdb_path, self._delivery, seconds)
        some: list[asyncio.Future[Any]] = [self._callback.debugger, self._delivery.answer, self._stranger.ended]
        await asyncio.wait(some, timeout=max(0, deadline - loop.time()), return_when=asyncio.FIRST_COMPLETED)
        if self._callback.debugger.done():
            return self._callback.take()
        if self._delivery.answer.done():
            await self.done()
        raise TimeoutError

    async def done(self) -> None:
        """Every thread of the program heeds the debugger now, or it says why not."""
        answer = await self._delivery.answer
        if "refused" in answer:
            raise RelayError(
                "ATTACH_FAILED",
                f"Cannot attach to process {self._pid}: {answer['refused']}",
                suggestion="GET /api/v1/processes tells which session, or which port, it is debugged through",
            )
        if "failed" in answer:
            raise RelayError("ATTACH_FAILED", f"The debugger did not start in process {self._pid}: {answer['failed']}")
