"""Ending what the benchmark started, and what it takes in memory."""

from __future__ import annotations

import subprocess
from contextlib import suppress

import psutil

MB = 1024 * 1024


def family(pid: int) -> list[psutil.Process]:
    """Everything that a process has started, which may outlive it."""
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def end(process: subprocess.Popen[bytes], others: list[psutil.Process], patience: float = 0) -> None:
    """Waits, then insists; also on what it had started."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    if process.poll() is None:
        process.kill()
        process.wait()
    for other in others:
        with suppress(psutil.Error):
            other.kill()  # by pid and start time: never a stranger that got the same pid


def memory(pid: int) -> dict[str, float]:
    """Resident, and of that its own, in MB."""
    found = psutil.Process(pid).memory_full_info()
    return {"rss": round(found.rss / MB, 1), "uss": round(found.uss / MB, 1)}
