"""Reads the files of a recording, as far as they are whole: the program may write them, or have been killed meanwhile.

docs/recording.md describes the format."""

from __future__ import annotations

import marshal
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..call_columns import CallColumns
from ..damage import MALFORMED, Damaged

MAGIC = b"OCREC"
VERSION = 2
HEADER = 8
"""bytes at the beginning of every file"""
CHUNK = struct.Struct("<II")
LARGEST_CHUNK = 256 << 20
NAMES = "names.ocr"
SEGMENT = ".ocr"


class ChunkPlace(NamedTuple):
    file: str
    offset: int
    size: int


class Chunk(NamedTuple):
    """What happened in a part of the run."""

    calls: CallColumns
    steps: list[tuple[Any, ...]]
    open_calls: list[list[Any]]
    about: dict[str, int]


@dataclass
class RecordingFolder:
    """The folder of one recorded process, read from where it was read last."""

    path: str
    is_foreign = False
    _offsets: dict[str, int] = field(default_factory=dict)
    """how far each file has been read"""

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def segments(self) -> list[str]:
        """Return the names of the files that are there now, oldest first."""
        try:
            return sorted(name for name in os.listdir(self.path) if name.endswith(SEGMENT) and name != NAMES)
        except FileNotFoundError:
            return []  # the session of another recording has gone

    def has_lost(self) -> bool:
        """Tell whether what was read is not there any more, beside the oldest segments."""
        known, there = sorted(self._offsets.keys() - {NAMES}), set(self.segments())
        oldest_left = next((index for index, name in enumerate(known) if name in there), len(known))
        is_gone = NAMES in self._offsets and not os.path.exists(os.path.join(self.path, NAMES))
        return is_gone or not there.issuperset(known[oldest_left:])

    def take_lost(self) -> set[str]:
        """Return the segments that were read and have fallen out since, once."""
        lost = self._offsets.keys() - {*self.segments(), NAMES}
        for name in lost:
            del self._offsets[name]
        return lost

    def new_names(self) -> Iterator[tuple[str, Any]]:
        """Return what is new in the file of names: the kind of each chunk, and what it has."""
        for place in self._new_chunks(NAMES):
            found = self._load(place)
            if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], str):
                yield found

    def new_places(self) -> Iterator[ChunkPlace]:
        """Return where the new chunks of the segments are."""
        for name in self.segments():
            yield from self._new_chunks(name)

    def read_chunk(self, place: ChunkPlace) -> Chunk:
        found = self._load(place)
        if not isinstance(found, tuple) or len(found) != 4:
            raise Damaged(f"{place.file} has something else than calls at {place.offset}")
        try:
            columns = CallColumns.of_written(found[0])
        except MALFORMED as error:
            raise Damaged(f"{place.file} has something else than calls at {place.offset}: {error}") from None
        return Chunk(columns, *found[1:])

    def _new_chunks(self, name: str) -> Iterator[ChunkPlace]:
        path = os.path.join(self.path, name)
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                offset = self._offsets.get(name, 0)
                if not offset:
                    if size < HEADER:
                        return
                    _check_header(file.read(HEADER), name)
                    self._offsets[name] = offset = HEADER
                while offset + CHUNK.size <= size:
                    file.seek(offset)
                    length, _ = CHUNK.unpack(file.read(CHUNK.size))
                    end = offset + CHUNK.size + length
                    if length > LARGEST_CHUNK or end > size:
                        return  # cut short, or still being written
                    yield ChunkPlace(name, offset, length)
                    self._offsets[name] = offset = end
        except FileNotFoundError:
            return  # it fell out meanwhile

    def _load(self, place: ChunkPlace) -> Any:
        try:
            with open(os.path.join(self.path, place.file), "rb") as file:
                file.seek(place.offset)
                _, checksum = CHUNK.unpack(file.read(CHUNK.size))
                data = file.read(place.size)
        except (OSError, struct.error) as error:
            raise Damaged(f"{place.file} cannot be read: {error}") from None
        if zlib.crc32(data) != checksum:
            raise Damaged(f"{place.file} is damaged at {place.offset}")
        try:
            return marshal.loads(data)
        except MALFORMED as error:
            raise Damaged(f"{place.file} is damaged at {place.offset}: {error}") from None


def _check_header(header: bytes, name: str) -> None:
    if header[: len(MAGIC)] != MAGIC:
        raise Damaged(f"{name} is no file of a recording")
    if header[len(MAGIC)] != VERSION:
        version = header[len(MAGIC)]
        raise Damaged(f"{name} was written in version {version} of the format; this relay reads version {VERSION}")
