"""The debugger as a process of its own, the way to its server, and the streams that it hands to the program."""

from __future__ import annotations

import asyncio
import contextlib
import glob
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..process.program_process import MARKER, OWN, Pipes
from ..shapes import LaunchSpec

INPUT, OUTPUT, ERRORS = 7, 8, 9
"""Descriptors under which a debugger holds the program's streams: one digit, as every shell can write them."""
REDIRECTED = f'exec "$@" <&{INPUT} >&{OUTPUT} 2>&{ERRORS} {INPUT}<&- {OUTPUT}>&- {ERRORS}>&-'
"""The words with which a shell starts a program with exactly these streams."""
CREATED = re.compile(r"Process .* created; pid = (\d+)")
"""The words of gdbserver when it has started a program."""
LIBRARY = tuple(f"/usr/{folder}/coreutils/libstdbuf.so" for folder in ("libexec", "lib", "lib/*"))
"""The library that `stdbuf` of the coreutils loads into programs."""
GNU_PROGRAM = re.compile(rb"\x7fELF\x02.*/ld-linux", re.DOTALL)
"""The beginning of programs that use the GNU C library, for which that is made."""
LAST_WORDS = 8000
"""Characters of what a debugger said about itself that are kept."""
Command = tuple[list[str], dict[str, str]]
"""The command with which something is started, and its environment."""
Hear = Callable[[str], None]
Notify = Callable[[], None]


class Streams:
    """Three pipes: our ends, and those of the program until the debugger has them."""

    def __init__(self) -> None:
        (stdin, ours), (stdout, its), (stderr, errors) = os.pipe(), os.pipe(), os.pipe()
        self._theirs, self._ours = {INPUT: stdin, OUTPUT: its, ERRORS: errors}, [ours, stdout, stderr]

    def opening(self) -> str:
        """For a shell: opens them by way of this process, so that nothing else of it is inherited."""
        where = f"/proc/{os.getpid()}/fd"
        return " ".join(f"{fd}{'<' if fd == INPUT else '>'}{where}/{held}" for fd, held in self._theirs.items())

    def pipes(self, pid: int, on_output: Callable[[str, bytes], None]) -> Pipes:
        """`pid` is the debugger's: whoever reads the input is it or was started by it."""
        (stdin, stdout, stderr), self._ours = self._ours, []
        return Pipes(os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0), os.fdopen(stderr, "rb", 0), pid, on_output)

    def close(self) -> None:
        for fd in (*self._theirs.values(), *self._ours):
            os.close(fd)
        self._theirs, self._ours = {}, []


ADMIT = """
import os, signal, socket, sys
for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and what it runs would too
    signal.signal(number, signal.SIG_DFL)
line = socket.socket(fileno=0).accept()[0].detach()
os.dup2(line, 0), os.dup2(line, 1)
os.execv(sys.argv[1], sys.argv[1:])
"""
ADMITTING = (sys.executable, "-I", "-S", "-c", ADMIT)
"""Before the command of a debug server that talks on its stdin and stdout: waits until somebody has come in there."""


class Doorway:
    """A way to a debug server for one debugger of this user: a socket whose name is a descriptor of this process.

    A port would be open to everybody on this machine until the debugger has come."""

    def __init__(self) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        """for a debug server, after `ADMITTING`"""
        with tempfile.TemporaryDirectory(prefix="ocdb-") as folder:
            inside = os.open(folder, os.O_PATH)
            try:
                path = f"/proc/self/fd/{inside}/door"  # short enough for a socket, wherever the folder is
                self.listener.bind(path)
                self.listener.listen(1)
                self._fd = os.open(path, os.O_PATH)
            finally:
                os.close(inside)

    @property
    def name(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    def close(self) -> None:
        self.listener.close()
        os.close(self._fd)


@dataclass(eq=False)
class Helper:
    """A process that we start besides the program: the debugger, or a debug server. What it says is kept."""

    argv: list[str]
    environment: dict[str, str]
    session_id: str
    streams: Streams | None
    on_exit: Notify
    talk: socket.socket | None = None
    cwd: str = "/"
    own_session: bool = True
    on_said: Hear = lambda text: None

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._said: deque[str] = deque()
        streams, line = self.streams, self.talk.fileno() if self.talk is not None else subprocess.DEVNULL
        command = ["/bin/sh", "-c", f'exec "$@" {streams.opening()}', "sh", *self.argv] if streams else self.argv
        how: dict[str, Any] = {"start_new_session": True} if self.own_session else {"process_group": 0}
        how |= {"cwd": self.cwd, "env": {**self.environment, MARKER: self.session_id}, "bufsize": 0}
        self._popen = subprocess.Popen(command, stdin=line, stdout=line, stderr=subprocess.PIPE, **how)
        self.pid = self._popen.pid
        OWN.add(self.pid)
        assert self._popen.stderr is not None
        self._stderr = self._popen.stderr
        os.set_blocking(self._stderr.fileno(), False)
        self._loop.add_reader(self._stderr.fileno(), self._listen)
        self._pidfd = os.pidfd_open(self.pid)
        self._loop.add_reader(self._pidfd, self._exited)

    @property
    def said(self) -> str:
        return "".join(self._said)

    def _listen(self) -> None:
        try:
            data = os.read(self._stderr.fileno(), 65536)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._stderr.fileno())
            return
        text = data.decode("utf-8", "replace")
        self._said.append(text[-LAST_WORDS:])
        while len(self._said) > 1 and sum(map(len, self._said)) > LAST_WORDS:
            self._said.popleft()
        self.on_said(text)

    def _exited(self) -> None:
        code = self._popen.wait()
        OWN.discard(self.pid)
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._listen()
        self._loop.remove_reader(self._stderr.fileno())
        self._stderr.close()
        self.ended.set_result(code)
        self.on_exit()

    @property
    def is_alive(self) -> bool:
        return not self.ended.done()

    async def end(self, patience: float = 0) -> None:
        """Waits for an end that it was asked for, then insists."""
        if self.is_alive and patience:
            await asyncio.wait([self.ended], timeout=patience)
        if self.is_alive:
            with contextlib.suppress(ProcessLookupError):
                self._popen.send_signal(signal.SIGKILL)
            await asyncio.wait([self.ended], timeout=10.0)


def under_gdbserver(server: str, line: str, spec: LaunchSpec, environment: dict[str, str]) -> Command:
    """Return how it is started. The shell that it starts programs with is ours; the program gets its own again."""
    own = f"SHELL={shlex.quote(environment['SHELL'])}" if "SHELL" in environment else "unset SHELL"
    wrapper = ["/bin/sh", "-c", shlex.quote(f"{own}; {REDIRECTED}"), "sh"]  # for a shell: it does not quote them
    return [server, "--wrapper", *wrapper, "--", line, spec.target, *spec.args], {**environment, "SHELL": "/bin/sh"}


def by_lines(program: str, environment: dict[str, str]) -> dict[str, str]:
    """Return variables that have a C program write each line at once, as it does on a terminal: the C library would
    keep them back, because stdout is a pipe."""
    library = next((found for pattern in LIBRARY for found in glob.glob(pattern)), None)
    head = b""
    with contextlib.suppress(OSError), open(program, "rb") as file:
        head = file.read(4096)
    if library is None or "_STDBUF_O" in environment or not GNU_PROGRAM.match(head):
        return {}
    before = environment.get("LD_PRELOAD")
    return {"_STDBUF_O": "L", "LD_PRELOAD": f"{before}:{library}" if before else library}
