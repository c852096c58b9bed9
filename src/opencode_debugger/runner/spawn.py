"""Starting runners, and keeping one ready so that a new session waits for nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

from ..errors import RelayError
from .handle import Handle
from .paths import LOG

logger = logging.getLogger(__name__)

START_TIMEOUT = 15.0
END_TIMEOUT = 5.0
POLL = 0.005


async def start_runner(sessions: Path) -> Handle:
    """A new runner in a folder of its own, whose name is the id of its future session."""
    folder = sessions / f"sess_{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    process = _start_process(folder)
    try:
        async with asyncio.timeout(START_TIMEOUT):
            while True:
                with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                    return await Handle.connect(folder)
                if process.poll() is not None:
                    raise RuntimeError(f"runner ended at once: {(folder / LOG).read_text(errors='replace')[-2000:]}")
                await asyncio.sleep(POLL)
    except BaseException:
        process.kill()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _start_process(folder: Path) -> subprocess.Popen[bytes]:
    with open(folder / LOG, "ab", opener=_private) as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "opencode_debugger.runner", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    reap()
    _processes.add(process)
    return process


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


_processes: set[subprocess.Popen[bytes]] = set()


def reap() -> None:
    """Collects runners that have ended, so that none stays behind as a zombie."""
    for process in list(_processes):
        if process.poll() is not None:
            _processes.discard(process)


def reap_all(timeout: float) -> None:
    for process in list(_processes):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout)
            _processes.discard(process)


class Spares:
    """Runners started ahead, the oldest first."""

    def __init__(self, sessions: Path, count: int) -> None:
        self._sessions = sessions
        self._count = count
        self._starting: list[asyncio.Task[Handle]] = []
        self._is_closed = False

    def refill(self) -> None:
        while not self._is_closed and len(self._starting) < self._count:
            self._starting.append(asyncio.get_running_loop().create_task(start_runner(self._sessions)))

    async def take(self) -> Handle:
        """The one that has been ready longest, or is nearest to it; nobody else gets it."""
        self.refill()
        if self._starting:
            task = self._starting.pop(0)
            self.refill()
            with contextlib.suppress(OSError, RuntimeError, TimeoutError):
                handle = await task
                if handle.is_open:
                    return handle
        return await start_runner(self._sessions)

    async def resize(self, count: int) -> None:
        self._count = count
        self.refill()
        surplus, self._starting = self._starting[count:], self._starting[:count]
        await asyncio.gather(*(_end(task) for task in surplus), return_exceptions=True)
        reap()

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(_end(task) for task in self._starting), return_exceptions=True)
        self._starting.clear()


async def _end(task: asyncio.Task[Handle]) -> None:
    handle = await task
    with contextlib.suppress(RelayError):
        await handle.call("end")
    await handle.closed(END_TIMEOUT)
    shutil.rmtree(handle.folder, ignore_errors=True)
