"""Source files as a debugger sees them: which lines can stop, and the text around a stop."""

from __future__ import annotations

import io
import os
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..files import read_source
from ..wording import counted

TEXT_LIMIT = 200
OPEN = "The line is checked when the program is loaded. Breakpoint pending."
_CACHED_FILES = 8
_CACHED_SIZE = 2 * 1024 * 1024

_texts: dict[str, tuple[tuple[int, int], list[str]]] = {}


@dataclass(frozen=True)
class LineVerdict:
    verified: bool
    reason: Literal["ok", "no_code", "past_end", "open"]
    """open: only the program can tell"""
    message: str | None = None
    suggestion: dict[str, Any] | None = None


class SourceFile:
    """A file and what its interpreter said of it (`adapters.debugpy.lines`)."""

    def __init__(self, path: str, examined: Mapping[str, Any]) -> None:
        self.path = path
        self.max_line: int = examined["max_line"]
        self.error: Mapping[str, Any] | None = examined["error"]
        self._code_lines: list[int] = examined["code_lines"]
        self._definitions: Mapping[int, Sequence[Any]] = examined["definitions"]
        self._docstrings: Sequence[Sequence[int]] = examined.get("docstrings", ())
        self._is_certain: bool = examined.get("is_certain", True)

    def verdict(self, line: int) -> LineVerdict:
        """Whether a breakpoint on the line stops, and if not, what to do instead."""
        if line < 1 or 0 < self.max_line < line:
            there = counted(self.max_line, "line")
            return LineVerdict(False, "past_end", f"Line {line} does not exist: the file has {there}")
        if self.error is not None:
            return LineVerdict(False, "no_code", f"Cannot check line {line}: {self._broken()}")
        if self._has_code(line) and not self._is_certain:
            return LineVerdict(False, "open", OPEN)
        if self._has_code(line):
            return LineVerdict(True, "ok", self._definition(line))
        return LineVerdict(False, "no_code", f"No executable code at line {line}", self._suggestion(line))

    def text(self, line: int) -> str:
        lines = read_lines(self.path)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def why_not(self, line: int) -> str:
        """Why a breakpoint on the line does not stop, as the end of a sentence."""
        if self.error is not None:
            return self._broken()
        return why_not(self.text(line), in_docstring=self._docstring_start(line) is not None)

    def _broken(self) -> str:
        assert self.error is not None
        where = f" (line {self.error['line']})" if self.error["line"] else ""
        what = "does not compile" if self.max_line else "cannot be read"
        return f"the file {what}: {self.error['message']}{where}"

    def _has_code(self, line: int) -> bool:
        at = bisect_left(self._code_lines, line)
        return at < len(self._code_lines) and self._code_lines[at] == line

    def _definition(self, line: int) -> str | None:
        if line not in self._definitions:
            return None
        _kind, name, inside = self._definitions[line]
        hint = f"; use line {inside} to stop inside it" if inside else ""
        return f"Line {line} runs when '{name}' is defined{hint}"

    def _suggestion(self, line: int) -> dict[str, Any] | None:
        nearest = self._nearest(line)
        return None if nearest is None else {"line": nearest, "text": self.text(nearest).strip()[:TEXT_LIMIT]}

    def _nearest(self, line: int) -> int | None:
        at = bisect_right(self._code_lines, line)
        before = self._code_lines[at - 1] if at else None
        after = self._code_lines[at] if at < len(self._code_lines) else None
        if before is None or after is None:
            return before if after is None else after
        return after if self._leads_to(line, before, after) else before

    def _leads_to(self, line: int, before: int, after: int) -> bool:
        """Whether the line belongs with the code after it: the same block, or, if blank, no farther."""
        own = self.text(self._docstring_start(line) or line)
        if own.strip():
            return _indent(self.text(after)) >= _indent(own)
        return _indent(self.text(after)) >= _indent(self.text(before)) or after - line <= line - before

    def _docstring_start(self, line: int) -> int | None:
        return next((first for first, last in self._docstrings if first <= line <= last), None)


def why_not(line_text: str, *, in_docstring: bool = False) -> str:
    """Why there is nothing to stop at, as the end of a sentence."""
    if in_docstring:
        return "line is part of a docstring"
    stripped = line_text.strip()
    if not stripped:
        return "line contains only whitespace"
    if stripped.startswith(("#", "//", "/*")):
        return "line is a comment"
    if stripped.startswith(('"""', "'''")):
        return "line is part of a docstring"
    return "line has no code of its own"


def excerpt(source: str | Sequence[str], line: int, before: int = 3, after: int = 3) -> list[dict[str, Any]]:
    """The lines around one, of a path or of lines already read; nothing if they cannot be read."""
    lines = read_lines(source) if isinstance(source, str) else source
    if not 1 <= line <= len(lines):
        return []
    shown = range(max(1, line - before), min(len(lines), line + after) + 1)
    return [{"line": number, "text": _bounded(lines[number - 1])} for number in shown]


def read_lines(path: str) -> list[str]:
    """The file's lines as an editor counts them, without line ends; empty if it cannot be read."""
    try:
        status = os.stat(path)
        version = (status.st_mtime_ns, status.st_size)
        known = _texts.get(path)
        if known is not None and known[0] == version:
            return known[1]
        lines = _split(read_source(path))
    except (OSError, ValueError):
        return []
    if status.st_size <= _CACHED_SIZE:
        _remember(path, version, lines)
    return lines


def _remember(path: str, version: tuple[int, int], lines: list[str]) -> None:
    _texts.pop(path, None)
    while len(_texts) >= _CACHED_FILES:
        del _texts[next(iter(_texts))]
    _texts[path] = (version, lines)


def _split(raw: bytes) -> list[str]:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding, "replace")
    except (SyntaxError, LookupError):
        text = raw.decode("utf-8", "replace")
    # Not splitlines(): form feeds and the like do not end a line of source.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _indent(text: str) -> int:
    expanded = text.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())


def _bounded(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"
