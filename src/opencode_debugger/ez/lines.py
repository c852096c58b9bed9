"""One JSON object a line: bounded reading of lines, and messages to and from them."""

from __future__ import annotations

import codecs
import json
from typing import Any

import msgspec

LONGEST = 4 * 1024 * 1024
"""Bytes of a line, unless the reader says otherwise."""


class Malformed(Exception):
    """A line that holds no JSON, in one line."""


class TooLong(Malformed):
    def __init__(self, longest: int) -> None:
        super().__init__(f"The line is too long: at most {longest} bytes are expected")


class Lines:
    """Collects bytes and gives back each complete line once. Of a line that is too long nothing is kept."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        first, *others = data.split(b"\n")
        self._add(first)
        lines: list[bytes | TooLong] = []
        for part in others:
            lines.append(self.rest())
            self._add(part)
        return lines

    def _add(self, part: bytes) -> None:
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
        """What is there, as if its line ended here: the last words of somebody who has gone."""
        line = TooLong(self._longest) if self._length > self._longest else self.begun
        self._begun, self._length = [], 0
        return line


def decode(line: bytes) -> Any:
    """Of what an editor on Windows sends, without the mark before its first line."""
    try:
        return msgspec.json.decode(line.removeprefix(codecs.BOM_UTF8))
    except RecursionError:
        raise Malformed("Not JSON: it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"Not JSON: {_why(line) or error}. One JSON object a line is expected") from None


def _why(line: bytes) -> str | None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} of the line is not UTF-8"
    return None


def encode(message: dict[str, Any]) -> bytes:
    """With its newline. Halves of characters, which odd file names have, are written as escapes."""
    try:
        return msgspec.json.encode(message) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"
