"""The debugger as a process of its own, the way to its server, and the pipes that it hands to the program."""

from __future__ import annotations

import asyncio
import contextlib
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

from ...dap.channel import Channel
from ...dap.messages import Event
from ..base import LaunchSpec
from ..processes import MARKER, OWN, Pipes

INPUT, OUTPUT, ERRORS = 7, 8, 9
"""Descriptors under which a debugger holds the program's streams: one digit, as every shell can write them."""
REDIRECTED = f'exec "$@" <&{INPUT} >&{OUTPUT} 2>&{ERRORS} {INPUT}<&- {OUTPUT}>&- {ERRORS}>&-'
"""What a shell runs to start a program with exactly these streams."""
CREATED = re.compile(r"Process .* created; pid = (\d+)")
"""What gdbserver says when it has started a program."""
LAST_WORDS = 8000
"""Characters of what a debugger said about itself that are kept."""
PATIENCE = 10.0


class Streams:
    """Three pipes: our ends, and those of the program until the debugger has them."""

    def __init__(self) -> None:
        read, write = os.pipe()
        self._theirs = {INPUT: read}
        self._ours = [write]
        for fd in (OUTPUT, ERRORS):
            read, write = os.pipe()
            self._theirs[fd] = write
            self._ours.append(read)

    def opening(self) -> str:
        """For a shell: opens them by way of this process, so that nothing else of it is inherited."""
        where = f"/proc/{os.getpid()}/fd"
        return " ".join(f"{fd}{'<' if fd == INPUT else '>'}{where}/{held}" for fd, held in self._theirs.items())

    def handed_over(self) -> None:
        for fd in self._theirs.values():
            os.close(fd)
        self._theirs = {}

    def pipes(self, pid: int, on_output: Callable[[str, bytes], None]) -> Pipes:
        """`pid` is the debugger's: whoever reads the input is it or was started by it."""
        stdin, stdout, stderr = self._ours
        self._ours = []
        return Pipes(os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0), os.fdopen(stderr, "rb", 0), pid, on_output)

    def close(self) -> None:
        self.handed_over()
        for fd in self._ours:
            os.close(fd)
        self._ours = []


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


class Helper:
    """A process that we start besides the program: the debugger, or a debug server. What it says is kept."""

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        session_id: str,
        streams: Streams | None,
        on_exit: Callable[[], None],
        talk: socket.socket | None = None,
        cwd: str = "/",
        own_session: bool = True,
    ) -> None:
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._said: deque[str] = deque()
        self.on_said: Callable[[str], None] = lambda text: None
        command = ["/bin/sh", "-c", f'exec "$@" {streams.opening()}', "sh", *argv] if streams else argv
        self._popen = subprocess.Popen(
            command,
            env={**env, MARKER: session_id},
            cwd=cwd,
            stdin=talk.fileno() if talk is not None else subprocess.DEVNULL,
            stdout=talk.fileno() if talk is not None else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=own_session,
            process_group=None if own_session else 0,
            bufsize=0,
        )
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
        self._on_exit()

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
            await asyncio.wait([self.ended], timeout=PATIENCE)


def under_gdbserver(
    server: str, line: str, spec: LaunchSpec, environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Command and environment. The shell that it starts programs with is ours; the program gets its own again."""
    own = f"SHELL={shlex.quote(environment['SHELL'])}" if "SHELL" in environment else "unset SHELL"
    wrapper = ["/bin/sh", "-c", shlex.quote(f"{own}; {REDIRECTED}"), "sh"]  # for a shell: it does not quote them
    return [server, "--wrapper", *wrapper, "--", line, spec.target, *spec.args], {**environment, "SHELL": "/bin/sh"}


async def start_debugger(
    argv: list[str],
    env: dict[str, str],
    session_id: str,
    streams: Streams | None,
    on_event: Callable[[Event], None],
    on_exit: Callable[[], None],
) -> tuple[Helper, Channel]:
    """It reads requests from its stdin and writes answers and events to its stdout."""
    ours, theirs = socket.socketpair()
    try:
        helper = Helper(argv, env, session_id, streams, on_exit, theirs)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    channel = Channel(on_event)
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=ours)
    except BaseException:  # nobody else knows of it yet
        await helper.end()
        raise
    return helper, channel
