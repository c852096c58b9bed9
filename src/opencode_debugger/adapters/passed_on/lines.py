"""Lines to debug servers that nobody else on this machine can reach."""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import os
import re
import socket
import termios
import tty
from collections.abc import Callable
from typing import Any

from ...errors import RelayError
from ..native.process import CREATED, ERRORS, INPUT, OUTPUT, Helper
from .client import CHUNK, Client

PROCESS = re.compile(rb"\bpid:([0-9a-f]+);")
INTERRUPT = b"\x03"
TAKEN = b"+"
NO_MORE_TAKING, FINE = b"$QStartNoAckMode#b0", b"$OK#9a"
QUESTION, NOTHING = b"$vMustReplyEmpty#3a", b"$#00"
ANSWER = 0.2
"""Seconds for gdbserver to say that it listens. What it was sent while the program ran is lost: it is asked again."""
ATTEMPTS = 10
LOOK = 0.01
LOOKS = 30


class Line:
    """A descriptor through which a debug server is talked to, and whoever talks."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._loop = asyncio.get_running_loop()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(descriptor, False)

    @property
    def is_closed(self) -> bool:
        return self._closed.done()

    async def begin(self, server: Helper, timeout: float) -> int:
        """Waits until the program is there, halted at its beginning. Says which process it is."""
        work = self._loop.create_task(self._begin(server))
        either: list[asyncio.Future[Any]] = [work, server.ended]
        try:
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
        finally:
            work.cancel()
        said = server.said.strip().splitlines()[-3:]
        what = f"ended at once with {server.ended.result()}" if server.ended.done() else "did not start the program"
        raise RelayError("LAUNCH_FAILED", f"The debug server {what}: {' '.join(said)[:500]}")

    async def _begin(self, server: Helper) -> int:
        raise NotImplementedError

    async def carry(self, first: bytes, client: Client) -> None:
        """Both ways, until either end has had enough."""
        works = [self._inward(first, client), self._outward(client)]
        tasks: list[asyncio.Future[Any]] = [self._loop.create_task(work) for work in works]
        try:
            await asyncio.wait([*tasks, self._closed], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _inward(self, data: bytes, client: Client) -> None:
        while data:
            await self._write(data)
            data = await client.read()

    async def _outward(self, client: Client) -> None:
        while data := await self._read():
            await client.write(data)

    async def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._fd, CHUNK)
            except BlockingIOError:
                await self._ready(self._loop.add_reader, self._loop.remove_reader)
            except OSError:
                return b""

    async def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                await self._ready(self._loop.add_writer, self._loop.remove_writer)

    async def _ready(self, watch: Callable[..., None], forget: Callable[[int], bool]) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        descriptor = self._fd
        watch(descriptor, _done, ready)
        try:
            await asyncio.wait([ready, self._closed], return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not self.is_closed:
                forget(descriptor)
        if self.is_closed:
            raise OSError("the debug server is gone")

    async def hang_up(self, is_running: Callable[[], bool]) -> None:
        """A client has left."""
        raise NotImplementedError

    def close(self) -> None:
        if not self._closed.done():
            self._closed.set_result(None)
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            os.close(self._fd)


def private_terminal() -> tuple[int, int]:
    """Both ends of a raw terminal. Usually the group `tty` may write to one, and would talk to the debug server."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.fchmod(slave, 0o600)
    return master, slave


