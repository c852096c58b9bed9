"""The debugged program as a process: its pipes, its end, and whatever else it started."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import glob
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from ..errors import RelayError
from .stdin import Stdin

MARKER = "OPENCODE_DEBUG_SESSION"
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
"""What this machine is short of when a program cannot be started, whatever the launch says."""


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

    def __init__(
        self,
        stdin: IO[bytes],
        stdout: IO[bytes],
        stderr: IO[bytes],
        pid: int,
        on_output: Callable[[str, bytes], None],
    ) -> None:
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._outputs = (stdout, stderr)
        self._names = {stdout.fileno(): "stdout", stderr.fileno(): "stderr"}
        for fd in self._names:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._read, fd)
        self.stdin = Stdin(stdin, pid)

    def _read(self, fd: int, limit: int = TURN) -> None:
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
        """Takes what the program has written by now: it is in the pipes, whether or not the loop has noticed."""
        for fd in list(self._names):
            self._read(fd, limit=16 * TURN)

    def close(self) -> None:
        for fd in list(self._names):
            self._loop.remove_reader(fd)
        self._names.clear()
        self.stdin.close()
        for pipe in self._outputs:
            with contextlib.suppress(OSError):
                pipe.close()

    def release(self) -> None:
        """Leaves the program to itself. Somebody must go on reading what it writes, or it would get stuck."""
        self.drain()
        fds = tuple(self._names)
        if fds:
            command = [sys.executable, "-I", "-S", "-c", READ_ON, *map(str, fds)]
            subprocess.Popen(
                command,
                env={MARKER: NO_SESSION},
                cwd="/",
                stdin=subprocess.DEVNULL,
                pass_fds=fds,
                start_new_session=True,
            )
        self.close()


class Program:
    """A child process in a session and process group of its own, whose three pipes are ours."""

    def __init__(
        self,
        argv: list[str],
        cwd: str,
        env: dict[str, str],
        on_output: Callable[[str, bytes], None],
        on_exit: Callable[[ExitStatus], None],
    ) -> None:
        self._on_exit = on_exit
        self.is_outlived: Callable[[], bool] = lambda: False
        """whether somebody still writes into its pipes who is not to be disturbed: then they are closed later"""
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[ExitStatus] = self._loop.create_future()
        self._popen = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self.pid = self._popen.pid
        OWN.add(self.pid)
        assert self._popen.stdout and self._popen.stderr and self._popen.stdin
        self._pipes = Pipes(self._popen.stdin, self._popen.stdout, self._popen.stderr, self.pid, on_output)
        self._watch_exit()

    @property
    def stdin(self) -> Stdin:
        return self._pipes.stdin

    def _watch_exit(self) -> None:
        if hasattr(os, "pidfd_open"):
            pidfd = os.pidfd_open(self.pid)
            self._loop.add_reader(pidfd, self._exited, pidfd)
        else:
            waiter = threading.Thread(target=self._wait_in_thread, daemon=True)
            waiter.start()

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
        self.drain()
        if not self.is_outlived():
            self.close_pipes()
        status = ExitStatus.of(returncode)
        if not self.ended.done():
            self.ended.set_result(status)
        self._on_exit(status)

    def close_pipes(self) -> None:
        self._pipes.close()

    def drain(self) -> None:
        self._pipes.drain()

    @property
    def is_alive(self) -> bool:
        return not self.ended.done()

    def send_signal(self, number: int) -> None:
        """To the whole process group, while there is one."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def end(self, grace: float) -> None:
        """Asks, if there is time for that, then insists."""
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
            if self.is_alive and patience:
                self.send_signal(number)
                await asyncio.wait([self.ended], timeout=patience)

    def release(self) -> None:
        """Leaves it to itself."""
        if self.is_alive:
            self._pipes.release()


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
    """Ends whatever a session has started and left behind."""
    await end_adopted()
    await asyncio.to_thread(end_marked, marker)


def parent_pid(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) or None if fields else None


def tracer_of(pid: int) -> int | None:
    """The process that debugs this one."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("TracerPid:"):
                return int(line.split()[1]) or None
    return None


def is_stopped(pid: int) -> bool:
    """By a signal such as SIGSTOP; one that a debugger holds does not count (Linux)."""
    return _state(pid) == b"T"


def _state(pid: int) -> bytes | None:
    """The letter that Linux has for it."""
    fields = _stat(pid)
    return fields[0] if fields else None


def _stat(pid: int) -> list[bytes]:
    """What /proc/PID/stat has behind the name; nothing of one that is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()
    return []


def runs(pid: int) -> bool:
    """Not one that has ended. One that is dying has lost its environment, and its marker, a moment before."""
    return _state(pid) not in (None, b"Z", b"X") if IS_LINUX else is_there(pid)


def is_there(pid: int) -> bool:
    """As a process that runs or as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def adopt_orphans() -> None:
    """What the program's processes leave behind becomes our child instead of init's, and can be found (Linux)."""
    if not IS_LINUX:
        return
    import ctypes

    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


OWN: set[int] = set()
"""Children that somebody here waits for; the others were adopted."""


def adopted() -> list[int]:
    found: set[int] = set()
    for listing in glob.glob("/proc/self/task/*/children"):
        with contextlib.suppress(OSError), open(listing) as file:
            found.update(int(pid) for pid in file.read().split())
    return sorted(found - OWN)


def reap_adopted() -> None:
    collect(adopted())


def collect(pids: Iterable[int]) -> None:
    """Those of these children that have ended stay behind as zombies no more."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


async def end_adopted() -> None:
    """Ends what others left to us, until there is none: quicker than most things can fork."""
    deadline, others = time.monotonic() + ADOPTED, set[int]()
    while (found := set(adopted()) - others) and time.monotonic() < deadline:
        others |= kill_all(found)
        reap_adopted()
        await asyncio.sleep(0)


def kill_all(pids: Iterable[int]) -> set[int]:
    """Returns those that we may not end: another user's, by way of sudo for example."""
    others = set()
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            others.add(pid)
    return others


def marker_of(pid: int) -> str | None:
    """The session that started it, whether as its program or further down."""
    if not IS_LINUX:
        import psutil

        with contextlib.suppress(psutil.Error, OSError):
            return psutil.Process(pid).environ().get(MARKER)
        return None
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return None
    prefix = MARKER.encode() + b"="
    found = (variable[len(prefix) :] for variable in variables if variable.startswith(prefix))
    return next((marker.decode(errors="replace") for marker in found), None)


def marked(marker: str) -> Iterator[int]:
    """Process ids of everything that carries a session's marker."""
    own = os.getpid()
    for pid in _all_processes():
        if pid != own and marker_of(pid) == marker:
            yield pid


def _all_processes() -> list[int]:
    if IS_LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    import psutil

    return psutil.pids()


def end_marked(marker: str) -> int:
    """Ends them all, those that start while we look included, until they are gone. Says how many there were."""
    killed: set[int] = set()
    for _ in range(20):
        found = list(marked(marker))
        if not found:
            break
        killed |= set(found) - kill_all(found)
    deadline = time.monotonic() + DYING
    while any(map(runs, killed)) and time.monotonic() < deadline:
        time.sleep(0.002)
    return len(killed)
