"""A recording as one file that opens anywhere: written of what was recorded here, and read without trusting it.

It begins with MAGIC and a version; then come chunks: kind, length, length when unpacked, CRC-32, and plain values as
msgpack, packed by zlib. What is read is checked against the types below, within limits; nothing else is made of it."""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypedDict

import msgspec

from ....files import read_source
from ....text.secrets import mask_inside
from ..call_columns import CallColumns
from ..damage import Damaged
from .recording_file import Chunk, ChunkPlace

if TYPE_CHECKING:
    from ..recorded_calls import RecordedCalls

MAGIC = b"OCEXPORT"
VERSION = 1
HEADER = struct.Struct("<8sB")
CHUNK = struct.Struct("<cIII")
ABOUT, FUNCTIONS, LANES, SOURCES, CALLS, THE_END = b"H", b"F", b"T", b"S", b"C", b"Z"
"""kinds of chunks"""
LARGEST_CHUNK = 256 << 20
"""bytes of a chunk when it is unpacked"""
LARGEST_FILE = 4 << 30
MOST_CONTENT = 8 << 30
"""bytes of all chunks when they are unpacked"""
MOST_CALLS = 20_000_000
LARGEST_SOURCE = 2 << 20
"""bytes of a source file that goes along"""
MOST_SOURCES = 16 << 20
DEEPEST = 24
"""lists within lists"""
SECRET_STEMS = (b"pass", b"secret", b"token", b"key", b"credential", b"auth", b"cookie", b"bearer ", b"basic ", b"://")
"""What has none of these in it has no secret."""
OTHER_FILE = "it is no exported recording: `ocdb export` writes one"
OTHER_VERSION = "it is an export of version {version}, and this relay reads version {known}: open it with the newer one"
CUT_SHORT = "it ends too early: it was copied or written in part"


def _nested(depth: int) -> Any:
    """Return the type of a value as recordings keep it, in which lists are tuples, so deep at most."""
    kind: Any = None | bool | int | float | str
    for _ in range(depth):
        kind = None | bool | int | float | str | tuple[kind, ...]
    return kind


Value: Any = _nested(DEEPEST)
Values: Any = tuple[Value, ...]


Plain = None | bool | int | float | str


class Extra(TypedDict, total=False):
    line: int | None
    locals: Values
    caught: tuple[tuple[int | None, Value], ...]
    yields: tuple[Value, ...]
    waits: tuple[int, float, int, float]


CallRow: Any = tuple[int, int, int, int, int, float, Values, int, float, int, Value, Extra | None]
StepRow: Any = tuple[str, int, int, int, Values]
FunctionRow: Any = tuple[int, str, str, int, tuple[str, ...], int | None, tuple[tuple[int, int, int | None], ...], bool]


class About(msgspec.Struct):
    name: str
    header: dict[str, Plain]
    rested: tuple[tuple[int, Value], ...] = ()
    """functions not all of whose calls were recorded"""


TYPES: dict[bytes, Any] = {
    ABOUT: About,
    FUNCTIONS: tuple[FunctionRow, ...],
    LANES: tuple[tuple[int, str, str], ...],
    SOURCES: dict[str, str],
    CALLS: tuple[tuple[CallRow, ...], tuple[StepRow, ...], tuple[CallRow, ...], dict[str, int]],
    THE_END: None,
}


# Writing.


def write_export(calls: RecordedCalls, file: BinaryIO) -> None:
    """Write all that is known of a recording."""
    header = calls.header.items()
    plain: dict[str, Plain] = {name: value for name, value in header if isinstance(value, (int, float, str))}
    rested = tuple((id, count) for id, count in (calls.ending or {}).get("rested") or ())
    lanes = [(number, *name.split(" ", 1)) for number, name in calls.lanes.items()]
    file.write(HEADER.pack(MAGIC, VERSION))
    _write_chunk(file, ABOUT, About(calls.folder.name, plain, rested))
    _write_chunk(file, FUNCTIONS, list(calls.functions.values()))
    _write_chunk(file, LANES, lanes)
    _write_chunk(file, SOURCES, calls.source_texts())
    for chunk in calls.chunks():
        _write_chunk(file, CALLS, (chunk.calls.rows(), *chunk[1:]))
    _write_chunk(file, THE_END, None)


def _write_chunk(file: BinaryIO, kind: bytes, content: Any) -> None:
    data = _encode_shareable(content)
    packed = zlib.compress(data, 1)
    file.write(CHUNK.pack(kind, len(packed), len(data), zlib.crc32(packed)) + packed)


def _encode_shareable(content: Any) -> bytes:
    """Return what can be shown to others: what texts of answers mask is masked, as far as it is in strings."""
    try:
        data = msgspec.msgpack.encode(content)
    except (ValueError, OverflowError):  # half a character, or a number that is too large
        return msgspec.msgpack.encode(_shareable(content))
    lower = data.lower()
    return msgspec.msgpack.encode(_shareable(content)) if any(stem in lower for stem in SECRET_STEMS) else data


def _shareable(value: Any) -> Any:
    if isinstance(value, str):
        return mask_inside(value.encode("utf-8", "backslashreplace").decode())
    if isinstance(value, (list, tuple)):
        return [_shareable(each) for each in value]
    if isinstance(value, dict):
        return {key: _shareable(each) for key, each in value.items()}
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return (f"<int with {value.bit_length()} bits>",)
    return value


