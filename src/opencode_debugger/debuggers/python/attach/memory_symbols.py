"""Finds functions of a running program in its memory, by reading its files: the program is not touched."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

LIBRARIES = ("libpython", "libc.", "libc-", "libpthread", "ld-musl")
"""Beginnings of the names of files, besides the program's own, that are looked into."""

_ELF_64 = b"\x7fELF\x02\x01"
_HEADER = 64
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_LOAD, _DYNAMIC_SYMBOLS = 1, 11


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
        data = file.read(_HEADER)
        if not data.startswith(_ELF_64):
            return {}
        segments_at, sections_at = struct.unpack_from("<QQ", data, 32)
        segment_size, segment_count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)

        def read(offset: int, size: int) -> bytes:
            file.seek(offset)
            return file.read(size)

        segments = read(segments_at, segment_size * segment_count)
        sections = read(sections_at, section_size * section_count)
        loaded = (_SEGMENT.unpack_from(segments, index * segment_size) for index in range(segment_count))
        base = next(address - offset for kind, _, offset, address in loaded if kind == _LOAD)
        found: dict[str, int] = {}
        for index in range(section_count):
            _, kind, _, _, offset, size, link, *_ = _SECTION.unpack_from(sections, index * section_size)
            if kind == _DYNAMIC_SYMBOLS:
                _, _, _, _, strings_at, strings_size, *_ = _SECTION.unpack_from(sections, link * section_size)
                places = _name_places(read(strings_at, strings_size), names)
                for name, _, _, section, value, _ in _SYMBOL.iter_unpack(read(offset, size)):
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
