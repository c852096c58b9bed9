"""Who waits for what comes through a pipe: the kernel knows in which call each thread is held up (Linux)."""

from __future__ import annotations

import contextlib
import os
import platform
import struct
from collections.abc import Iterator
from typing import NamedTuple

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
    """Who waits."""

    pid: int
    thread: int


def identity(fd: int) -> Pipe:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def reader_of(pipe: Pipe, program: int) -> Reader | None:
    """The thread of a program, or of what it has started, that can go on only with what comes through the pipe.

    Nobody, too, where the kernel does not tell: better than a guess."""
    for pid in _family(program):
        for thread in _threads(pid):
            with contextlib.suppress(OSError, ValueError):
                if _waits(pid, thread, pipe):
                    return Reader(pid, thread)
    return None


def is_busy(pid: int) -> bool:
    """Whether a thread of it runs, or would if it were its turn."""
    for thread in _threads(pid):
        with contextlib.suppress(OSError):
            if _read(f"/proc/{pid}/task/{thread}/stat").rpartition(")")[2].split()[0] == "R":
                return True
    return False


def _family(program: int) -> Iterator[int]:
    """The program, then its children and theirs."""
    found = [program]
    for pid in found:
        yield pid
        for thread in _threads(pid):
            if len(found) > PROCESSES:
                break
            with contextlib.suppress(OSError):
                found += [int(child) for child in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _threads(pid: int) -> list[int]:
    try:
        listed = os.listdir(f"/proc/{pid}/task") if NUMBERS else []
    except OSError:
        listed = []
    return [int(thread) for thread in listed]


def _waits(pid: int, thread: int, pipe: Pipe) -> bool:
    """Only a thread that sleeps has a call to show; one that runs is shown as that."""
    shown = _read(f"/proc/{pid}/task/{thread}/syscall").split()
    if not shown or not shown[0].isdigit() or len(shown) < 7:
        return False
    arguments = [int(text, 16) for text in shown[1:7]]
    match NUMBERS.get(int(shown[0])):
        case "read":
            watched = [arguments[0]]
        case "poll" if arguments[2] & 0x80000000:
            watched = _polled(pid, *arguments[:2])
        case "ppoll" if not arguments[2]:
            watched = _polled(pid, *arguments[:2])
        case "select" if not arguments[4]:
            watched = _selected(pid, *arguments[:2])
        case "epoll" if arguments[3] & 0x80000000:
            watched = _registered(pid, arguments[0])
        case "epoll2" if not arguments[3]:
            watched = _registered(pid, arguments[0])
        case _:  # something else, or a wait that will end by itself
            watched = []
    return any(_leads_to(pid, fd, pipe) for fd in watched)


def _leads_to(pid: int, fd: int, pipe: Pipe) -> bool:
    try:
        status = os.stat(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == pipe


def _polled(pid: int, address: int, count: int) -> list[int]:
    entries = struct.iter_unpack("ihh", _memory(pid, address, min(count, DESCRIPTORS) * 8))
    return [fd for fd, events, _ in entries if events & POLLIN and fd >= 0]


def _selected(pid: int, count: int, address: int) -> list[int]:
    """A set of descriptors is an array of 64-bit words."""
    if not address:
        return []
    count = min(count, DESCRIPTORS)
    bits = int.from_bytes(_memory(pid, address, (count + 63) // 64 * 8), "little")
    return [fd for fd in range(count) if bits >> fd & 1]


def _registered(pid: int, epoll: int) -> list[int]:
    watched = []
    for line in _read(f"/proc/{pid}/fdinfo/{epoll}").splitlines():
        words = line.split()
        if words[:1] == ["tfd:"] and int(words[3], 16) & POLLIN:
            watched.append(int(words[1]))
    return watched


def _memory(pid: int, address: int, size: int) -> bytes:
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, size, address)
    finally:
        os.close(fd)


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 65536).decode("ascii", "replace")
    finally:
        os.close(fd)
