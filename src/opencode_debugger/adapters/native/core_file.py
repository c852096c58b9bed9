"""Core files: whether a file is one, and of which program."""

from __future__ import annotations

import os
import struct

from ...errors import RelayError
from . import elf

NOTES, ABOUT_THE_PROCESS = 4, 3
"""Kinds: of a segment, and of a note in it."""
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


def _name(path: str) -> str | None:
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
                kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", table, start)
                if kind == NOTES:
                    file.seek(at)
                    return _in_notes(file.read(length))
    except (OSError, struct.error, ValueError):
        return None
    return None


def _in_notes(notes: bytes) -> str | None:
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (name + 3) // 4 * 4
        if kind == ABOUT_THE_PROCESS and notes[at + 12 : at + 16] == b"CORE":
            return notes[start : start + length][NAME].partition(b"\0")[0].decode("utf-8", "replace")
        at = start + (length + 3) // 4 * 4
    return None
