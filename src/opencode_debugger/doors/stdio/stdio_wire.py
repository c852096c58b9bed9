"""Standard input and output for nothing but the protocol: lines in, messages out, nobody waits for a slow reader."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import select
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...debuggers.process.standard_input import count_unread
from ...ez.lines import LineSplitter, TooLong, encode_line
from ...files import see_that_streams_are_open

PIPE = 1024 * 1024
"""Bytes of the pipe to the client: some clients take each piece that they read for whole lines."""
USUAL_PIPE = 64 * 1024
ROOM = 256 * 1024
"""Bytes that may wait for the client to read them; whoever has more to say waits too."""


def take_over() -> tuple[int, int]:
    """Return our standard input and output under numbers of their own: a stray print goes to stderr, and no process
    that is started here can read commands."""
    see_that_streams_are_open()
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing


@dataclass(eq=False)
class LineReader:
    """Gives each line to `on_line`, and at the end of input nothing."""

    fd: int
    on_line: Callable[[bytes | TooLong | None], None]
    _lines: LineSplitter = field(default_factory=LineSplitter)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _is_reading: bool = False
    _is_file: bool = False
    """which is always ready, and cannot be waited for; /dev/null counts as one"""
    _is_over: bool = False

    def resume(self) -> None:
        if self._is_reading or self._is_over:
            return
        self._is_reading = True
        try:
            self._loop.add_reader(self.fd, self._read_available)
        except PermissionError:
            self._is_file = True
            self._loop.call_soon(self._read_available)

    def pause(self) -> None:
        if self._is_reading and not self._is_file:
            self._loop.remove_reader(self.fd)
        self._is_reading = False

    def _read_available(self) -> None:
        if not self._is_reading:
            return
        try:
            data = os.read(self.fd, 65536)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        for line in self._lines.feed(data):
            self.on_line(line)
        if not data:
            self.pause()
            self._is_over = True
            if last := self._lines.rest():  # a last line without its newline counts
                self.on_line(last)
            self.on_line(None)
        elif self._is_file:
            self._loop.call_soon(self._read_available)


class LineWriter:
    """Each message is one write, made at once if that cannot block, else by a thread."""

    def __init__(self, fd: int, on_closed: Callable[[], None]) -> None:
        self._fd = fd
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._sent = self._written = 0
        """bytes; the second is the thread's"""
        self._room: asyncio.Future[None] | None = None
        self._thread: threading.Thread | None = None
        self.is_closed = False
        self.pipe = 0
        """how many bytes the client may read in one piece; 0 if it reads from no pipe"""
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            self._loop.add_reader(fd, self._note_closed)  # a pipe that nobody reads any more tells so
            self.pipe = USUAL_PIPE  # more, as far as the system allows (Linux): it takes long lines in one piece
            for command, value in (("F_SETPIPE_SZ", PIPE), ("F_GETPIPE_SZ", 0)):
                with contextlib.suppress(OSError, AttributeError):
                    self.pipe = fcntl.fcntl(fd, getattr(fcntl, command), value)

    @property
    def _waiting_bytes(self) -> int:
        return self._sent - self._written

    async def send(self, message: Mapping[str, object]) -> None:
        line = encode_line(message)
        while self._waiting_bytes > ROOM and not self.is_closed:
            self._room = self._loop.create_future()
            if self._waiting_bytes > ROOM:  # still: the thread looks after it has written
                await self._room
        if not self.is_closed and not self._write_now(line):
            self._sent += len(line)
            self._lines.put(line)
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, daemon=True)
                self._thread.start()

    def _write_now(self, line: bytes) -> bool:
        """Write a line at once to a pipe that takes anything at all: it takes it as a whole."""
        if self._waiting_bytes or len(line) > select.PIPE_BUF or not select.select([], [self._fd], [], 0)[1]:
            return False
        try:
            os.write(self._fd, line)
        except BlockingIOError:
            return False
        except OSError:
            self._note_closed()
        return True

    def _write_all(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: it is all over
            while line := self._lines.get():
                try:
                    self._await_room(line)
                    write_all(self._fd, line)
                except OSError:
                    self._loop.call_soon_threadsafe(self._note_closed)
                    return
                self._written += len(line)
                if self._room is not None and self._waiting_bytes <= ROOM:
                    self._loop.call_soon_threadsafe(self._wake_waiters)

    def _await_room(self, line: bytes) -> None:
        """Wait until the pipe takes a line as a whole, if it ever does, or nobody reads any more.

        What is in it may take twice its size: each write begins a page of its own if it does not fit into the last."""
        pause, watch = 0.001, select.poll()
        watch.register(self._fd, 0)
        while len(line) + select.PIPE_BUF <= self.pipe < len(line) + select.PIPE_BUF + 2 * count_unread(self._fd):
            if watch.poll(0):
                return
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def _wake_waiters(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    def _note_closed(self) -> None:
        self._loop.remove_reader(self._fd)
        if not self.is_closed:
            self.is_closed = True
            self._wake_waiters()
            self._on_closed()

    async def finish(self, patience: float) -> None:
        """Wait for what was said to be taken, for a while."""
        if self._thread is not None:
            self._lines.put(b"")
            await asyncio.to_thread(self._thread.join, patience)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            select.select([], [fd], [])
