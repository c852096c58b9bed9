"""Whether a program works: the processor time that it and everything it started have used."""

from __future__ import annotations

import contextlib
import glob
import os
import time
from collections.abc import Iterable

from .processes import adopted

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
BUSY = 0.01
"""Share of a processor from which on a program counts as working: waiting in a loop takes less."""
MOST = 1000
"""Processes to look at: there may be any number of them."""


class Work:
    """Compares what was used with the last time it looked."""

    def __init__(self) -> None:
        self._used: dict[int, float] = {}
        self._looked_at = time.monotonic()

    def has_happened(self, pid: int, own_threads: Iterable[int]) -> bool:
        """Since the last look; `own_threads` belong to the debugger and do not count."""
        now, before = time.monotonic(), self._looked_at
        used = _used_by_tree(pid, own_threads)
        spent = sum(max(0.0, seconds - self._used.get(number, 0.0)) for number, seconds in used.items())
        self._used, self._looked_at = used, now
        return spent > 0 and spent >= BUSY * (now - before)


def _used_by_tree(pid: int, own_threads: Iterable[int]) -> dict[int, float]:
    """Seconds by process id: the program, its descendants, and those that it has left to us."""
    if not os.path.isdir("/proc/self/task"):
        return _used_elsewhere(pid)
    used: dict[int, float] = {}
    waiting = [pid, *adopted()]
    while waiting and len(used) < MOST:
        number = waiting.pop()
        if number in used:
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            used[number] = _seconds(f"/proc/{number}/stat", with_children=True)
            waiting += _children(number)
    if pid in used:
        for thread in own_threads:
            with contextlib.suppress(OSError, ValueError, IndexError):
                used[pid] -= _seconds(f"/proc/{pid}/task/{thread}/stat", with_children=False)
    return used


def _seconds(path: str, with_children: bool) -> float:
    """utime and stime, and with them cutime and cstime: of children that have ended and were waited for."""
    with open(path, "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return sum(int(field) for field in fields[11 : 15 if with_children else 13]) / TICKS


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for listing in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError), open(listing) as file:
            found += [int(number) for number in file.read().split()]
    return found


def _used_elsewhere(pid: int) -> dict[int, float]:
    """Systems without /proc."""
    import psutil  # here, because it takes memory

    used: dict[int, float] = {}
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                used[process.pid] = times.user + times.system
    return used
