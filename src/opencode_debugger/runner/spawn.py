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

from ..adapters.processes import OWN, is_stopped
from ..errors import RelayError
from ..files import make_folder, read_file
from .handle import Handle, NoAnswer
from .paths import LOG, OWN_PATH

logger = logging.getLogger(__name__)

START_TIMEOUT = 15.0
END_TIMEOUT = 5.0
POLL = 0.005
PACKAGE = Path(__file__).parents[1]


async def start_runner(sessions: Path) -> Handle:
    """A new runner in a folder of its own, whose name is the id of its future session."""
    folder = sessions / f"sess_{secrets.token_hex(4)}"
    make_folder(sessions)
    folder.mkdir(mode=0o700)
    try:
        process = _start_process(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    try:
        async with asyncio.timeout(START_TIMEOUT):
            while True:
                with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                    return await Handle.connect(folder)
                if process.poll() is not None:
                    raise RuntimeError(f"its process ended at once: {_last_line(folder / LOG)}")
                if is_stopped(process.pid):
                    raise RuntimeError("its process was stopped by a signal")
                await asyncio.sleep(POLL)
    except BaseException:
        process.kill()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _start_process(folder: Path) -> subprocess.Popen[bytes]:
    with open(folder / LOG, "ab", opener=_private) as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "opencode_debugger.runner", str(folder)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    OWN.add(process.pid)
    reap()
    _processes.add(process)
    return process


def _environment() -> dict[str, str]:
    """Ours, but modules are looked for where we find them: not in the working directory, whatever PYTHONPATH says."""
    environment = {name: value for name, value in os.environ.items() if name != OWN_PATH}
    if "PYTHONPATH" in environment:
        environment[OWN_PATH] = environment["PYTHONPATH"]
    path = [entry for entry in [*sys.path, str(PACKAGE.parent)] if os.path.isabs(entry) and os.pathsep not in entry]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path))
    return environment


def _last_line(log: Path) -> str:
    try:
        return read_file(log).decode(errors="replace").strip().rpartition("\n")[2][:500]
    except OSError as error:
        return str(error)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


_processes: set[subprocess.Popen[bytes]] = set()


def reap() -> None:
    """Collects runners that have ended, so that none stays behind as a zombie."""
    for process in list(_processes):
        if process.poll() is not None:
            _forget(process)


def reap_all(timeout: float) -> None:
    for process in list(_processes):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout)
            _forget(process)


def _forget(process: subprocess.Popen[bytes]) -> None:
    _processes.discard(process)
    OWN.discard(process.pid)


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
        for _ in range(self._count):
            self.refill()
            if not self._starting:
                break
            task = self._starting.pop(0)
            self.refill()
            if (ready := await _ready(task)) is not None:
                return ready
        try:
            return await start_runner(self._sessions)
        except (OSError, RuntimeError) as error:  # TimeoutError is an OSError
            why = str(error) or f"its process was not ready within {START_TIMEOUT:g} s"
            raise RelayError("SESSION_NOT_STARTED", f"The session could not be started: {why}") from error

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


async def _ready(task: asyncio.Task[Handle]) -> Handle | None:
    """One that was started ahead, unless it has been killed or stopped or lost its folder since."""
    try:
        handle = await task
    except (OSError, RuntimeError) as error:
        logger.warning("a runner could not be started ahead: %s", error)
        return None
    try:
        if await handle.is_ready():
            return handle
    except BaseException:
        handle.kill()
        raise
    logger.warning("the runner %s, started ahead, is not usable any more: another takes its place", handle.session_id)
    await _discard(handle, 0)
    return None


async def _end(task: asyncio.Task[Handle]) -> None:
    handle = await task
    try:
        await handle.call("end")
    except NoAnswer:
        await _discard(handle, 0)
    else:
        await _discard(handle, END_TIMEOUT)


async def _discard(handle: Handle, patience: float) -> None:
    await handle.closed(patience)
    shutil.rmtree(handle.folder, ignore_errors=True)
