"""The standard input of a program of ours: takes what it is given at once, writes it as the program reads."""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import os
import select
import termios
from collections import deque
from typing import IO

from ...errors import RelayError
from ...wording import counted
from . import input_waits

LONGEST_QUEUE = 16 * 1024 * 1024
"""Bytes that may wait for a program that does not read, besides those in the pipe."""


def count_unread(fd: int) -> int:
    """Count the bytes in a pipe or terminal that nobody has taken yet."""
    count = array.array("i", [0])
    with contextlib.suppress(OSError):
        fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


class Stdin:
    def __init__(self, pipe: IO[bytes], pid: int) -> None:
        self._pipe: IO[bytes] | None = pipe
        self._fd = pipe.fileno()
        self._pid = pid
        self._identity = input_waits.pipe_identity(self._fd)
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._is_ended = self._is_broken = False
        self._left: int | None = None
        """what nobody had taken when the pipe was closed, where that is known"""
        self.accepted = 0
        """bytes in all"""
        os.set_blocking(self._fd, False)

    @property
    def is_open(self) -> bool:
        return self._pipe is not None and not self._is_ended

    @property
    def pending(self) -> int | None:
        """Count the bytes that the program has not taken; unknown once the input has ended and all is in the pipe."""
        return self._left if self._pipe is None else self._queued + count_unread(self._fd)

    def reader(self) -> input_waits.Reader | None:
        """Return who waits for more, when there is nothing left to take."""
        is_waited_for = self.is_open and not self.pending
        return input_waits.reader_of(self._identity, self._pid) if is_waited_for else None

    def send(self, data: bytes, eof: bool = False) -> None:
        """Take all of it or nothing."""
        self._check_room(len(data))
        if data:
            self._queue.append(memoryview(data))
        self._queued += len(data)
        self.accepted += len(data)
        self._is_ended = eof
        self._write_queue()
        if self._is_broken:
            raise closed("The program has closed its stdin", self._left)

    def _check_room(self, size: int) -> None:
        if self._is_ended:
            raise closed("An earlier call has ended the program's input", self.pending)
        if self._pipe is not None:
            poll = select.poll()
            poll.register(self._fd, select.POLLOUT)
            if any(events & select.POLLERR for _, events in poll.poll(0)):  # nobody reads
                self._give_up()
        if self._pipe is None:
            raise closed("The program has closed its stdin", self._left)
        if self._queued + size > LONGEST_QUEUE:
            unread = counted(self.pending or 0, "byte")
            message = f"The program has not read {unread} of its input: there is no room for {size} more"
            raise RelayError("STDIN_FULL", message, pending=self.pending, max_pending=LONGEST_QUEUE)

    def _write_queue(self) -> None:
        """Write as much as the pipe takes now; the rest when there is room."""
        while self._queue:
            try:
                count = os.write(self._fd, self._queue[0])
            except BlockingIOError:
                self._loop.add_writer(self._fd, self._write_queue)
                return
            except OSError:
                self._give_up()
                return
            self._queued -= count
            self._queue[0] = self._queue[0][count:]
            if not self._queue[0]:
                self._queue.popleft()
        self._loop.remove_writer(self._fd)
        if self._is_ended:
            self._close_pipe()

    def _give_up(self) -> None:
        """Close it: nobody can read it any more."""
        self._left, self._is_broken = self.pending, True
        self._close_pipe()

    def close(self) -> None:
        """Close it: the program is gone."""
        if self._pipe is not None:
            self._give_up()

    def _close_pipe(self) -> None:
        if self._pipe is None:
            return
        self._loop.remove_writer(self._fd)
        with contextlib.suppress(OSError):
            self._pipe.close()
        self._pipe = None
        self._queue.clear()
        self._queued = 0


def closed(message: str, unread: int | None = None) -> RelayError:
    return RelayError("STDIN_CLOSED", message, unread=unread)
