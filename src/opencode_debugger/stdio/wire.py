"""Standard input and output for nothing but the protocol: lines in, messages out, nobody waits for a slow reader."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import select
import stat
import sys
import termios
import threading
import time
from collections.abc import Callable
from typing import Any

from ..ez.lines import Lines, TooLong, encode
from ..files import see_that_streams_are_open

CHUNK = 65536
PIPE = 1024 * 1024
"""Bytes of the pipe to the client: some clients take each piece that they read for whole lines."""
USUAL_PIPE = 64 * 1024
LEAST_LOOK, MOST_LOOK = 0.001, 0.05
"""Seconds between looks whether a client has made room for a long line."""
ROOM = 256 * 1024
"""Bytes that may wait for the client to read them; whoever has more to say waits too."""


def take_over() -> tuple[int, int]:
    """Our standard input and output, under numbers of their own: a stray print goes to stderr, and no process that
    is started here can read commands."""
    see_that_streams_are_open()
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing


def enlarge(fd: int) -> int:
    """Makes a pipe hold long lines in one piece, as far as the system allows (Linux); how many bytes it holds."""
    size = USUAL_PIPE
    for command, value in (("F_SETPIPE_SZ", PIPE), ("F_GETPIPE_SZ", 0)):
        with contextlib.suppress(OSError):
            size = fcntl.fcntl(fd, getattr(fcntl, command), value) if hasattr(fcntl, command) else size
    return size


class Reader:
    """Gives each line to `on_line`, and at the end of input nothing."""

    def __init__(self, fd: int, on_line: Callable[[bytes | TooLong | None], None]) -> None:
        self._fd = fd
        self._on_line = on_line
        self._lines = Lines()
        self._loop = asyncio.get_running_loop()
        self._is_reading = False
        self._is_file = False
        """which is always ready, and cannot be waited for; /dev/null counts as one"""
        self._is_over = False

    def resume(self) -> None:
        if self._is_reading or self._is_over:
            return
        self._is_reading = True
        try:
            self._loop.add_reader(self._fd, self._read)
        except PermissionError:
            self._is_file = True
            self._loop.call_soon(self._read)

    def pause(self) -> None:
        if self._is_reading and not self._is_file:
            self._loop.remove_reader(self._fd)
        self._is_reading = False

    def _read(self) -> None:
        if not self._is_reading:
            return
        try:
            data = os.read(self._fd, CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        for line in self._lines.feed(data):
            self._on_line(line)
        if not data:
            self._end()
        elif self._is_file:
            self._loop.call_soon(self._read)

    def _end(self) -> None:
        """A last line without its newline counts."""
        self.pause()
        self._is_over = True
        last = self._lines.rest()
        if last:
            self._on_line(last)
        self._on_line(None)


class Writer:
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
            self._loop.add_reader(fd, self._closed)  # a pipe that nobody reads any more tells so
            self.pipe = enlarge(fd)

    @property
    def _waiting(self) -> int:
        return self._sent - self._written

    async def send(self, message: dict[str, Any]) -> None:
        line = encode(message)
        while self._waiting > ROOM and not self.is_closed:
            self._room = self._loop.create_future()
            if self._waiting > ROOM:  # still: the thread looks after it has written
                await self._room
        if not self.is_closed and not self._write_now(line):
            self._sent += len(line)
            self._lines.put(line)
            self._start()

    def _write_now(self, line: bytes) -> bool:
        """What a pipe that takes anything at all takes as a whole."""
        if self._waiting or len(line) > select.PIPE_BUF or not select.select([], [self._fd], [], 0)[1]:
            return False
        try:
            os.write(self._fd, line)
        except BlockingIOError:
            return False
        except OSError:
            self._closed()
        return True

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, daemon=True)
            self._thread.start()

    def _write_all(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: it is all over
            while line := self._lines.get():
                try:
                    self._await_room(line)
                    write(self._fd, line)
                except OSError:
                    self._loop.call_soon_threadsafe(self._closed)
                    return
                self._written += len(line)
                if self._room is not None and self._waiting <= ROOM:
                    self._loop.call_soon_threadsafe(self._wake)

    def _await_room(self, line: bytes) -> None:
        """Until the pipe takes a line as a whole, if it ever does, or nobody reads any more.

        What is in it may take twice its size: each write begins a page of its own if it does not fit into the last."""
        pause, watch = LEAST_LOOK, select.poll()
        watch.register(self._fd, 0)
        while len(line) + select.PIPE_BUF <= self.pipe < len(line) + select.PIPE_BUF + 2 * unread(self._fd):
            if watch.poll(0):
                return
            time.sleep(pause)
            pause = min(2 * pause, MOST_LOOK)

    def _wake(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    def _closed(self) -> None:
        self._loop.remove_reader(self._fd)
        if not self.is_closed:
            self.is_closed = True
            self._wake()
            self._on_closed()

    async def finish(self, patience: float) -> None:
        """Waits for what was said to be taken, for a while."""
        if self._thread is not None:
            self._lines.put(b"")
            await asyncio.to_thread(self._thread.join, patience)


def unread(fd: int) -> int:
    """Bytes in a pipe."""
    count = bytearray(4)
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def write(fd: int, data: bytes) -> None:
    """All of it, however long that takes."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            select.select([], [fd], [])
