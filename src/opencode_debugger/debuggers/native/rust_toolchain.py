"""Programs that rustc compiled, and the code with which debuggers show their values.

That code comes with rustc. Which rustc is asked is decided by PATH and the settings of the relay's user alone: neither
the program nor the working directory, where a project may name a toolchain of its own, has a say.
"""

from __future__ import annotations

import functools
import os
import subprocess
from typing import IO

from ...files import find_executable
from . import elf_files

MARK = b"rust_eh_personality"
"""A function of every program with Rust in it."""
NAMES = (".strtab", ".dynstr")
"""The sections with the names of functions: a small part of a program with debug information."""
AT_ONCE = 1 << 20
"""bytes"""
STANDARD = "/lib/rustlib/src/rust/"
"""In paths of the standard library's sources, where they are installed; elsewhere those lead nowhere."""
PRINTERS = "lib/rustlib/etc"
NEEDED = ("gdb_lookup.py", "gdb_providers.py", "rust_types.py")
MISSING = (
    "Values of Rust are shown as they are in memory: there is no rustc on the relay's PATH that brings the code to "
    "show them. Install Rust with rustup, or on Debian: apt-get install rust-gdb"
)


def is_rust(path: str) -> bool:
    """Say if there is Rust in a program. It is read, not mapped: a compiler that cuts it off would end us."""
    found = elf_files.read(path)
    places = [found.sections[name] for name in NAMES if name in found.sections] if found is not None else []
    try:
        with open(path, "rb") as file:
            return any(_has_mark(file, offset, size) for offset, size in places)
    except elf_files.BROKEN:
        return False


def _has_mark(file: IO[bytes], offset: int, size: int) -> bool:
    file.seek(offset)
    before = b""
    while size > 0 and (part := file.read(min(size, AT_ONCE))):
        if MARK in before + part:
            return True
        before = part[-len(MARK) + 1 :]
        size -= len(part)
    return False


@functools.cache
def printers() -> str | None:
    """The folder in which the user's rustc keeps what shows values; asked once."""
    rustc = find_executable("rustc")
    if rustc is None:
        return None
    command, quiet = [rustc, "--print", "sysroot"], subprocess.DEVNULL
    env = {**os.environ, "RUSTUP_AUTO_INSTALL": "0"}
    try:
        said = subprocess.check_output(command, cwd="/", env=env, stdin=quiet, stderr=quiet, text=True, timeout=5.0)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    folder = os.path.join(said.strip(), PRINTERS)
    is_whole = os.path.isabs(folder) and all(os.path.isfile(os.path.join(folder, name)) for name in NEEDED)
    return folder if is_whole else None
