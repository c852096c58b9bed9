"""Core files: whether a file is one, and of which program."""

from __future__ import annotations

import os
import signal
import struct

from ...errors import RelayError
from . import elf

NOTES, ABOUT_THE_PROCESS, ABOUT_THE_SIGNAL = 4, 3, 0x53494749
"""Kinds: of a segment, and of notes in it."""
FROM_THE_KERNEL = 0x80
"""The code of a fault at an address that no memory can have; those below 1 are not about any."""
NAME = slice(40, 56)
"""Where such a note has the beginning of the program's name, on machines of 64 bits."""
LONGEST = 15
MOST_SEGMENTS = 65_535


def check(path: str) -> None:
    found = elf.read(path)
    if found is None or found.kind != elf.CORE:
        raise RelayError(
            "LAUNCH_FAILED",
            f"{path} is not a core file",
            status=400,
            suggestion="Give the file that the crash left as `core`, and the program that crashed as `program`",
        )


def warnings(path: str, program: str) -> list[str]:
    """Another program's symbols would give names and lines that mean nothing."""
    name = _name(path)
    own = os.path.basename(os.path.realpath(program))
    if not name or name in (own[:LONGEST], os.path.basename(program)[:LONGEST]):
        return []
    return [f"The core file is of {name}, not of {own}: what is shown is true only if that is the same program"]


def fault(path: str) -> tuple[int, str] | None:
    """The signal of a crash, and the address that it is about: as text, which is empty if it cannot be known."""
    told = _note(path, ABOUT_THE_SIGNAL)
    if told is None or len(told) < 24:
        return None
    number, _, code = struct.unpack_from("<iii", told)
    if number not in (signal.SIGSEGV, signal.SIGBUS) or not 0 < code <= FROM_THE_KERNEL:
        return None
    return number, "" if code == FROM_THE_KERNEL else hex(struct.unpack_from("<Q", told, 16)[0])


def _name(path: str) -> str | None:
    told = _note(path, ABOUT_THE_PROCESS)
    return told[NAME].partition(b"\0")[0].decode("utf-8", "replace") if told else None


def _note(path: str, kind: int) -> bytes | None:
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[4:6] != b"\x02\x01":
                return None
            (offset,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            table = file.read(size * min(count, MOST_SEGMENTS))
            for start in range(0, len(table), size):
                what, _, at, _, _, length = struct.unpack_from("<IIQQQQ", table, start)
                if what == NOTES:
                    file.seek(at)
                    return _in_notes(file.read(length), kind)
    except (OSError, struct.error, ValueError):
        return None
    return None


def _in_notes(notes: bytes, wanted: int) -> bytes | None:
    """The first of that kind, which is of the thread that crashed."""
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (name + 3) // 4 * 4
        if kind == wanted and notes[at + 12 : at + 16] == b"CORE":
            return notes[start : start + length]
        at = start + (length + 3) // 4 * 4
    return None
