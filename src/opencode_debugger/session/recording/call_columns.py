"""The calls of a chunk, column by column, as the program writes them: nothing is made of a value until it is asked for.

`debuggers/python/inside/recording/call_columns.py` packs them."""

from __future__ import annotations

import marshal
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .packed_column import VERSION, unpack

TYPECODES = ("q", "i", "q", "i", "i", "d", "", "q", "d", "b", "", "")
"""of the columns; empty: values, marshalled as a list"""
SIZE = struct.Struct("<I")


class CallColumns(NamedTuple):
    """An item for each call in every column."""

    numbers: array[int]
    function_ids: array[int]
    callers: array[int]
    offsets: array[int]
    lane_ids: array[int]
    starts: array[float]
    arguments: bytes
    lasts: array[int]
    ends: array[float]
    hows: array[int]
    values: bytes
    extras: bytes

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]]) -> CallColumns:
        """Make columns of calls: of all of them, or raise what says that one is not what a call is."""
        columns = list(zip(*rows, strict=True)) or [()] * len(TYPECODES)
        return cls._make(
            array(code, column) if code else marshal.dumps(list(column), VERSION)
            for code, column in zip(TYPECODES, columns, strict=True)
        )

    @classmethod
    def of_packed(cls, columns: Iterable[bytes]) -> CallColumns:
        """Take columns as they were written; raise ValueError if they are not of the same calls."""
        found: list[Any] = [
            _numbers(code, column) if code else column for code, column in zip(TYPECODES, columns, strict=True)]
        length = len(found[0])
        head = b"[" + SIZE.pack(length)
        for code, column in zip(TYPECODES, found, strict=True):
            if len(column) != length if code else not column.startswith(head):
                raise ValueError("columns of calls are not equally long")
        return cls._make(found)

    def rows(self) -> list[tuple[Any, ...]]:
        columns: list[Any] = list(self)
        found = (column if code else unpack(column) for code, column in zip(TYPECODES, columns, strict=True))
        return list(zip(*found, strict=True))


def _numbers(code: str, column: bytes) -> array[Any]:
    found: array[Any] = array(code)
    found.frombytes(column)
    if sys.byteorder == "big":
        found.byteswap()
    return found
