"""Core files: whether a file is one, and of which program."""

from __future__ import annotations

import os
import signal
import struct
from typing import IO

from ...errors import RelayError
from . import elf

ABOUT_THE_PROCESS, ABOUT_THE_START, ABOUT_THE_SIGNAL = 3, 6, 0x53494749
"""Kinds of notes."""
PROGRAM_HEADERS, HOW_MANY = 3, 5
"""What the system told the program at its start: where its own headers are in memory."""
FROM_THE_KERNEL = 0x80
"""The code of a fault at an address that no memory can have; those below 1 are not about any."""
NAME = slice(40, 56)
"""Where such a note has the beginning of the program's name, on machines of 64 bits."""
LONGEST = 15


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
    """Another program's symbols would give names and lines that mean nothing; so would those of another build."""
    try:
        with open(path, "rb") as file:
            core = Core(file)
            return core.not_of(program) + core.cut_off()
    except elf.BROKEN:
        return ["The core file is damaged: what is shown may be wrong"]


def fault(path: str) -> tuple[int, str] | None:
    """The signal of a crash, and the address that it is about: as text, which is empty if it cannot be known."""
    try:
        with open(path, "rb") as file:
            told = Core(file).note(ABOUT_THE_SIGNAL)
    except elf.BROKEN:
        return None
    if told is None or len(told) < 24:
        return None
    number, _, code = struct.unpack_from("<iii", told)
    if number not in (signal.SIGSEGV, signal.SIGBUS) or not 0 < code <= FROM_THE_KERNEL:
        return None
    return number, "" if code == FROM_THE_KERNEL else hex(struct.unpack_from("<Q", told, 16)[0])


class Core:
    """An open core file. Of machines that have not 64 bits, nothing is known."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._segments = elf.segments(file)

    def note(self, kind: int) -> bytes | None:
        """The first of that kind, which is of the thread that crashed."""
        for segment in self._segments:
            if segment.kind == elf.NOTES:
                return elf.note(elf.part(self._file, segment.offset, segment.size), b"CORE", kind)
        return None

    def not_of(self, program: str) -> list[str]:
        own = os.path.basename(os.path.realpath(program))
        crashed, given = self._build_id(), elf.build_id(program)
        if crashed and crashed == given:
            return []
        name = self._name()
        if name and name not in (own[:LONGEST], os.path.basename(program)[:LONGEST]):
            return [f"The core file is of {name}, not of {own}: what is shown is true only if that is the same program"]
        if crashed and given:
            return [
                f"The core file is of another build of {own} (build id {crashed}, and this one has {given}): "
                "functions, lines and values that are shown may be wrong. Give the program as it was when it crashed"
            ]
        return []

    def cut_off(self) -> list[str]:
        end = max((segment.offset + segment.size for segment in self._segments), default=0)
        size = self._file.seek(0, os.SEEK_END)
        if size >= end:
            return []
        return [
            f"The core file is cut off: it has {size:,} of {end:,} bytes, and memory that is missing cannot be shown, "
            "the stack perhaps. See that there is room on the disk, and none too little in `ulimit -c`"
        ]

    def _name(self) -> str | None:
        told = self.note(ABOUT_THE_PROCESS)
        return told[NAME].partition(b"\0")[0].decode("utf-8", "replace") if told else None

    def _build_id(self) -> str | None:
        """As the program had it in its memory, found by what the system told it at its start."""
        told = self.note(ABOUT_THE_START) or b""
        started = dict(struct.iter_unpack("<QQ", told[: len(told) // 16 * 16]))
        where, count = started.get(PROGRAM_HEADERS, 0), started.get(HOW_MANY, 0)
        headers = elf.Segment.table(self._memory(where, count * elf.HEADER))
        moved = next((where - each.address for each in headers if each.kind == elf.HEADERS), 0)
        return elf.build_id_in(headers, lambda each: self._memory(moved + each.address, each.size))

    def _memory(self, address: int, size: int) -> bytes:
        """As much as the file has of it."""
        for segment in self._segments:
            if segment.kind == elf.IN_MEMORY and 0 <= address - segment.address < segment.size:
                skipped = address - segment.address
                return elf.part(self._file, segment.offset + skipped, min(size, segment.size - skipped))
        return b""
