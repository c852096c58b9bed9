"""What an executable says about itself: for which machine it is, and whether it has debug information."""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

from ...errors import RelayError

MAGIC = b"\x7fELF"
MACHINES = {3: "i386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64",
            243: "riscv", 258: "loongarch64"}  # fmt: skip
RUNS = {"x86_64": ("x86_64", "i386"), "aarch64": ("aarch64", "arm")}
"""What else a machine runs besides its own."""
ALIASES = {"amd64": "x86_64", "arm64": "aarch64", "i686": "i386", "armv7l": "arm", "ppc64le": "ppc64",
           "riscv64": "riscv"}  # fmt: skip
MOST_SECTIONS = 10_000
EXECUTABLE, SHARED, CORE = 2, 3, 4
IN_MEMORY, NOTES, HEADERS = 1, 4, 6
"""Kinds of segments."""
MOST_READ = 64 << 20
"""bytes, of a table or of notes"""
HEADER = 56
"""Bytes that tell of one, on machines of 64 bits."""
BUILD_ID = 3
"""The kind of a note."""
BROKEN = (OSError, struct.error, ValueError, OverflowError, IndexError)
"""What reading a damaged file raises."""
DEBUG_FILES = "/usr/lib/debug/.build-id"

NO_DEBUG = (
    "{name} has no debug information: there are no lines, variables or types. Compile it with -g (and -O0 to see all "
    "variables), or put its separate debug file where the debugger looks for it"
)
STRIPPED = (
    "{name} is stripped: not even its functions have names. Compile it with -g and do not strip it, or put its "
    "separate debug file where the debugger looks for it"
)


@dataclass
class Elf:
    machine: str
    bits: int
    kind: int
    """2 executable, 3 shared (position-independent executables too), 4 core"""
    sections: dict[str, tuple[int, int]] = field(default_factory=dict)
    """by name: where in the file, and how many bytes"""

    @property
    def has_debug_info(self) -> bool:
        """In it, or in a file of its own that may be installed: distributions split it off."""
        return self.holds_debug_info or ".gnu_debuglink" in self.sections

    @property
    def holds_debug_info(self) -> bool:
        return ".debug_info" in self.sections or ".zdebug_info" in self.sections

    @property
    def is_stripped(self) -> bool:
        return ".symtab" not in self.sections


@dataclass(frozen=True)
class Segment:
    kind: int
    offset: int
    """in the file"""
    address: int
    size: int
    """in the file, which need not have all that is in memory"""

    @classmethod
    def table(cls, data: bytes, size: int = HEADER) -> list[Segment]:
        """From a program header table, on machines of 64 bits."""
        rows = [struct.unpack_from("<IIQQQQ", data, start) for start in range(0, len(data) - size + 1, size)]
        return [cls(kind, offset, address, length) for kind, _, offset, address, _, length in rows]


def segments(file: IO[bytes]) -> list[Segment]:
    """None of what is not for a machine of 64 bits; raises one of BROKEN."""
    head = part(file, 0, 64)
    if head[4:6] != b"\x02\x01":
        return []
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    return Segment.table(part(file, offset, size * count), size)


def note(notes: bytes, owner: bytes, wanted: int) -> bytes | None:
    """What the first note of that kind says."""
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (name + 3) // 4 * 4
        if kind == wanted and notes[at + 12 : at + 12 + name].rstrip(b"\0") == owner:
            return notes[start : start + length]
        at = start + (length + 3) // 4 * 4
    return None


def build_id(path: str) -> str | None:
    """By which a program, its core files and its separate debug information know each other."""
    try:
        with open(path, "rb") as file:
            return build_id_in(segments(file), lambda segment: part(file, segment.offset, segment.size))
    except BROKEN:
        return None


def build_id_in(headers: list[Segment], content: Callable[[Segment], bytes]) -> str | None:
    notes = (note(content(each), b"GNU", BUILD_ID) for each in headers if each.kind == NOTES)
    return next((found.hex() for found in notes if found), None)


def part(file: IO[bytes], offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(min(size, MOST_READ))


def read(path: str) -> Elf | None:
    """None of what is no ELF file, or a broken one."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != MAGIC or len(head) < 52:
                return None
            bits = 64 if head[4] == 2 else 32
            order = "<" if head[5] == 1 else ">"
            kind, machine = struct.unpack_from(order + "HH", head, 16)
            found = Elf(MACHINES.get(machine, f"machine {machine}"), bits, kind)
            layout = order + ("QIHHHHHH" if bits == 64 else "IIHHHHHH")
            offset, _, _, _, _, size, count, names = struct.unpack_from(layout, head, 40 if bits == 64 else 32)
            if count and count < MOST_SECTIONS and kind != CORE:  # those of a core may be cut off
                found.sections = _sections(file, order, bits, offset, size, count, names)
            return found
    except BROKEN:
        return None


def _sections(
    file: IO[bytes], order: str, bits: int, offset: int, size: int, count: int, names: int
) -> dict[str, tuple[int, int]]:
    file.seek(offset)
    table = file.read(size * count)
    start, layout = (24, "QQ") if bits == 64 else (16, "II")
    places = [struct.unpack_from(order + layout, table, index * size + start) for index in range(count)]
    at, length = places[names]
    file.seek(at)
    texts = file.read(length)
    found = {}
    for index, (where, extent) in enumerate(places):
        (start,) = struct.unpack_from(order + "I", table, index * size)
        found[texts[start : texts.index(b"\0", start)].decode("ascii", "replace")] = (where, extent)
    return found


def check(path: str, runs: bool = True) -> None:
    """Refuses what cannot be debugged here."""
    found = read(path)
    if found is None:
        raise RelayError("LAUNCH_FAILED", f"{path} is not a native executable, or is damaged", status=400)
    if runs and found.kind == CORE:
        raise RelayError(
            "LAUNCH_FAILED",
            f"{path} is a core file, not a program",
            status=400,
            suggestion="Give the program that crashed as `program`, and this file as `core`",
        )
    here = ALIASES.get(platform.machine(), platform.machine())
    if found.machine not in RUNS.get(here, (here,)):
        raise RelayError(
            "LAUNCH_FAILED",
            f"{path} is for another machine: {found.machine}, and this one is {here}",
            status=400,
            suggestion=f"Compile it for {here}, or launch it on a machine of its own with gdbserver and attach there",
        )
    if runs and not os.access(path, os.X_OK):
        raise RelayError(
            "LAUNCH_FAILED", f"{path} may not be executed", status=400, suggestion=f"Allow it: chmod +x {path}"
        )


def warnings(path: str) -> list[str]:
    found = read(path)
    if found is None or found.has_debug_info or _has_debug_file(path):
        return []
    name = os.path.basename(path)
    return [(STRIPPED if found.is_stripped else NO_DEBUG).format(name=name)]


def _has_debug_file(path: str) -> bool:
    """Whether its debug information is installed where debuggers look for it by the build id."""
    number = build_id(path)
    return number is not None and os.path.isfile(f"{DEBUG_FILES}/{number[:2]}/{number[2:]}.debug")
