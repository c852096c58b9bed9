"""The debugger as a process of its own, and the pipes that it hands to the program."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Callable

from ...dap.channel import Channel
from ...dap.messages import Event
from ..processes import MARKER, OWN, Pipes

INPUT, OUTPUT, ERRORS = 7, 8, 9
"""Descriptors under which a debugger holds the program's streams: one digit, as every shell can write them."""
REDIRECTED = f'exec "$@" <&{INPUT} >&{OUTPUT} 2>&{ERRORS} {INPUT}<&- {OUTPUT}>&- {ERRORS}>&-'
"""What a shell runs to start a program with exactly these streams."""
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
