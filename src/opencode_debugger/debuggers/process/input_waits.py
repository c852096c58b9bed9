"""Finds who waits for what comes through a pipe: the kernel knows in which call each thread is held up (Linux)."""

from __future__ import annotations

import contextlib
import os
import platform
import struct
from typing import NamedTuple

from .proc_files import children_of, read_text, state_letter, threads_of

PROCESSES = 50
"""Children that are looked at besides the program itself."""
DESCRIPTORS = 1024
POLLIN = 1

CALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        0: "read", 19: "read", 7: "poll", 271: "ppoll", 23: "select", 270: "select",
        232: "epoll", 281: "epoll", 441: "epoll2",
    },
    "aarch64": {63: "read", 65: "read", 73: "ppoll", 72: "select", 22: "epoll", 441: "epoll2"},
}  # fmt: skip
"""Numbers of the system calls in which one waits for input."""

NUMBERS = CALLS.get(platform.machine(), {}) if os.path.isdir("/proc/self/task") else {}

Pipe = tuple[int, int]
"""device and inode: the same at both ends"""


class Reader(NamedTuple):
    """A thread that waits."""

    pid: int
    thread: int


def pipe_identity(place: int | str) -> Pipe:
    status = os.stat(place)
    return status.st_dev, status.st_ino


def reader_of(pipe: Pipe, program: int) -> Reader | None:
    """Return the thread of a program, or of what it has started, that can go on only with what comes through the pipe.

    None, too, where the kernel does not tell: better than a guess."""
    found = [program]
    for pid in found:
        for thread in threads_of(pid):
            with contextlib.suppress(OSError, ValueError):
                if _waits_for(pid, thread, pipe):
                    return Reader(pid, thread)
        if len(found) <= PROCESSES:
            found += children_of(pid)
    return None


def is_busy(pid: int) -> bool:
    """Tell whether a thread of it runs, or would if it were its turn."""
    return any(state_letter(pid, thread) == b"R" for thread in threads_of(pid))


def _waits_for(pid: int, thread: int, pipe: Pipe) -> bool:
    """Tell whether a thread waits. Only one that sleeps has a call to show; one that runs is shown as that."""
    shown = read_text(f"/proc/{pid}/task/{thread}/syscall").split()
    if not shown or not shown[0].isdigit() or len(shown) < 7:
        return False
    arguments = [int(text, 16) for text in shown[1:7]]
    match NUMBERS.get(int(shown[0])):
        case "read":
            watched = [arguments[0]]
        case "poll" if arguments[2] & 0x80000000:
            watched = _polled_descriptors(pid, *arguments[:2])
        case "ppoll" if not arguments[2]:
            watched = _polled_descriptors(pid, *arguments[:2])
        case "select" if not arguments[4]:
            watched = _selected_descriptors(pid, *arguments[:2])
        case "epoll" if arguments[3] & 0x80000000:
            watched = _registered_descriptors(pid, arguments[0])
        case "epoll2" if not arguments[3]:
            watched = _registered_descriptors(pid, arguments[0])
        case _:  # something else, or a wait that will end by itself
            watched = []
    return any(_leads_to(pid, fd, pipe) for fd in watched)


def _leads_to(pid: int, fd: int, pipe: Pipe) -> bool:
    with contextlib.suppress(OSError):
        return pipe_identity(f"/proc/{pid}/fd/{fd}") == pipe
    return False


def _polled_descriptors(pid: int, address: int, count: int) -> list[int]:
    entries = struct.iter_unpack("ihh", _read_memory(pid, address, min(count, DESCRIPTORS) * 8))
    return [fd for fd, events, _ in entries if events & POLLIN and fd >= 0]


def _selected_descriptors(pid: int, count: int, address: int) -> list[int]:
    """Return the members of a set of descriptors, which is an array of 64-bit words."""
    if not address:
        return []
    count = min(count, DESCRIPTORS)
    bits = int.from_bytes(_read_memory(pid, address, (count + 63) // 64 * 8), "little")
    return [fd for fd in range(count) if bits >> fd & 1]


def _registered_descriptors(pid: int, epoll: int) -> list[int]:
    lines = [line.split() for line in read_text(f"/proc/{pid}/fdinfo/{epoll}").splitlines()]
    return [int(words[1]) for words in lines if words[:1] == ["tfd:"] and int(words[3], 16) & POLLIN]


def _read_memory(pid: int, address: int, size: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), size, address)
