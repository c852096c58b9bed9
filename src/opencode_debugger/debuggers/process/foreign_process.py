"""A process that somebody else started: its end is seen, and its exit code where the system tells it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct

from .proc_files import stat_fields
from .program_process import OWN, EndingProcess, ExitStatus

PIDFD_GET_INFO = 0xC040FF0B
PIDFD_INFO_EXIT = 1 << 3
INFO = struct.Struct("<QQ11Ii")
"""mask, cgroup, ids, exit status: the first version of struct pidfd_info"""
STATUS_FIELD = 49
"""of /proc/PID/stat, counted after the name"""


class Watched(EndingProcess):
    """A process whose end is awaited. Needs pidfd (Linux); without it, whoever watches must tell of the end."""

    def __init__(self, pid: int, is_kept: bool = True) -> None:
        self.pid = pid
        self._is_kept = is_kept and pid not in OWN  # else somebody here waits for it already
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[ExitStatus | None] = self._loop.create_future()
        self._pidfd: int | None = None
        if self._is_kept:
            OWN.add(pid)  # should its parent end first it becomes our child, and is not to be swept away
        try:
            if hasattr(os, "pidfd_open"):
                self._pidfd = os.pidfd_open(pid)
                self._loop.add_reader(self._pidfd, lambda: self.end_seen(self._exit_status()))
        except OSError:
            self.end_seen(None)

    def end_seen(self, status: ExitStatus | None) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._is_kept:
            OWN.discard(self.pid)
        if not self.ended.done():
            self.ended.set_result(status)

    def close(self) -> None:
        """Stop watching."""
        if not self.ended.done():
            self.end_seen(None)

    def _exit_status(self) -> ExitStatus | None:
        """Ask whoever knows: it may be our child by now, a zombie, or collected already."""
        if self._is_kept:
            with contextlib.suppress(ChildProcessError):
                found, status = os.waitpid(self.pid, os.WNOHANG)
                return _status_of(status) if found else None
        fields = stat_fields(self.pid)
        if fields and fields[0] in (b"Z", b"X"):
            return _status_of(int(fields[STATUS_FIELD]))
        assert self._pidfd is not None
        with contextlib.suppress(OSError):  # Linux remembers it from 6.15 on, as long as there is a pidfd
            asked = INFO.pack(PIDFD_INFO_EXIT, *[0] * 13)
            answer = INFO.unpack(fcntl.ioctl(self._pidfd, PIDFD_GET_INFO, asked))
            if answer[0] & PIDFD_INFO_EXIT:
                return _status_of(answer[-1])
        return None

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                os.kill(self.pid, number)


def _status_of(wait_status: int) -> ExitStatus:
    return ExitStatus.of(os.waitstatus_to_exitcode(wait_status))
