"""How answers are shown to whom: from which folder, with secrets or without; and words that all renderings share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeVar

import msgspec

from ..answers.shape import UNSET, Maybe
from .paths import show_path
from .secrets import mask_inside, mask_value

T = TypeVar("T")
STREAM_MARKS = {"stdout": "out| ", "stderr": "err| "}
OTHER_STREAM = "log| "
MARK_WIDTH = len(OTHER_STREAM)
PLAIN_TYPES = frozenset({"str", "bytes", "int", "float", "bool", "NoneType", "list", "dict", "tuple", "set"})
"""Types that the text of a value shows."""


class View(msgspec.Struct, frozen=True):
    base: str | None = None
    """folder below which paths are shown relative to it"""
    reveal: bool = False
    """show values of names that look like secrets"""

    def path(self, path: str | None) -> str:
        return show_path(path, self.base) if path else "?"

    def place(self, path: str | None, line: int | None) -> str:
        return f"{self.path(path)}:{line}" if line else self.path(path)

    def value(self, text: str, name: str = "", kind: str | None = None) -> str:
        """Return the text of a value, masked if it is to be, on one line."""
        return one_line(text if self.reveal else mask_value(name, text, kind) if name else mask_inside(text))

    def masked(self, text: str) -> str:
        """Return the text of a value with its lines, without the secrets inside."""
        return text if self.reveal else mask_inside(text)


def known(value: Maybe[T | None]) -> T | None:
    """Return None for a field that was left out."""
    return None if value is UNSET else value


def one_line(text: str) -> str:
    return " ".join(text.split("\n")) if "\n" in text else text


def shorten(text: str, width: int) -> str:
    """Cut a long text in its middle, since both ends of it tell."""
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1]}…{text[-tail:] if tail else ''}"


def join_lines(*lines: str) -> str:
    """Return the lines that say something."""
    return "\n".join(filter(None, lines))


def joined_output(pieces: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Return what was written to the same stream as one text, without the end of its last line."""
    for category, group in groupby(pieces, lambda piece: piece[0]):
        yield category, "".join(text for _, text in group).removesuffix("\n")


def marked_output(pieces: Iterable[tuple[str, str]]) -> list[str]:
    """Return lines of output, each with the stream that it came from."""
    joined = [(STREAM_MARKS.get(category, OTHER_STREAM), text) for category, text in joined_output(pieces)]
    return [mark + line for mark, text in joined for line in text.split("\n")]
