"""Finds functions of a running program in its memory, by reading its files: the program is not touched."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from ...native.elf_files import IN_MEMORY, part, read, segments

LIBRARIES = ("libpython", "libc.", "libc-", "libpthread", "ld-musl")
"""Beginnings of the names of files, besides the program's own, that are looked into."""

_SYMBOL = struct.Struct("<IBBHQQ")


def function_addresses(pid: int, names: Iterable[str]) -> dict[str, int]:
    """Return addresses by name, of those that were found."""
    wanted = list(names)
    found: dict[str, int] = {}
    for path, start in mapped_files(pid).items():
        if os.path.basename(path).startswith(LIBRARIES) or path == os.readlink(f"/proc/{pid}/exe"):
            # Through its own root: it may see other files than we do.
            for name, offset in function_offsets(f"/proc/{pid}/root{path}", wanted).items():
                found.setdefault(name, start + offset)
    return found


def mapped_files(pid: int) -> dict[str, int]:
    """Return the files in the program's memory, with the address of their beginning."""
    found: dict[str, int] = {}
    with open(f"/proc/{pid}/maps", errors="surrogateescape") as maps:
        for line in maps:
            span, _, offset, _, _, *path = line.rstrip("\n").split(None, 5)
            if path and path[0].startswith("/") and int(offset, 16) == 0:
                found.setdefault(path[0], int(span.partition("-")[0], 16))
    return found


def function_offsets(path: str, names: list[str]) -> dict[str, int]:
    """Return offsets of exported functions in the file's memory; none if it is no 64-bit ELF file."""
    with open(path, "rb") as file:
        base = next((each.address - each.offset for each in segments(file) if each.kind == IN_MEMORY), None)
        sections = elf.sections if (elf := read(path)) is not None else {}
        if base is None or ".dynsym" not in sections:
            return {}
        places = _name_places(part(file, *sections[".dynstr"]), names)
        found: dict[str, int] = {}
        for name, _, _, section, value, _ in _SYMBOL.iter_unpack(part(file, *sections[".dynsym"])):
            if section and name in places:
                found.setdefault(places[name], value - base)
        return found


def _name_places(strings: bytes, names: list[str]) -> dict[int, str]:
    """Return the places of names in the string table; one may be the end of another."""
    places: dict[int, str] = {}
    for name in names:
        text = name.encode() + b"\0"
        at = strings.find(text)
        while at >= 0:
            places[at] = name
            at = strings.find(text, at + 1)
    return places
