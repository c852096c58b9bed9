"""Starting runners, and keeping one ready so that a new session waits for nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import subprocess
import sys
from pathlib import Path

from .handle import Handle
from .paths import LOG

logger = logging.getLogger(__name__)

START_TIMEOUT = 15.0
POLL = 0.005


async def start_runner(sessions: Path) -> Handle:
    """A new runner in a folder of its own, whose name is the id of its future session."""
    folder = sessions / f"sess_{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    process = _start_process(folder)
    async with asyncio.timeout(START_TIMEOUT):
        while True:
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                return await Handle.connect(folder)
            if process.poll() is not None:
                raise RuntimeError(f"runner ended at once: {(folder / LOG).read_text(errors='replace')[-2000:]}")
            await asyncio.sleep(POLL)


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
    """Runners started ahead."""

    def __init__(self, sessions: Path, count: int) -> None:
        self._sessions = sessions
        self._count = count
        self._starting: set[asyncio.Task[Handle]] = set()
        self._closed = False

    def refill(self) -> None:
        while not self._closed and len(self._starting) < self._count:
            self._starting.add(asyncio.get_running_loop().create_task(start_runner(self._sessions)))

    async def take(self) -> Handle:
        """The one that has been ready longest, or is nearest to it."""
        self.refill()
        if not self._starting:
            return await start_runner(self._sessions)
        done, _ = await asyncio.wait(self._starting, return_when=asyncio.FIRST_COMPLETED)
        task = done.pop()
        self._starting.discard(task)
        self.refill()
        return task.result()

    async def close(self) -> None:
        self._closed = True
        for task in self._starting:
            with contextlib.suppress(Exception):
                handle = await task
                handle.is_ending = True
                with contextlib.suppress(Exception):
                    await handle.call("end")
                await handle.closed(5.0)
        self._starting.clear()

    @property
    def folders(self) -> set[str]:
        return {task.result().session_id for task in self._starting if task.done() and not task.exception()}
