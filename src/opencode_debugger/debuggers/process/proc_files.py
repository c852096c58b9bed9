"""Reads what Linux tells of processes and threads under /proc; nothing where there is no such system or process."""

from __future__ import annotations

import contextlib
import os


def read_text(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        return file.read(65536).decode("ascii", "replace")


def stat_fields(pid: int, thread: int | None = None) -> list[bytes]:
    """Return what it has behind the name."""
    path = f"/proc/{pid}/stat" if thread is None else f"/proc/{pid}/task/{thread}/stat"
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read().rpartition(b")")[2].split()
    return []


def state_letter(pid: int, thread: int | None = None) -> bytes | None:
    return next(iter(stat_fields(pid, thread)), None)


def threads_of(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    return []


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for thread in threads_of(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
            found += map(int, file.read().split())
    return found