class PtyLine(Line):
    """A terminal for gdbserver. Each client gets a new one, which begins a new conversation."""

    def __init__(self) -> None:
        master, self._slot = private_terminal()
        super().__init__(master)

    @property
    def name(self) -> str:
        """Where gdbserver finds it, whichever it is at the time."""
        return f"/proc/{os.getpid()}/fd/{self._slot}"

    async def _begin(self, server: Helper) -> int:
        created: asyncio.Future[int] = self._loop.create_future()

        def listen(_: str = "") -> None:
            found = CREATED.search(server.said)
            if found and not created.done():
                created.set_result(int(found[1]))

        server.on_said = listen
        listen()
        return await created

    async def hang_up(self, is_running: Callable[[], bool]) -> None:
        """The program is halted, as gdbserver leaves it, and waits for the next."""
        with contextlib.suppress(OSError):
            for _ in range(ATTEMPTS):
                await self._halt(is_running)
                if await self._is_listening():
                    break
        if self.is_closed:
            return
        old = self._fd
        self._fd, slave = private_terminal()
        os.set_blocking(self._fd, False)
        os.dup2(slave, self._slot, inheritable=False)
        os.close(slave)
        os.close(old)

    async def _halt(self, is_running: Callable[[], bool]) -> None:
        """While the program runs, gdbserver looks at one byte at a time: nothing may stand before that one."""
        await self._soon(lambda: is_running() or not self._unread())
        if is_running():
            termios.tcflush(self._slot, termios.TCIFLUSH)
            await self._write(INTERRUPT)
            await self._soon(lambda: not is_running())

    async def _soon(self, is_so: Callable[[], bool]) -> None:
        for _ in range(LOOKS):
            if is_so():
                return
            await asyncio.sleep(LOOK)

    async def _is_listening(self) -> bool:
        """gdbserver does not survive a line that goes while it writes, or waits for its words to be taken."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER):
                await self._ask(TAKEN + NO_MORE_TAKING, FINE)
                await self._ask(TAKEN + QUESTION, NOTHING)
                return True
        return False

    async def _ask(self, request: bytes, answer: bytes) -> None:
        await self._write(request)
        came = b""
        while answer not in came and (data := await self._read()):
            came = came[-len(answer) :] + data

    def _unread(self) -> int:
        """Bytes that gdbserver has not taken yet: they would be lost with the line."""
        count = array.array("i", [0])
        fcntl.ioctl(self._slot, termios.FIONREAD, count)
        return count[0]

    def close(self) -> None:
        if not self.is_closed:
            os.close(self._slot)
        super().close()


class SocketLine(Line):
    """A socket for lldb-server, which ends when its client leaves; the program then runs on without it."""

    def __init__(self, argv: list[str], cwd: str, environment: dict[str, str]) -> None:
        ours, self.theirs = socket.socketpair()
        super().__init__(ours.detach())
        self._argv = argv
        self._cwd = cwd
        self._environment = environment

    async def _begin(self, server: Helper) -> int:
        """The program is started from here, since only so it can be given streams; the client finds it halted."""
        streams = {"STDIN": INPUT, "STDOUT": OUTPUT, "STDERR": ERRORS}
        for name, fd in streams.items():
            await self._set(b"QSet%b:" % name.encode(), f"/proc/{server.pid}/fd/{fd}")
        await self._set(b"QSetWorkingDir:", self._cwd)
        for name, value in self._environment.items():
            await self._set(b"QEnvironmentHexEncoded:", f"{name}={value}")
        await self._ask(b"QSetDisableASLR:1")
        started = await self._ask(b"vRun;" + b";".join(map(in_hex, self._argv)))
        found = PROCESS.search(await self._ask(b"qProcessInfo"))
        if found is None:
            raise RelayError("LAUNCH_FAILED", f"The debug server could not start the program: {started[:200]!r}")
        return int(found[1], 16)

    async def _set(self, packet: bytes, value: str) -> None:
        await self._ask(packet + in_hex(value))

    async def _ask(self, packet: bytes) -> bytes:
        await self._write(b"$%b#%02x" % (packet, sum(packet) % 256))
        answer = b""
        while answer[-3:-2] != b"#":
            if not (data := await self._read()):
                raise RelayError("LAUNCH_FAILED", "The debug server hung up before it had started the program")
            answer += data
        await self._write(b"+")
        return answer

    async def hang_up(self, is_running: Callable[[], bool]) -> None:
        self.close()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def in_hex(text: str) -> bytes:
    return os.fsencode(text).hex().encode()
