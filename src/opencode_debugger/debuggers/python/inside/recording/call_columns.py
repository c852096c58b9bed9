"""Packs calls that have ended, column by column: whoever reads them takes numbers as they are, and looks at values when
somebody asks for them. `session/recording/call_columns.py` reads it."""

from __future__ import annotations

import marshal
import struct
from typing import Any, List, NamedTuple, Sequence, Tuple

NUMBER_CODES = ("q", "i", "q", "i", "i", "d", "", "q", "d", "b", "", "")
"""How each item of a call is packed; empty: as a value."""
LIST_HEAD = 5
"""bytes of a marshalled list before its items"""
SIZE = struct.Struct("<I")


class PackedCalls(NamedTuple):
    """Calls, one column after the other."""

    length: int
    columns: Tuple[bytes, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.columns))


def pack_calls(rows: Sequence[List[Any]]) -> PackedCalls:
    """Raise ValueError if what was kept of a value is not what can be marshalled."""
    length = len(rows)
    columns = list(zip(*rows)) or [()] * len(NUMBER_CODES)
    return PackedCalls(length, tuple([
        struct.pack("<%d%s" % (length, code), *column) if code else marshal.dumps(column, 2)[LIST_HEAD:]
        for code, column in zip(NUMBER_CODES, columns)
    ]))  # fmt: skip


def marshalled_columns(pieces: Sequence[PackedCalls]) -> List[bytes]:
    """Return the columns of all calls as `marshal` writes a tuple of bytes; values are a marshalled list in these."""
    head = b"[" + SIZE.pack(sum(piece.length for piece in pieces))
    parts = [b"(", SIZE.pack(len(NUMBER_CODES))]
    for place, code in enumerate(NUMBER_CODES):
        column = [piece.columns[place] for piece in pieces]
        if not code:
            column.insert(0, head)
        parts += (b"s", SIZE.pack(sum(map(len, column))), *column)
    return parts
