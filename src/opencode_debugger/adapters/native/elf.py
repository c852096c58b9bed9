"""What an executable says about itself: for which machine it is, and whether it has debug information."""

from __future__ import annotations

import os
import platform
import struct
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
    sections: set[str] = field(default_factory=set)

    @property
    def has_debug_info(self) -> bool:
        """In it, or in a file of its own that may be installed: distributions split it off."""
        return self.holds_debug_info or ".gnu_debuglink" in self.sections

    @property
    def holds_debug_info(self) -> bool:
        return bool({".debug_info", ".zdebug_info"} & self.sections)

    @property
    def is_stripped(self) -> bool:
        return ".symtab" not in self.sections


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
            if count and count < MOST_SECTIONS:
                found.sections = _sections(file, order, bits, offset, size, count, names)
            return found
    except (OSError, struct.error, ValueError):
        return None


def _sections(file: IO[bytes], order: str, bits: int, offset: int, size: int, count: int, names: int) -> set[str]:
    file.seek(offset)
    table = file.read(size * count)
    where = (24, 32, "QQ") if bits == 64 else (16, 20, "II")
    at, length = struct.unpack_from(order + where[2], table, names * size + where[0])
    file.seek(at)
    texts = file.read(length)
    found = set()
    for index in range(count):
        (start,) = struct.unpack_from(order + "I", table, index * size)
        found.add(texts[start : texts.index(b"\0", start)].decode("ascii", "replace"))
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
    if found is None or found.has_debug_info:
        return []
    name = os.path.basename(path)
    return [(STRIPPED if found.is_stripped else NO_DEBUG).format(name=name)]
