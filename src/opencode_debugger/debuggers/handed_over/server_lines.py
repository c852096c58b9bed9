"""Lines to debug servers that nobody else on this machine can reach."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import termios
import tty
from collections.abc import Callable
from typing import Any

from ...errors import RelayError
from ..native.debugger_process import CREATED, ERRORS, INPUT, OUTPUT, Helper
from ..native.native_program import set_done
from ..process.standard_input import count_unread
from ..shapes import LaunchSpec
from .tunnel_client import CHUNK, Client

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
    """A descriptor through which clients talk to a debug server."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._loop = asyncio.get_running_loop()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(descriptor, False)

    @property
    def is_closed(self) -> bool:
        return self._closed.done()

    async def wait_for_program(self, server: Helper, timeout: float) -> int:
        """Wait until the program is there, halted at its beginning; return its process id."""
        work = self._loop.create_task(self._start_program(server))
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

    async def _start_program(self, server: Helper) -> int:
        raise NotImplementedError

    async def carry(self, first: bytes, client: Client) -> None:
        works = [self._carry_inward(first, client), self._carry_outward(client)]
        tasks: list[asyncio.Future[Any]] = [self._loop.create_task(work) for work in works]
        try:
            await asyncio.wait([*tasks, self._closed], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_inward(self, data: bytes, client: Client) -> None:
        while data:
            await self._write_all(data)
            data = await client.read()

    async def _carry_outward(self, client: Client) -> None:
        while data := await self._read_some():
            await client.write(data)

    async def _read_some(self) -> bytes:
        while True:
            try:
                return os.read(self._fd, CHUNK)
            except BlockingIOError:
                await self._wait_ready(self._loop.add_reader, self._loop.remove_reader)
            except OSError:
                return b""

    async def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                await self._wait_ready(self._loop.add_writer, self._loop.remove_writer)

    async def _wait_ready(self, watch: Callable[..., None], forget: Callable[[int], bool]) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        descriptor = self._fd
        watch(descriptor, set_done, ready)
        try:
            await asyncio.wait([ready, self._closed], return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not self.is_closed:
                forget(descriptor)
        if self.is_closed:
            raise OSError("the debug server is gone")

    async def part_from_client(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        if not self.is_closed:
            set_done(self._closed)
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            os.close(self._fd)


def private_terminal() -> tuple[int, int]:
    """Open both ends of a raw terminal that only we may use: usually the group `tty` may write to one, too."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.fchmod(slave, 0o600)
    return master, slave


class PtyLine(Line):
    """A terminal for gdbserver. Each client gets a new one, which begins a new conversation."""

    def __init__(self, is_running: Callable[[], bool]) -> None:
        master, self._slot = private_terminal()
        super().__init__(master)
        self._is_running = is_running
        """tells whether the program runs, and is not held by gdbserver"""
        self._said = ""
        self._created: asyncio.Future[int] = self._loop.create_future()
        """done with the process id, when gdbserver has started the program"""

    @property
    def name(self) -> str:
        """The path under which gdbserver finds it, whichever terminal it is at the time."""
        return f"/proc/{os.getpid()}/fd/{self._slot}"

    async def _start_program(self, server: Helper) -> int:
        return await self._created

    def hear_server(self, text: str) -> None:
        if not self._created.done():
            self._said += text
            if found := CREATED.search(self._said):
                self._created.set_result(int(found[1]))

    async def part_from_client(self) -> None:
        """Halt the program, as gdbserver leaves it, and open a new terminal for the next client."""
        with contextlib.suppress(OSError):
            for _ in range(ATTEMPTS):
                await self._halt_program()
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

    async def _halt_program(self) -> None:
        """Interrupt the program. Until then gdbserver looks at one byte at a time: nothing may stand before that.

        What it has not taken before it runs would be lost with the line."""
        await self._wait_until(lambda: self._is_running() or not count_unread(self._slot))
        if self._is_running():
            termios.tcflush(self._slot, termios.TCIFLUSH)
            await self._write_all(INTERRUPT)
            await self._wait_until(lambda: not self._is_running())

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(LOOKS):
            if is_so():
                return
            await asyncio.sleep(LOOK)

    async def _is_listening(self) -> bool:
        """Say whether gdbserver waits for a request.

        It does not survive a line that goes while it writes, or waits for its words to be taken."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER):
                await self._ask_server(TAKEN + NO_MORE_TAKING, FINE)
                await self._ask_server(TAKEN + QUESTION, NOTHING)
                return True
        return False

    async def _ask_server(self, request: bytes, answer: bytes) -> None:
        await self._write_all(request)
        came = b""
        while answer not in came and (data := await self._read_some()):
            came = came[-len(answer) :] + data

    def close(self) -> None:
        if not self.is_closed:
            os.close(self._slot)
        super().close()


class SocketLine(Line):
    """A socket for lldb-server, which ends when its client leaves; the program then runs on without it."""

    def __init__(self, spec: LaunchSpec, environment: dict[str, str]) -> None:
        ours, self.theirs = socket.socketpair()
        super().__init__(ours.detach())
        self._spec, self._environment = spec, environment

    async def _start_program(self, server: Helper) -> int:
        """Start the program from here, since only so it can be given streams; the client finds it halted."""
        streams = {"STDIN": INPUT, "STDOUT": OUTPUT, "STDERR": ERRORS}
        options = [(b"QSet%b:" % name.encode(), f"/proc/{server.pid}/fd/{fd}") for name, fd in streams.items()]
        options.append((b"QSetWorkingDir:", self._spec.cwd))
        options += [(b"QEnvironmentHexEncoded:", f"{name}={value}") for name, value in self._environment.items()]
        for packet, option in options:
            await self._ask_server(packet + in_hex(option))
        await self._ask_server(b"QSetDisableASLR:1")
        started = await self._ask_server(b"vRun;" + b";".join(map(in_hex, [self._spec.target, *self._spec.args])))
        found = PROCESS.search(await self._ask_server(b"qProcessInfo"))
        if found is None:
            raise RelayError("LAUNCH_FAILED", f"The debug server could not start the program: {started[:200]!r}")
        return int(found[1], 16)

    async def _ask_server(self, packet: bytes) -> bytes:
        await self._write_all(b"$%b#%02x" % (packet, sum(packet) % 256))
        answer = b""
        while answer[-3:-2] != b"#":
            if not (data := await self._read_some()):
                raise RelayError("LAUNCH_FAILED", "The debug server hung up before it had started the program")
            answer += data
        await self._write_all(b"+")
        return answer

    async def part_from_client(self) -> None:
        self.close()


def in_hex(text: str) -> bytes:
    return os.fsencode(text).hex().encode()
