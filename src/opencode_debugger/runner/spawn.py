"""Starting runners, and keeping one ready so that a new session waits for nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from ..adapters.processes import OWN, is_stopped, is_there, kill_all
from ..errors import RelayError
from ..files import make_folder, read_file
from .handle import Handle, NoAnswer
from .paths import FORKS, LOG, OWN_PATH

logger = logging.getLogger(__name__)

START_TIMEOUT = 15.0
END_TIMEOUT = 5.0
POLL = 0.005
LOOK = 0.5
"""Seconds after which it is seen whether the process that is to fork a runner is stopped by a signal."""
ATTEMPTS = 2
PACKAGE = Path(__file__).parents[1]


async def start_runner(sessions: Path, forks: ForkServer) -> Handle:
    """A new runner in a folder of its own, whose name is the id of its future session."""
    folder = sessions / f"sess_{secrets.token_hex(4)}"
    make_folder(sessions)
    folder.mkdir(mode=0o700)
    pid = None
    try:
        async with asyncio.timeout(START_TIMEOUT):
            pid = await forks.fork(folder)
            while True:
                with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                    return await Handle.connect(folder)
                if _has_ended(pid):
                    raise RuntimeError(f"its process ended at once: {_last_line(folder / LOG)}")
                if is_stopped(pid):
                    raise RuntimeError("its process was stopped by a signal")
                await asyncio.sleep(POLL)
    except BaseException:
        if pid is not None:
            kill_all([pid])
        shutil.rmtree(folder, ignore_errors=True)
        raise


class ForkServer:
    """The process that runners are copies of. If it is gone, or stopped, another takes its place."""

    def __init__(self, sessions: Path) -> None:
        self._placeholder = sessions / FORKS
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._one_at_a_time = asyncio.Lock()

    async def fork(self, folder: Path) -> int:
        """The process id of a new runner."""
        async with self._one_at_a_time:
            for _ in range(ATTEMPTS):
                if self._process is None:
                    self._start()
                try:
                    answer = await self._asked(folder)
                except BaseException:
                    self.close()  # its next answer would be taken for another's
                    raise
                if answer is not None:
                    break
                self.close()
            else:
                raise RuntimeError("the process from which runners are forked ended at once")
        pid = msgspec.json.decode(answer)
        if not isinstance(pid, int):
            raise RuntimeError(f"no process could be forked: {pid}")
        OWN.add(pid)
        reap()
        _runners.add(pid)
        return pid

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "opencode_debugger.runner", str(self._placeholder)],
                env=_environment(),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        OWN.add(self._process.pid)
        self._socket = ours

    async def _asked(self, folder: Path) -> bytes | None:
        """Its answer, or None if it is gone or cannot answer."""
        assert self._socket is not None and self._process is not None
        loop = asyncio.get_running_loop()
        answering = loop.create_task(self._answer(self._socket, msgspec.json.encode(str(folder)) + b"\n"))
        try:
            while not (await asyncio.wait([answering], timeout=LOOK))[0]:
                if is_stopped(self._process.pid):
                    return None
            return answering.result() or None
        except (BrokenPipeError, ConnectionResetError):
            return None
        finally:
            answering.cancel()

    async def _answer(self, sock: socket.socket, request: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(sock, request)
        answer = b""
        while not answer.endswith(b"\n") and (data := await loop.sock_recv(sock, 1024)):
            answer += data
        return answer

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            OWN.discard(self._process.pid)
        self._socket = self._process = None


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


_runners: set[int] = set()


def _has_ended(pid: int) -> bool:
    """Whoever forked it collects it; if that has gone before, we do."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return not is_there(pid)


def reap() -> None:
    """Collects runners that have ended, so that none stays behind as a zombie."""
    for pid in list(_runners):
        if _has_ended(pid):
            _runners.discard(pid)
            OWN.discard(pid)


def reap_all(timeout: float) -> None:
    """Waits for them to end."""
    deadline = time.monotonic() + timeout
    while _runners and time.monotonic() < deadline:
        time.sleep(POLL)
        reap()


class Spares:
    """Runners started ahead, the oldest first."""

    def __init__(self, sessions: Path, count: int) -> None:
        self._sessions = sessions
        self._count = count
        self._forks = ForkServer(sessions)
        self._starting: list[asyncio.Task[Handle]] = []
        self._is_closed = False

    def refill(self) -> None:
        while not self._is_closed and len(self._starting) < self._count:
            self._starting.append(asyncio.get_running_loop().create_task(start_runner(self._sessions, self._forks)))

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
            return await start_runner(self._sessions, self._forks)
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
        self._forks.close()


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
