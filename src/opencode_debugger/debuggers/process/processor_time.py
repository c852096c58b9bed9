"""Tells whether a program works, by the processor time that it and everything it started have used."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable

from .proc_files import children_of, stat_fields
from .program_process import adopted

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
BUSY = 0.01
"""Share of a processor from which on a program counts as working: waiting in a loop takes less."""
MOST = 1000
"""Processes to look at: there may be any number of them."""


class Work:
    """Compares what was used with what it was at the last look."""

    def __init__(self) -> None:
        self._used: dict[int, float] = {}
        self._looked_at = time.monotonic()

    def has_happened(self, pid: int, own_threads: Iterable[int]) -> bool:
        """Tell whether it worked since the last look; `own_threads` belong to the debugger and do not count."""
        now, before = time.monotonic(), self._looked_at
        used = _used_by_tree(pid, own_threads)
        spent = sum(max(0.0, seconds - self._used.get(number, 0.0)) for number, seconds in used.items())
        self._used, self._looked_at = used, now
        return spent > 0 and spent >= BUSY * (now - before)


def _used_by_tree(pid: int, own_threads: Iterable[int]) -> dict[int, float]:
    """Return seconds by process id: the program, its descendants, and those that it has left to us."""
    if not os.path.isdir("/proc/self/task"):
        return _used_elsewhere(pid)
    used: dict[int, float] = {}
    waiting = [pid, *adopted()]
    while waiting and len(used) < MOST:
        number = waiting.pop()
        if number not in used:
            used[number] = _seconds_used(number)
            waiting += children_of(number)
    for thread in own_threads if pid in used else ():
        used[pid] -= _seconds_used(pid, thread)
    return used


def _seconds_used(pid: int, thread: int | None = None) -> float:
    """Add up utime and stime; of a process cutime and cstime, too: of children that have ended and were waited for."""
    return sum(map(int, stat_fields(pid, thread)[11 : 15 if thread is None else 13])) / TICKS


def _used_elsewhere(pid: int) -> dict[int, float]:
    """Do the same on systems without /proc."""
    import psutil  # here, because it takes memory

    used: dict[int, float] = {}
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                used[process.pid] = times.user + times.system
    return used
