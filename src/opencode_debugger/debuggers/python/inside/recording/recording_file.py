"""Writes a recording to files that whoever reads them can trust, even if the program dies in the middle.

A folder has `names.ocr`, which tells what calls refer to, and segments, of which the oldest go when there is too much.
Each file begins with HEADER; then come chunks: length, checksum, and plain values as `marshal` writes them in its
version 2, which every Python reads; of calls, columns (see `call_columns`), whose values are in version 3. A call is
written when it ends, so that a caller is never in an older segment than what it called.

No file stays open: the program may close or count its descriptors as it likes.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import struct
import zlib
from collections import deque
from typing import Any, Deque, List, Tuple

from .call_columns import PackedCalls, marshalled_columns

FORMAT_VERSION = 2
HEADER = b"OCREC" + bytes((FORMAT_VERSION, 0, 0))
CHUNK = struct.Struct("<II")
COUNT = struct.Struct("<I")
NAMES = "names.ocr"
SEGMENT = "%08d.ocr"
SEGMENTS = 8
"""how many make up a whole recording"""
LARGEST_SEGMENT = 8 << 20
NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_open, _write, _close, _unlink = os.open, os.write, os.close, os.unlink  # as they are before the program changes them


class RecordingFile:
    """The files of one recording. Raises OSError if they cannot be written."""

    def __init__(self, folder: str, limit: int) -> None:
        self.folder = folder
        self._limit = limit
        self._segment_size = min(LARGEST_SEGMENT, limit // SEGMENTS)
        self._segments: Deque[Tuple[int, int, int, int]] = deque()
        """older ones: number, bytes, calls and steps"""
        self._number = 0
        self._names_size = self._older_size = 0
        self._size = self._calls = self._steps = 0
        self.dropped_calls = self.dropped_steps = 0
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(folder), 0o700)  # not what is above: on another machine there is no session
        os.mkdir(folder, 0o700)

    @property
    def size(self) -> int:
        return self._names_size + self._older_size + self._size

    def write_names(self, kind: str, content: Any) -> None:
        payload = marshal.dumps((kind, content), 2)
        self._names_size += self._append(NAMES, payload, not self._names_size)

    def write_calls(self, calls: List[PackedCalls], steps: List[bytes], open_calls: List[bytes], about: Any) -> bool:
        """Append what is packed and marshalled already. Return True if the next ones begin another segment."""
        parts = [b"(", COUNT.pack(4), *marshalled_columns(calls)]
        for rows in (steps, open_calls):
            parts += (b"[", COUNT.pack(len(rows)), *rows)
        parts.append(marshal.dumps(about, 2))
        self._size += self._append(SEGMENT % self._number, b"".join(parts), not self._size)
        self._calls += sum(piece.length for piece in calls)
        self._steps += len(steps)
        if self._size < self._segment_size:
            return False
        self._begin_segment()
        return True

    def _begin_segment(self) -> None:
        self._segments.append((self._number, self._size, self._calls, self._steps))
        self._older_size += self._size
        self._number += 1
        self._size = self._calls = self._steps = 0
        while self._segments and self.size > self._limit - self._segment_size:
            number, size, calls, steps = self._segments.popleft()
            _unlink(self.folder + os.sep + SEGMENT % number)
            self._older_size -= size
            self.dropped_calls += calls
            self.dropped_steps += steps

    def _append(self, name: str, payload: bytes, is_first: bool) -> int:
        data = (HEADER if is_first else b"") + CHUNK.pack(len(payload), zlib.crc32(payload)) + payload
        path = self.folder + os.sep + name
        flags = os.O_WRONLY | NOT_FOLLOWED | (os.O_CREAT | os.O_EXCL if is_first else os.O_APPEND)
        descriptor = _open(path, flags, 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[_write(descriptor, left) :]
        finally:
            _close(descriptor)
        return len(data)
