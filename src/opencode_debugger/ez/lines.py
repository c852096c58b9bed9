"""One JSON object a line: bounded reading of lines, and messages to and from them."""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping

import msgspec

LONGEST = 4 * 1024 * 1024
"""Bytes of a line, unless the reader says otherwise."""


class Malformed(Exception):
    """A line that holds no JSON, in one line."""


class TooLong(Malformed):
    def __init__(self, longest: int) -> None:
        super().__init__(f"The line is too long: at most {longest} bytes are expected")


class LineSplitter:
    """Collects bytes and gives back each complete line once. Of a line that is too long nothing is kept."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        first, *others = data.split(b"\n")
        self._add_piece(first)
        lines: list[bytes | TooLong] = []
        for part in others:
            lines.append(self.rest())
            self._add_piece(part)
        return lines

    def _add_piece(self, part: bytes) -> None:
        self._length += len(part)
        if self._length <= self._longest:
            self._begun.append(part)
        else:
            self._begun.clear()

    @property
    def begun(self) -> bytes:
        """The beginning of a line whose end has not come yet."""
        return b"".join(self._begun)

    def rest(self) -> bytes | TooLong:
        """Return what is there as if its line ended here: the last words of somebody who has gone."""
        line = TooLong(self._longest) if self._length > self._longest else self.begun
        self._begun, self._length = [], 0
        return line


def decode_line(line: bytes) -> object:
    """Decode a line, without the mark that an editor on Windows puts before its first one."""
    try:
        return msgspec.json.decode(line.removeprefix(codecs.BOM_UTF8))
    except RecursionError:
        raise Malformed("Not JSON: it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = str(error)
        try:
            line.decode()
        except UnicodeDecodeError as mistake:
            why = f"byte {mistake.start + 1} of the line is not UTF-8"
        raise Malformed(f"Not JSON: {why}. One JSON object a line is expected") from None


def encode_line(message: Mapping[str, object]) -> bytes:
    """Encode a message with its newline. Halves of characters, which odd file names have, are written as escapes."""
    try:
        return msgspec.json.encode(message) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"
