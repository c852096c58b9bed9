"""The debugged program as a process: its environment, its pipes, its end, and whatever else it started."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from ...default_settings import PREFIX
from ...errors import RelayError
from ..shapes import LaunchSpec
from .proc_files import children_of, stat_fields, state_letter
from .standard_input import Stdin

MARKER = "OPENCODE_DEBUG_SESSION"
TUNNEL_URI, TUNNEL_TOKEN = "DEBUG_SESSION_URI", "DEBUG_SESSION_TOKEN"
"""In the environment of everything a session starts, so that it can be found and ended."""
NO_SESSION = "none"
"""The marker of what is not to be ended with any session."""

IS_LINUX = sys.platform.startswith("linux")
"""There /proc tells it all; elsewhere psutil does, which takes longer to load than to use."""

CHUNK = 65536
ADOPTED = 5.0
DYING = 5.0
"""Seconds for the kernel to end a process that was killed."""
TURN = 1024 * 1024
"""Bytes of output taken in one turn of the loop, so that a flood leaves room for requests."""

LACKING = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC})
"""Errors that say what this machine is short of when a program cannot be started, whatever the launch says."""

OnOutput = Callable[[str, bytes], None]
"""takes the name of a stream, and what the program has written to it"""


def program_environment(spec: LaunchSpec, session_id: str) -> dict[str, str]:
    """Return the relay's own environment without its settings, then the client's."""
    left_out = [name for name in os.environ if name.startswith(PREFIX) or name in spec.removed]
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**inherited, **spec.env, **spec.added, MARKER: session_id}


def not_started(error: OSError | ValueError) -> RelayError:
    number = error.errno if isinstance(error, OSError) else None
    message = f"The program could not be started: {error}"
    if number in LACKING:
        return RelayError("LAUNCH_FAILED", message)
    advice = "Give a program that this machine can execute, and an existing cwd"
    if number == errno.E2BIG:
        advice = "Give less in args and env, or a file or stdin_inputs that the program reads instead"
    return RelayError("LAUNCH_FAILED", message, status=400, suggestion=advice)


@dataclass(frozen=True)
class ExitStatus:
    code: int
    signal: str | None = None

    @classmethod
    def of(cls, returncode: int) -> ExitStatus:
        if returncode >= 0:
            return cls(returncode)
        try:
            return cls(returncode, signal.Signals(-returncode).name)
        except ValueError:
            return cls(returncode, f"signal {-returncode}")


class Pipes:
    """Our ends of a program's standard streams."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], pid: int, on_output: OnOutput) -> None:
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._outputs = (stdout, stderr)
        self._names = {stdout.fileno(): "stdout", stderr.fileno(): "stderr"}
        for fd in self._names:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._read_output, fd)
        self.stdin = Stdin(stdin, pid)

    def _read_output(self, fd: int, limit: int = TURN) -> None:
        taken = 0
        while taken < limit:
            try:
                data = os.read(fd, CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._loop.remove_reader(fd)
                self._names.pop(fd, None)
                return
            taken += len(data)
            self._on_output(self._names[fd], data)

    def drain(self) -> None:
        """Take what the program has written by now: it is in the pipes, whether or not the loop has noticed."""
        for fd in list(self._names):
            self._read_output(fd, limit=16 * TURN)

    def close(self) -> None:
        for fd in list(self._names):
            self._loop.remove_reader(fd)
        self._names.clear()
        self.stdin.close()
        for pipe in self._outputs:
            with contextlib.suppress(OSError):
                pipe.close()

    def release(self) -> None:
        """Leave the program to itself. Somebody must go on reading what it writes, or it would get stuck."""
        self.drain()
        if fds := tuple(self._names):
            command, env = [sys.executable, "-I", "-S", "-c", READ_ON, *map(str, fds)], {MARKER: NO_SESSION}
            null = subprocess.DEVNULL
            subprocess.Popen(command, env=env, cwd="/", stdin=null, pass_fds=fds, start_new_session=True)
        self.close()


class EndingProcess:
    ended: asyncio.Future[Any]

    @property
    def is_alive(self) -> bool:
        return not self.ended.done()

    def send_signal(self, number: int) -> None:
        raise NotImplementedError

    async def end(self, grace: float) -> None:
        """Ask it to end, if there is time for that, then insist."""
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
            if self.is_alive and patience:
                self.send_signal(number)
                await asyncio.wait([self.ended], timeout=patience)


def start_process(argv: list[str], cwd: str, env: dict[str, str], fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """Start a process with pipes, in a session and process group of its own."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=fds, start_new_session=True, bufsize=0
    )


class Program(EndingProcess):
    """A child process in a session and process group of its own, whose three pipes are ours."""

    def __init__(
        self, argv: list[str], cwd: str, env: dict[str, str], on_output: OnOutput,
        on_exit: Callable[[ExitStatus], None], is_outlived: Callable[[], bool] = lambda: False,
        started: subprocess.Popen[bytes] | None = None,
    ) -> None:
        """Start a process, unless one is given that was `started` for it."""
        self._on_exit = on_exit
        self._is_outlived = is_outlived
        """tells whether somebody still writes into its pipes who is not to be disturbed: then they are closed later"""
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[ExitStatus] = self._loop.create_future()
        self._popen = started or start_process(argv, cwd, env)
        self.pid = self._popen.pid
        OWN.add(self.pid)
        assert self._popen.stdout and self._popen.stderr and self._popen.stdin
        self.pipes = Pipes(self._popen.stdin, self._popen.stdout, self._popen.stderr, self.pid, on_output)
        if hasattr(os, "pidfd_open"):
            pidfd = os.pidfd_open(self.pid)
            self._loop.add_reader(pidfd, self._exited, pidfd)
        else:
            threading.Thread(target=self._wait_in_thread, daemon=True).start()

    def _wait_in_thread(self) -> None:
        self._popen.wait()
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._exited, None)

    def _exited(self, pidfd: int | None) -> None:
        returncode = self._popen.wait()
        OWN.discard(self.pid)
        if pidfd is not None:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)
        self.pipes.drain()
        if not self._is_outlived():
            self.pipes.close()
        status = ExitStatus.of(returncode)
        if not self.ended.done():
            self.ended.set_result(status)
        self._on_exit(status)

    def send_signal(self, number: int) -> None:
        """Send it to the whole process group, while there is one."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def release(self) -> None:
        if self.is_alive:
            self.pipes.release()


READ_ON = """
import os, select, sys
fds = [int(fd) for fd in sys.argv[1:]]
null = os.open(os.devnull, os.O_WRONLY)
os.dup2(null, 1), os.dup2(null, 2)
while fds:
    for fd in select.select(fds, [], [])[0]:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            continue
        if not data:
            fds.remove(fd)
"""
"""Takes what a program writes that was let go, until nobody can write any more."""


async def end_others(marker: str) -> None:
    """End whatever a session has started and left behind: what was left to us, until there is none, quicker than most
    things can fork; then what has its marker."""
    deadline, others = time.monotonic() + ADOPTED, set[int]()
    while (found := set(adopted()) - others) and time.monotonic() < deadline:
        others |= kill_all(found)
        reap_adopted()
        await asyncio.sleep(0)
    await asyncio.to_thread(end_marked, marker)


def parent_pid(pid: int) -> int | None:
    fields = stat_fields(pid)
    return int(fields[1]) or None if fields else None


def tracer_of(pid: int) -> int | None:
    """Return the process that debugs this one."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
        return next((int(line.split()[1]) or None for line in file if line.startswith("TracerPid:")), None)
    return None


def is_stopped(pid: int) -> bool:
    """Tell whether a signal such as SIGSTOP has stopped it; one that a debugger holds does not count (Linux)."""
    return state_letter(pid) == b"T"


def runs(pid: int) -> bool:
    """Tell whether it has not ended. One that is dying has lost its environment, and its marker, a moment before."""
    return state_letter(pid) not in (None, b"Z", b"X") if IS_LINUX else is_there(pid)


def is_there(pid: int) -> bool:
    """Tell whether it exists, as a process that runs or as a zombie."""
    try:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def adopt_orphans() -> None:
    """Make our child, instead of init's, what the program's processes leave behind, so that it can be found (Linux)."""
    if IS_LINUX:
        import ctypes

        pr_set_child_subreaper = 36
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


OWN: set[int] = set()
"""Children that somebody here waits for; the others were adopted."""


def adopted() -> list[int]:
    return sorted(set(children_of(os.getpid())) - OWN)


def reap_adopted() -> None:
    collect(adopted())


def collect(pids: Iterable[int]) -> None:
    """Wait for those of these children that have ended, so that they are zombies no more."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def kill_all(pids: Iterable[int]) -> set[int]:
    """End them, and return those that we may not: another user's, by way of sudo for example."""
    others = set()
    for pid in pids:
        try:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        except PermissionError:
            others.add(pid)
    return others


def marker_of(pid: int) -> str | None:
    """Return the session that started it, whether as its program or further down."""
    if not IS_LINUX:
        import psutil

        with contextlib.suppress(psutil.Error, OSError):
            return psutil.Process(pid).environ().get(MARKER)
        return None
    prefix = MARKER.encode() + b"="
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        found = [each for each in file.read().split(b"\0") if each.startswith(prefix)]
        return found[0].removeprefix(prefix).decode(errors="replace") if found else None
    return None


def marked(marker: str) -> Iterator[int]:
    """Go through the process ids of everything that carries a session's marker."""
    own = os.getpid()
    if IS_LINUX:
        found = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    else:
        import psutil

        found = psutil.pids()
    return (pid for pid in found if pid != own and marker_of(pid) == marker)


def end_marked(marker: str) -> int:
    """End them all, those that start while we look included, until they are gone. Return how many there were."""
    killed: set[int] = set()
    for _ in range(20):
        if not (found := list(marked(marker))):
            break
        killed |= set(found) - kill_all(found)
    deadline = time.monotonic() + DYING
    while any(map(runs, killed)) and time.monotonic() < deadline:
        time.sleep(0.002)
    return len(killed)
