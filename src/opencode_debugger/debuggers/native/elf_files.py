"""Executables and what they say about themselves, if they have debug information; core files, and of which program."""

from __future__ import annotations

import os
import platform
import signal
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from ...errors import RelayError

MAGIC = b"\x7fELF"
MACHINES = {3: "i386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64",
            243: "riscv", 258: "loongarch64"}  # fmt: skip
RUNS = {"x86_64": ("x86_64", "i386"), "aarch64": ("aarch64", "arm")}
"""Machines whose programs a machine runs besides its own."""
ALIASES = {"amd64": "x86_64", "arm64": "aarch64", "i686": "i386", "armv7l": "arm", "ppc64le": "ppc64",
           "riscv64": "riscv"}  # fmt: skip
CORE = 4
IN_MEMORY, NOTES, HEADERS = 1, 4, 6
"""Kinds of segments."""
HEADER = 56
"""Bytes that tell of one, on machines of 64 bits."""
DEBUG_FILES = "/usr/lib/debug/.build-id"
BROKEN = (OSError, struct.error, ValueError, OverflowError, IndexError)
"""Errors that reading a damaged file raises."""
ABOUT_THE_PROCESS, ABOUT_THE_START, ABOUT_THE_SIGNAL = 3, 6, 0x53494749
"""Kinds of notes."""
PROGRAM_HEADERS, HOW_MANY = 3, 5
"""Notes of the system to the program at its start: where its own headers are in memory."""
FROM_THE_KERNEL = 0x80
"""The code of a fault at an address that no memory can have; those below 1 are not about any."""
NAME, LONGEST = slice(40, 56), 15
"""The place in such a note of the beginning of the program's name, on machines of 64 bits, and how much that is."""

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
    """Return what the first note of that kind says."""
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
    notes = (note(content(each), b"GNU", 3) for each in headers if each.kind == NOTES)  # that of a build id
    return next((found.hex() for found in notes if found), None)


def part(file: IO[bytes], offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(min(size, 64 << 20))


def read(path: str) -> Elf | None:
    """None of what is no ELF file, or a broken one."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != MAGIC or len(head) < 52:
                return None
            order = "<" if head[5] == 1 else ">"
            kind, machine = struct.unpack_from(order + "HH", head, 16)
            found = Elf(MACHINES.get(machine, f"machine {machine}"), 64 if head[4] == 2 else 32, kind)
            found.sections = _sections(file, found, head, order)
            return found
    except BROKEN:
        return None


def _sections(file: IO[bytes], elf: Elf, head: bytes, order: str) -> dict[str, tuple[int, int]]:
    word, at, start = ("Q", 40, 24) if elf.bits == 64 else ("I", 32, 16)
    offset, _, _, _, _, size, count, names = struct.unpack_from(f"{order}{word}IHHHHHH", head, at)
    if not 0 < count < 10_000 or elf.kind == CORE:  # those of a core may be cut off
        return {}
    table = part(file, offset, size * count)
    places = [struct.unpack_from(f"{order}{word}{word}", table, index * size + start) for index in range(count)]
    texts = part(file, *places[names])
    begins = [struct.unpack_from(order + "I", table, index * size)[0] for index in range(count)]
    named = [texts[begin : texts.index(b"\0", begin)].decode("ascii", "replace") for begin in begins]
    return dict(zip(named, places, strict=True))


def refused(message: str, **more: Any) -> RelayError:
    return RelayError("LAUNCH_FAILED", message, status=400, **more)


def check(path: str, runs: bool = True) -> None:
    """Refuses what cannot be debugged here."""
    found = read(path)
    if found is None:
        raise refused(f"{path} is not a native executable, or is damaged")
    if runs and found.kind == CORE:
        advice = "Give the program that crashed as `program`, and this file as `core`"
        raise refused(f"{path} is a core file, not a program", suggestion=advice)
    here = ALIASES.get(platform.machine(), platform.machine())
    if found.machine not in RUNS.get(here, (here,)):
        advice = f"Compile it for {here}, or launch it on a machine of its own with gdbserver and attach there"
        raise refused(f"{path} is for another machine: {found.machine}, and this one is {here}", suggestion=advice)
    if runs and not os.access(path, os.X_OK):
        raise refused(f"{path} may not be executed", suggestion=f"Allow it: chmod +x {path}")


def warnings(path: str) -> list[str]:
    """Distributions split debug information off: it may be installed where debuggers look for it by the build id."""
    found = read(path)
    if found is None or found.holds_debug_info or ".gnu_debuglink" in found.sections:
        return []
    number = build_id(path)
    if number is not None and os.path.isfile(f"{DEBUG_FILES}/{number[:2]}/{number[2:]}.debug"):
        return []
    return [(STRIPPED if found.is_stripped else NO_DEBUG).format(name=os.path.basename(path))]


def check_core(path: str) -> None:
    found = read(path)
    if found is None or found.kind != CORE:
        advice = "Give the file that the crash left as `core`, and the program that crashed as `program`"
        raise refused(f"{path} is not a core file", suggestion=advice)


def core_warnings(path: str, program: str) -> list[str]:
    """Another program's symbols would give names and lines that mean nothing; so would those of another build."""
    try:
        with open(path, "rb") as file:
            core = Core(file)
            return core.not_of(program) + core.cut_off()
    except BROKEN:
        return ["The core file is damaged: what is shown may be wrong"]


def core_fault(path: str) -> tuple[int, str] | None:
    """The signal of a crash, and the address that it is about: as text, which is empty if it cannot be known."""
    try:
        with open(path, "rb") as file:
            told = Core(file).note(ABOUT_THE_SIGNAL)
    except BROKEN:
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
        self._segments = segments(file)

    def note(self, kind: int) -> bytes | None:
        """The first of that kind, which is of the thread that crashed."""
        notes = next((each for each in self._segments if each.kind == NOTES), None)
        data = part(self._file, notes.offset, notes.size) if notes is not None else b""
        return note(data, b"CORE", kind)

    def not_of(self, program: str) -> list[str]:
        own = os.path.basename(os.path.realpath(program))
        crashed, given = self._build_id(), build_id(program)
        if crashed and crashed == given:
            return []
        told = self.note(ABOUT_THE_PROCESS)
        name = told[NAME].partition(b"\0")[0].decode("utf-8", "replace") if told else None
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

    def _build_id(self) -> str | None:
        """Return it as the program had it in its memory, found by what the system told it at its start."""
        told = self.note(ABOUT_THE_START) or b""
        started = dict(struct.iter_unpack("<QQ", told[: len(told) // 16 * 16]))
        where, count = started.get(PROGRAM_HEADERS, 0), started.get(HOW_MANY, 0)
        headers = Segment.table(self._memory(where, count * HEADER))
        moved = next((where - each.address for each in headers if each.kind == HEADERS), 0)
        return build_id_in(headers, lambda each: self._memory(moved + each.address, each.size))

    def _memory(self, address: int, size: int) -> bytes:
        """Return as much as the file has of it."""
        for segment in self._segments:
            if segment.kind == IN_MEMORY and 0 <= address - segment.address < segment.size:
                skipped = address - segment.address
                return part(self._file, segment.offset + skipped, min(size, segment.size - skipped))
        return b""
