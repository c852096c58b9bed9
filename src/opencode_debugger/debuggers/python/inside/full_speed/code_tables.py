"""Reads and writes the tables of code: the line and columns of each instruction, and what handles exceptions.

Each of Python 3.8 to 3.11 has its own formats; the comments `Objects/lnotab_notes.txt` and `Objects/locations.md` in
CPython's sources describe them. Offsets are in units of two bytes for 3.11, in bytes before.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, List, Optional, Tuple

from ..python_versions import VERSION

LINES_FIELD = "co_linetable" if VERSION >= (3, 10) else "co_lnotab"
ExceptionRow = Tuple[int, int, int, int, int]
"""Start, end, target, depth of the stack, and whether the place of the exception is kept."""
_LONGEST_ENTRY = 8
_NO_PLACE, _NO_COLUMNS, _LONG = 15, 13, 14
"""Kinds of entries in the table of positions."""


def write_lines(first: int, runs: Iterable[Tuple[int, Optional[int]]], end: int) -> bytes:
    """Write the table of lines up to Python 3.10. `runs` are (first byte, line)."""
    return _write_ranges(first, [*runs, (end, None)]) if VERSION >= (3, 10) else _write_starts(first, runs)


def _write_starts(line: int, runs: Iterable[Tuple[int, Optional[int]]]) -> bytes:
    """Write pairs of bytes: so many bytes further, so many lines further."""
    data = bytearray()
    offset = 0
    for at, new in runs:
        if new is None:
            continue
        by_bytes, by_lines = at - offset, new - line
        data += b"\xff\0" * (by_bytes // 255)
        by_bytes %= 255
        while not -128 <= by_lines <= 127:
            part = 127 if by_lines > 0 else -128
            data += bytes((by_bytes, part & 0xFF))
            by_bytes, by_lines = 0, by_lines - part
        data += bytes((by_bytes, by_lines & 0xFF))
        offset, line = at, new
    return bytes(data)


def _write_ranges(line: int, runs: List[Tuple[int, Optional[int]]]) -> bytes:
    """Write pairs of bytes: so many lines further than before, for so many bytes; -128 is of no line."""
    data = bytearray()
    for (at, new), (end, _) in zip(runs, runs[1:]):
        length = end - at
        by_lines = -128 if new is None else new - line
        while new is not None and not -127 <= by_lines <= 127:
            part = 127 if by_lines > 0 else -127
            data += bytes((0, part & 0xFF))
            by_lines -= part
        while length > 254:
            data += bytes((254, by_lines & 0xFF))
            by_lines, length = (-128 if new is None else 0), length - 254
        data += bytes((length, by_lines & 0xFF))
        line = line if new is None else new
    return bytes(data)


def write_positions(line: int, places: Iterable[Tuple[Any, int]]) -> bytes:
    """Write the table of lines and columns of 3.11. `places` are ((line, last line, column, last column), units)."""
    data = bytearray()
    for (start, end, column, last_column), units in places:
        while units:
            length = min(units, _LONGEST_ENTRY)
            units -= length
            if start is None:
                data.append(0x80 | _NO_PLACE << 3 | length - 1)
                continue
            by_lines, line = start - line, start
            has_columns = None not in (end, column, last_column)
            data.append(0x80 | (_LONG if has_columns else _NO_COLUMNS) << 3 | length - 1)
            data += _signed_number(by_lines)
            if has_columns:
                data += _number(end - start) + _number(column + 1) + _number(last_column + 1)
    return bytes(data)


def _number(value: int) -> bytes:
    data = bytearray()
    while value >= 64:
        data.append(64 | value & 63)
        value >>= 6
    data.append(value)
    return bytes(data)


def _signed_number(value: int) -> bytes:
    return _number(-value << 1 | 1 if value < 0 else value << 1)


def read_exception_table(data: bytes) -> Iterator[ExceptionRow]:
    """Yield the rows of the exception table of 3.11, in bytes."""
    numbers: List[int] = []
    value = 0
    for byte in data:
        value = value << 6 | byte & 63
        if byte & 64:
            continue
        numbers.append(value)
        value = 0
        if len(numbers) == 4:
            start, length, target, rest = numbers
            yield start * 2, (start + length) * 2, target * 2, rest >> 1, rest & 1
            numbers = []


def write_exception_table(rows: Iterable[ExceptionRow]) -> bytes:
    """Write the exception table of 3.11, from rows in units."""
    data = bytearray()
    for start, end, target, depth, keeps_place in sorted(rows):
        begin = len(data)
        for value in (start, end - start, target, depth << 1 | keeps_place):
            parts = [value & 63]
            while value > 63:
                value >>= 6
                parts.append(value & 63 | 64)
            data += bytes(reversed(parts))
        data[begin] |= 0x80
    return bytes(data)
