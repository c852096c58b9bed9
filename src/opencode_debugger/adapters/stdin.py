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

from ..errors import RelayError
from ..wording import counted
from . import waiting

LONGEST_QUEUE = 16 * 1024 * 1024
"""Bytes that may wait for a program that does not read, besides those in the pipe."""


class Stdin:
    def __init__(self, pipe: IO[bytes], pid: int) -> None:
        self._pipe: IO[bytes] | None = pipe
        self._fd = pipe.fileno()
        self._pid = pid
        self._identity = waiting.identity(self._fd)
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._is_ended = False
        self._is_broken = False
        self._left: int | None = None
        """what nobody had taken when the pipe was closed, where that is known"""
        self.accepted = 0
        """bytes in all"""
        os.set_blocking(self._fd, False)

    @property
    def is_open(self) -> bool:
        """Whether more can come through it."""
        return self._pipe is not None and not self._is_ended

    @property
    def pending(self) -> int | None:
        """Bytes that the program has not taken yet; unknown once the input has ended and all of it is in the pipe."""
        return self._left if self._pipe is None else self._queued + self._in_pipe()

    def _in_pipe(self) -> int:
        count = array.array("i", [0])
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._fd, termios.FIONREAD, count)
        return count[0]

    def reader(self) -> waiting.Reader | None:
        """Who waits for more, when there is nothing left to take."""
        if not self.is_open or self.pending:
            return None
        return waiting.reader_of(self._identity, self._pid)

    def send(self, data: bytes, eof: bool = False) -> None:
        """All of it or nothing."""
        self._check(len(data))
        if data:
            self._queue.append(memoryview(data))
        self._queued += len(data)
        self.accepted += len(data)
        self._is_ended = eof
        self._write()
        if self._is_broken:
            raise self._has_closed()

    def _check(self, size: int) -> None:
        if self._is_ended:
            raise closed("An earlier call has ended the program's input", self.pending)
        if self._pipe is not None and self._nobody_reads():
            self._break()
        if self._pipe is None:
            raise self._has_closed()
        if self._queued + size > LONGEST_QUEUE:
            unread = counted(self.pending or 0, "byte")
            raise RelayError(
                "STDIN_FULL",
                f"The program has not read {unread} of its input: there is no room for {size} more",
                pending=self.pending,
                max_pending=LONGEST_QUEUE,
            )

    def _nobody_reads(self) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        return any(events & select.POLLERR for _, events in poll.poll(0))

    def _has_closed(self) -> RelayError:
        return closed("The program has closed its stdin", self._left)

    def _write(self) -> None:
        """As much as the pipe takes now; the rest when there is room."""
        while self._queue:
            try:
                count = os.write(self._fd, self._queue[0])
            except BlockingIOError:
                self._loop.add_writer(self._fd, self._write)
                return
            except OSError:
                self._break()
                return
            self._queued -= count
            rest = self._queue[0][count:]
            if rest:
                self._queue[0] = rest
            else:
                self._queue.popleft()
        self._loop.remove_writer(self._fd)
        if self._is_ended:
            self._close()

    def _break(self) -> None:
        """Nobody can read it any more."""
        self._left, self._is_broken = self.pending, True
        self._close()

    def close(self) -> None:
        """The program is gone."""
        if self._pipe is not None:
            self._break()

    def _close(self) -> None:
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
