"""What was recorded of calls beside numbers, packed: it takes a fifth of the room, and one column is unpacked alone."""

from __future__ import annotations

import marshal
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

CHUNKS_KEPT = 32
"""chunks that stay unpacked: the last ones that were asked for"""
VERSION = 2
"""of marshal's format: later ones look for the same objects, which takes longer than it saves"""


@dataclass(eq=False)
class PackedColumn:
    """One value for each call, chunk by chunk."""

    _packed: list[bytes] = field(default_factory=list)
    _unpacked: OrderedDict[int, Any] = field(default_factory=OrderedDict)

    def add(self, content: Any) -> None:
        self._packed.append(marshal.dumps(content, VERSION))

    def add_packed(self, content: bytes) -> None:
        self._packed.append(content)

    def at(self, chunk: int) -> Any:
        """Return the content of a chunk."""
        found = self._unpacked.get(chunk)
        if found is None:
            found = self._unpacked[chunk] = unpack(self._packed[chunk])
            if len(self._unpacked) > CHUNKS_KEPT:
                self._unpacked.popitem(last=False)
        else:
            self._unpacked.move_to_end(chunk)
        return found

    def may_have(self, chunk: int, needle: bytes) -> bool:
        """Tell whether the bytes of something are in a chunk at all."""
        return needle in self._packed[chunk]

    def drop_last(self) -> None:
        self._unpacked.pop(len(self._packed) - 1, None)
        self._packed.pop()

    def drop_first(self, count: int) -> None:
        del self._packed[:count]
        self._unpacked.clear()


def unpack(packed: bytes) -> Any:
    return marshal.loads(packed)


def packed_bytes(value: Any) -> bytes:
    """Return bytes that are in every chunk that has the value somewhere: empty if it has several spellings."""
    if value == 0 and isinstance(value, float):
        return b""  # 0.0 and -0.0 are the same
    data = marshal.dumps(value, VERSION)
    return data[1:] if isinstance(value, str) else b"" if isinstance(value, tuple) else data
