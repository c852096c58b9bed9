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
from typing import Any

import msgspec

from ..debuggers.process.program_process import OWN, is_stopped, is_there, kill_all
from ..errors import RelayError
from ..files import make_folder, read_file
from .handle import NoAnswer, RunnerHandle
from .paths import FORKS, LOG, OWN_PATH
from .rpc import PREPARE

logger = logging.getLogger(__name__)

START_TIMEOUT = 15.0
END_TIMEOUT = 5.0
POLL = 0.005
LOOK = 0.5
"""Seconds after which it is seen whether the process that is to fork a runner is stopped by a signal."""
ATTEMPTS = 2
PACKAGE = Path(__file__).parents[1]


async def start_runner(sessions: Path, forks: ForkServer) -> RunnerHandle:
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
                    return await RunnerHandle.connect(folder)
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
        """Fork a new runner and return its process id."""
        async with self._one_at_a_time:
            for _ in range(ATTEMPTS):
                if self._process is None:
                    self._start_process()
                try:
                    answer = await self._ask_for_fork(folder)
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
        reap_runners()
        _runners.add(pid)
        return pid

    def _start_process(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            command = [sys.executable, "-P", "-m", "opencode_debugger.runner", str(self._placeholder)]
            self._process = subprocess.Popen(
                command, env=_runner_environment(), stdin=theirs.fileno(), stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        OWN.add(self._process.pid)
        self._socket = ours

    async def _ask_for_fork(self, folder: Path) -> bytes | None:
        """Return the fork server's answer, or None if it is gone or cannot answer."""
        assert self._socket is not None and self._process is not None
        loop = asyncio.get_running_loop()
        answering = loop.create_task(self._exchange_line(self._socket, msgspec.json.encode(str(folder)) + b"\n"))
        try:
            while not (await asyncio.wait([answering], timeout=LOOK))[0]:
                if is_stopped(self._process.pid):
                    return None
            return answering.result() or None
        except (BrokenPipeError, ConnectionResetError):
            return None
        finally:
            answering.cancel()

    async def _exchange_line(self, sock: socket.socket, request: bytes) -> bytes:
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


def _runner_environment() -> dict[str, str]:
    """Return our environment, with modules looked for where we find them, not in the working directory, whatever
    PYTHONPATH says."""
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
    """Tell whether a runner has ended. Its parent collects it; if that has gone before, we do."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return not is_there(pid)


def reap_runners() -> None:
    """Collects runners that have ended, so that none stays behind as a zombie."""
    for pid in list(_runners):
        if _has_ended(pid):
            _runners.discard(pid)
            OWN.discard(pid)


def reap_all_runners(timeout: float) -> None:
    """Waits for them to end."""
    deadline = time.monotonic() + timeout
    while _runners and time.monotonic() < deadline:
        time.sleep(POLL)
        reap_runners()


class SpareRunners:
    """Runners started ahead, the oldest first."""

    def __init__(self, sessions: Path, count: int, with_interpreters: bool) -> None:
        self._sessions = sessions
        self._count = count
        self._with_interpreters = with_interpreters
        self._forks = ForkServer(sessions)
        self._starting: list[asyncio.Task[RunnerHandle]] = []
        self._preparing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def refill(self) -> None:
        while not self._is_closed and len(self._starting) < self._count:
            self._starting.append(asyncio.get_running_loop().create_task(start_runner(self._sessions, self._forks)))

    def prepare_launch(self, launch: dict[str, Any]) -> None:
        """Have the next runner start an interpreter ahead for a launch like this one, which is done."""
        if self._starting and self._with_interpreters:
            preparing = asyncio.get_running_loop().create_task(_prepare_runner(self._starting[0], launch))
            self._preparing.add(preparing)
            preparing.add_done_callback(self._preparing.discard)

    async def take(self) -> RunnerHandle:
        """Return the runner that has been ready longest, or is nearest to it; nobody else gets it."""
        for _ in range(self._count):
            self.refill()
            if not self._starting:
                break
            task = self._starting.pop(0)
            self.refill()
            if (ready := await _ready_runner(task)) is not None:
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
        await asyncio.gather(*(_end_runner(task) for task in surplus), return_exceptions=True)
        reap_runners()

    async def close(self) -> None:
        self._is_closed = True
        for preparing in list(self._preparing):
            preparing.cancel()
        await asyncio.gather(*(_end_runner(task) for task in self._starting), return_exceptions=True)
        self._starting.clear()
        self._forks.close()


async def _ready_runner(task: asyncio.Task[RunnerHandle]) -> RunnerHandle | None:
    """Return the runner that was started ahead, unless it has been killed or stopped or lost its folder since."""
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
    await _discard_runner(handle, 0)
    return None


async def _prepare_runner(task: asyncio.Task[RunnerHandle], launch: dict[str, Any]) -> None:
    with contextlib.suppress(OSError, RuntimeError, RelayError):  # then nothing is ready: whoever takes it is told
        await (await asyncio.shield(task)).call(PREPARE, launch)


async def _end_runner(task: asyncio.Task[RunnerHandle]) -> None:
    handle = await task
    patience = 0.0
    with contextlib.suppress(NoAnswer):
        await handle.call("end")
        patience = END_TIMEOUT
    await _discard_runner(handle, patience)


async def _discard_runner(handle: RunnerHandle, patience: float) -> None:
    await handle.closed(patience)
    shutil.rmtree(handle.folder, ignore_errors=True)
