"""Packs calls that have ended, column by column: whoever reads them takes numbers as they are, and looks at values when
somebody asks for them. `session/recording/call_columns.py` reads it."""

from __future__ import annotations

import marshal
import struct
from typing import Any, List, NamedTuple, Sequence, Tuple

NUMBER_CODES = ("q", "i", "q", "i", "i", "d", "", "q", "d", "b", "", "")
"""How each item of a call is packed; empty: as a value."""
VALUES_VERSION = 3
"""of marshal's format: names that come again are written once in a piece, which saves time and room"""
SIZE = struct.Struct("<I")


class PackedCalls(NamedTuple):
    """Calls, one column after the other."""

    length: int
    columns: Tuple[bytes, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.columns))


def pack_columns(columns: Sequence[Any]) -> PackedCalls:
    """Pack calls; raise ValueError if what was kept of a value is not what can be marshalled.

    It is quick if nobody else refers to the values, for marshal looks whether others come again."""
    length = len(columns[0])
    try:
        return PackedCalls(length, tuple([
            struct.pack("<%d%s" % (length, code), *column) if code else marshal.dumps(column, VALUES_VERSION)
            for code, column in zip(NUMBER_CODES, columns)
        ]))  # fmt: skip
    except struct.error as error:
        raise ValueError(str(error)) from None


def marshalled_columns(pieces: Sequence[PackedCalls]) -> List[bytes]:
    """Return the columns of all calls as `marshal` writes a tuple of bytes; of values, a tuple of marshalled tuples."""
    parts = [b"(", SIZE.pack(len(NUMBER_CODES))]
    for place, code in enumerate(NUMBER_CODES):
        column = [piece.columns[place] for piece in pieces]
        if code:
            parts += (b"s", SIZE.pack(sum(map(len, column))), *column)
            continue
        parts += (b"(", SIZE.pack(len(column)))
        for values in column:
            parts += (b"s", SIZE.pack(len(values)), values)
    return parts
