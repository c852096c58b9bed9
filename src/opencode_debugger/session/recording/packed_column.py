"""What was recorded of calls beside numbers, packed: it takes a fifth of the room, and one column is unpacked alone."""

from __future__ import annotations

import marshal
import re
import struct
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

from .damage import MALFORMED, Damaged

CHUNKS_KEPT = 16
"""chunks that stay unpacked, the last ones that were asked for"""
VERSION = 3
"""of marshal's format: what comes again is written once. `inside/recording/call_columns.py` has the same; from 4 on the
length of a short text is written otherwise, and `packed_bytes` would have to know that"""
SIZE = struct.Struct("<I")
OBJECT_ID = re.compile(
    rb"(\(\x04\0\0\0(?:r.{4}|[tu\xf4\xf5]\x01\0\0\0O)(?:r.{4}|[tu\xf4\xf5].{4}[\w.]+))l"
    rb"(?:\x04\0\0\0.{8}|\x03\0\0\0.{6})", re.DOTALL)
"""how `("O", name, id` of an object is written, if its id has 31 to 60 bits; `r` refers to a text that came before"""

Pieces: TypeAlias = tuple[bytes, ...]
"""lists that were marshalled one by one, and are one together"""


@dataclass(eq=False)
class PackedColumn:
    """One value for each call, chunk by chunk."""

    _packed: list[bytes | Pieces] = field(default_factory=list)
    _unpacked: OrderedDict[int, Any] = field(default_factory=OrderedDict)

    def add(self, content: Any) -> None:
        self._packed.append(pack(content))

    def add_packed(self, pieces: Pieces) -> None:
        self._packed.append(pieces)

    def at(self, chunk: int) -> Any:
        """Return the content of a chunk."""
        found = self._unpacked.get(chunk)
        if found is None:
            packed = self._packed[chunk]
            found = marshal.loads(packed) if isinstance(packed, bytes) else unpack_pieces(packed)
            self._unpacked[chunk] = found
            if len(self._unpacked) > CHUNKS_KEPT:
                self._unpacked.popitem(last=False)
        else:
            self._unpacked.move_to_end(chunk)
        return found

    def may_have(self, chunk: int, needle: bytes) -> bool:
        """Tell whether the bytes of something are in a chunk at all."""
        packed = self._packed[chunk]
        return needle in packed if isinstance(packed, bytes) else any(needle in piece for piece in packed)

    def pieces(self, chunk: int) -> Iterator[bytes]:
        """Return the lists of a chunk, packed."""
        packed = self._packed[chunk]
        yield from (packed,) if isinstance(packed, bytes) else packed

    def drop_last(self) -> None:
        self._unpacked.pop(len(self._packed) - 1, None)
        self._packed.pop()

    def drop_first(self, count: int) -> None:
        del self._packed[:count]
        self._unpacked.clear()


def pack(content: Any) -> bytes:
    return marshal.dumps(content, VERSION)


def unpack_pieces(pieces: Pieces) -> list[Any]:
    try:
        return list(chain.from_iterable(map(marshal.loads, pieces)))
    except MALFORMED as error:
        raise Damaged(f"it has values of another shape ({type(error).__name__})") from None


def packed_length(piece: bytes) -> int:
    """Return how many values a packed list has: marshal writes it after its kind."""
    return int(SIZE.unpack_from(piece, 1)[0])


def are_alike(piece: bytes, other: bytes) -> bool:
    """Tell whether two packed lists have the same values, whichever objects these are: they need not be unpacked then.

    If they are not alike, they may have the same values nevertheless: marshal writes some in more than one way."""
    if len(piece) != len(other):
        return False
    return piece == other or _without_ids(piece) == _without_ids(other)


def _without_ids(piece: bytes) -> list[bytes]:
    return OBJECT_ID.split(piece[1:])  # the list itself may begin as an object does


def packed_bytes(value: Any) -> bytes:
    """Return bytes that are in every chunk that has the value somewhere: empty if it has several spellings."""
    if isinstance(value, tuple) or (value == 0 and isinstance(value, float)):
        return b""  # 0.0 and -0.0 are the same
    data = pack(value)
    return data[1:] or data  # the kind comes first, which says as well whether the value comes again
