"""The calls of a chunk, column by column, as the program writes them: nothing is made of a value until it is asked for.

`debuggers/python/inside/recording/call_columns.py` packs them."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .packed_column import Pieces, pack, packed_length, unpack_pieces

TYPECODES = ("q", "i", "q", "i", "i", "d", "", "q", "d", "b", "", "")
"""of the columns; empty: values, marshalled some hundred at a time"""
LISTS = tuple(bytes([ord(kind) | flag]) for kind in "[(" for flag in (0, 0x80))
"""how a list or tuple begins, one that nobody refers to and one that somebody might"""


class CallColumns(NamedTuple):
    """An item for each call in every column."""

    numbers: array[int]
    function_ids: array[int]
    callers: array[int]
    offsets: array[int]
    lane_ids: array[int]
    starts: array[float]
    arguments: Pieces
    lasts: array[int]
    ends: array[float]
    hows: array[int]
    values: Pieces
    extras: Pieces

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]]) -> CallColumns:
        """Make columns of calls: of all of them, or raise what says that one is not what a call is."""
        columns = list(zip(*rows, strict=True)) or [()] * len(TYPECODES)
        return cls._make(
            array(code, column) if code else (pack(column),) for code, column in zip(TYPECODES, columns, strict=True))

    @classmethod
    def of_written(cls, columns: Iterable[Any]) -> CallColumns:
        """Take columns as they were written; raise ValueError if they are not of the same calls."""
        found: list[Any] = [
            _numbers(code, column) if code else column for code, column in zip(TYPECODES, columns, strict=True)]
        lengths = {len(column) if code else _length(column) for code, column in zip(TYPECODES, found, strict=True)}
        if len(lengths) > 1:
            raise ValueError("columns of calls are not equally long")
        return cls._make(found)

    def rows(self) -> list[tuple[Any, ...]]:
        columns: list[Any] = list(self)
        found = (column if code else unpack_pieces(column) for code, column in zip(TYPECODES, columns, strict=True))
        return list(zip(*found, strict=True))


def _numbers(code: str, column: bytes) -> array[Any]:
    found: array[Any] = array(code)
    found.frombytes(column)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def _length(pieces: Any) -> int:
    """Return how many values there are."""
    if type(pieces) is not tuple or not all(type(piece) is bytes and piece[:1] in LISTS for piece in pieces):
        raise ValueError("values of calls are not in lists")
    return sum(map(packed_length, pieces))