def read_sources(paths: set[str]) -> dict[str, str]:
    """Return source files that go along with a recording, as they are now."""
    found: dict[str, str] = {}
    left = MOST_SOURCES
    for path in sorted(paths):
        try:
            text = read_source(path)
        except (OSError, ValueError):
            continue
        if len(text) <= min(LARGEST_SOURCE, left):
            left -= len(text)
            found[path] = text.decode("utf-8", "replace")
    return found


# Reading.


class FileIdentity(NamedTuple):
    device: int
    inode: int
    size: int
    changed: int


@dataclass
class ExportedRecording:
    """An exported file, as far as it is asked: the same as the folder of a recording, but from anywhere."""

    path: str
    name: str = "?"
    is_foreign: bool = True
    """who wrote it is not known: files that it names are not read here, and rows may be anything"""
    _identity: FileIdentity | None = None
    _places: list[ChunkPlace] = field(default_factory=list)
    _counted: dict[int, int] = field(default_factory=dict)
    """how many calls each chunk has, by its offset"""

    def has_lost(self) -> bool:
        """Tell whether the file is another one than when it was read."""
        try:
            return self._identity not in (None, _identity_of(os.stat(self.path)))
        except OSError:
            return True

    def take_lost(self) -> set[str]:
        return set()  # it is there as a whole, or not at all

    def new_names(self) -> Iterator[tuple[str, Any]]:
        """Return what calls refer to, when the file is read first."""
        if self._identity is not None:
            return
        with self._open() as file:
            status = os.fstat(file.fileno())
            self._identity = _identity_of(status)
            yield from self._scan(file, status.st_size)

    def new_places(self) -> Iterator[ChunkPlace]:
        places, self._places = self._places, []
        yield from places

    def read_chunk(self, place: ChunkPlace) -> Chunk:
        with self._open() as file:
            file.seek(place.offset)
            _, content = _read_content(file, os.fstat(file.fileno()).st_size)
        calls, steps, open_calls, about = content
        self._counted[place.offset] = len(calls) + len(open_calls)
        if sum(self._counted.values()) > MOST_CALLS:
            raise Damaged(f"it has more than {MOST_CALLS:,} calls, too many to open: record with a smaller limit_mb")
        for row in (*calls, *open_calls):
            if row[2] >= row[0]:
                raise Damaged(f"call {row[0]} is said to be made by call {row[2]}, which came later")
        return Chunk(CallColumns.of_rows(calls), steps, open_calls, about)

    def _scan(self, file: BinaryIO, size: int) -> Iterator[tuple[str, Any]]:
        _check_header(file.read(HEADER.size))
        total = 0
        while True:
            offset = file.tell()
            kind, length, unpacked, _ = _read_chunk_header(file, size)
            total += unpacked
            if total > MOST_CONTENT:
                raise Damaged("it has more in it than can be opened")
            if kind == CALLS:
                self._places.append(ChunkPlace(self.path, offset, length))
                file.seek(length, os.SEEK_CUR)
                continue
            file.seek(offset)
            kind, content = _read_content(file, size)
            if kind == THE_END:
                return
            if kind == ABOUT:
                self.name = content.name
                yield "Z", {"rested": content.rested}
                content = content.header
            yield kind.decode(), content

    def _open(self) -> BinaryIO:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise Damaged(f"{self.path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_FILE:
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
        raise Damaged(f"{self.path} is not a file, or larger than {LARGEST_FILE >> 30} GB")


def _identity_of(status: os.stat_result) -> FileIdentity:
    return FileIdentity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _check_header(data: bytes) -> None:
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise Damaged(OTHER_FILE)
    if (version := data[len(MAGIC)]) != VERSION:
        raise Damaged(OTHER_VERSION.format(version=version, known=VERSION))


def _read_chunk_header(file: BinaryIO, size: int) -> tuple[bytes, int, int, int]:
    header = file.read(CHUNK.size)
    if len(header) < CHUNK.size:
        raise Damaged(CUT_SHORT)
    kind, length, unpacked, checksum = CHUNK.unpack(header)
    if file.tell() + length > size:
        raise Damaged(CUT_SHORT)
    if kind not in TYPES or unpacked > LARGEST_CHUNK or length > LARGEST_CHUNK:
        raise Damaged(f"it is damaged at {file.tell() - CHUNK.size}")
    return kind, length, unpacked, checksum


def _read_content(file: BinaryIO, size: int) -> tuple[bytes, Any]:
    offset = file.tell()
    kind, length, unpacked, checksum = _read_chunk_header(file, size)
    packed = file.read(length)
    if zlib.crc32(packed) != checksum:
        raise Damaged(f"it is damaged at {offset}")
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, unpacked or 1)
        if len(data) != unpacked or not unpacker.eof or unpacker.unconsumed_tail:
            raise Damaged(f"it is damaged at {offset}: a part is longer than it says")
        return kind, _decoder_of(kind)(data)
    except (zlib.error, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Damaged(f"it is damaged at {offset}: {error}") from None


_DECODERS: dict[bytes, Callable[[bytes], Any]] = {}


def _decoder_of(kind: bytes) -> Callable[[bytes], Any]:
    """Return what reads a kind of chunk; made when it is needed, for most sessions never open a file."""
    if kind not in _DECODERS:
        _DECODERS[kind] = msgspec.msgpack.Decoder(TYPES[kind]).decode
    return _DECODERS[kind]
