"""Source files as a debugger sees them: lines that can stop, text around a stop, similar paths, changed files."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import stat
import time
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

from ...answers.breakpoints import Suggestion
from ...errors import RelayError
from ...files import read_source
from ...wording import counted

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter
    from ...debuggers.rows import LineRow

TEXT_LIMIT = 200
OPEN = "The line is checked when the program is loaded. Breakpoint pending."
FOLDERS = 200
"""Folders of a project that are looked into for a file with a similar path, at most."""
_CACHED_FILES = 8
_CACHED_SIZE = 2 * 1024 * 1024
HASHED_BYTES = 4 * 1024 * 1024
REMEMBERED_FILES = 1000
VERSION_PATIENCE = 1.0
KEPT, KEPT_SIZE = 64, 256 * 1024
"""Files, and bytes of each, of which the lines are kept."""

Version = tuple[float, int]
"""time and size"""


@dataclass(frozen=True)
class LineVerdict:
    verified: bool
    reason: Literal["ok", "no_code", "past_end", "open"]
    """open: only the program can tell"""
    message: str | None = None
    suggestion: Suggestion | None = None


class SourceFile:
    """A file and what its interpreter said of its lines."""

    def __init__(self, path: str, examined: Mapping[str, Any]) -> None:
        self.path = path
        self.max_line: int = examined["max_line"]
        self.error: Mapping[str, Any] | None = examined["error"]
        self._code_lines: list[int] = examined["code_lines"]
        self._definitions: Mapping[int, Sequence[Any]] = examined["definitions"]
        self._docstrings: Sequence[Sequence[int]] = examined.get("docstrings", ())
        self._is_certain: bool = examined.get("is_certain", True)

    def judge_line(self, line: int) -> LineVerdict:
        """Tell whether a breakpoint on the line stops, and if not, what to do instead."""
        if line < 1 or 0 < self.max_line < line:
            there = counted(self.max_line, "line")
            return LineVerdict(False, "past_end", f"Line {line} does not exist: the file has {there}")
        if self.error is not None:
            return LineVerdict(False, "no_code", f"Cannot check line {line}: {self._compile_problem()}")
        if self._has_code(line) and not self._is_certain:
            return LineVerdict(False, "open", OPEN)
        if self._has_code(line):
            note = None
            if line in self._definitions:
                _kind, name, inside = self._definitions[line]
                hint = f"; use line {inside} to stop inside it" if inside else ""
                note = f"Line {line} runs when '{name}' is defined{hint}"
            return LineVerdict(True, "ok", note)
        nearest = self._nearest_code_line(line)
        text = self.line_text(nearest or 0).strip()[:TEXT_LIMIT]
        suggestion = None if nearest is None else Suggestion(line=nearest, text=text)
        return LineVerdict(False, "no_code", f"No executable code at line {line}", suggestion)

    def line_text(self, line: int) -> str:
        lines = read_lines(self.path)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def why_not(self, line: int) -> str:
        """Say why a breakpoint on the line does not stop, as the end of a sentence."""
        if self.error is not None:
            return self._compile_problem()
        return why_not(self.line_text(line), in_docstring=self._docstring_start(line) is not None)

    def _compile_problem(self) -> str:
        assert self.error is not None
        where = f" (line {self.error['line']})" if self.error["line"] else ""
        what = "does not compile" if self.max_line else "cannot be read"
        return f"the file {what}: {self.error['message']}{where}"

    def _has_code(self, line: int) -> bool:
        at = bisect_left(self._code_lines, line)
        return at < len(self._code_lines) and self._code_lines[at] == line

    def _nearest_code_line(self, line: int) -> int | None:
        at = bisect_right(self._code_lines, line)
        before = self._code_lines[at - 1] if at else None
        after = self._code_lines[at] if at < len(self._code_lines) else None
        if before is None or after is None:
            return before if after is None else after
        return after if self._leads_to(line, before, after) else before

    def _leads_to(self, line: int, before: int, after: int) -> bool:
        """Tell whether the line belongs with the code after it: the same block, or, if blank, no farther."""
        own, indent_after = self.line_text(self._docstring_start(line) or line), _indent_width(self.line_text(after))
        if own.strip():
            return indent_after >= _indent_width(own)
        return indent_after >= _indent_width(self.line_text(before)) or after - line <= line - before

    def _docstring_start(self, line: int) -> int | None:
        return next((first for first, last in self._docstrings if first <= line <= last), None)


def why_not(line_text: str, *, in_docstring: bool = False) -> str:
    """Say why there is nothing to stop at, as the end of a sentence."""
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


def excerpt(source: str | Sequence[str], line: int, before: int = 3, after: int = 3) -> list[LineRow]:
    """Return the lines around one, of a path or of lines already read; none if they cannot be read."""
    lines = read_lines(source) if isinstance(source, str) else source
    if not 1 <= line <= len(lines):
        return []
    first = max(1, line - before)
    cut = [
        text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…" for text in lines[first - 1 : line + after]
    ]
    return [{"line": number, "text": text} for number, text in enumerate(cut, first)]


def read_lines(path: str) -> list[str]:
    """Return the file's lines as an editor counts them, without line ends; none if it cannot be read."""
    try:
        status = os.stat(path)
        read = _read_version if status.st_size <= _CACHED_SIZE else _read_version.__wrapped__
        return read(path, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError):
        return []


@lru_cache(_CACHED_FILES)
def _read_version(path: str, changed_at: int, size: int) -> list[str]:
    raw = read_source(path)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding, "replace")
    except (SyntaxError, LookupError):
        text = raw.decode("utf-8", "replace")
    # Not splitlines(): form feeds and the like do not end a line of source.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _indent_width(text: str) -> int:
    expanded = text.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())


def find_similar_file(path: str, root: str) -> str | None:
    """Return the file that was probably meant by a path that leads nowhere.

    Looks for the end of the path in the project's folder, or for all of it in one of the folders there."""
    parts = [part for part in re.split(r"[\\/]", path.removeprefix(root)) if part]
    ends = (os.path.join(root, *parts[start:]) for start in range(len(parts)))
    names: list[str] = []
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        names += [entry.path for entry in islice(entries, FOLDERS) if entry.name[0] != "."]
    folders = sorted(filter(os.path.isdir, names))  # which is not upset by links that lead in a circle
    deeper = (os.path.join(folder, *parts) for folder in folders)
    return next((candidate for candidate in chain(ends, deeper) if os.path.isfile(candidate)), None)


class FileChanges:
    def __init__(self) -> None:
        self._began_at: float | None = None
        self._contents: dict[tuple[str, Version], int] = {}
        """hashes of files as they were seen, so that saving one without a change is no change"""
        self._lines: dict[tuple[str, Version], list[str]] = {}

    def begin_program(self, paths: set[str]) -> None:
        """Begin when a program starts, or is attached to: what is older than this has not changed since."""
        self._began_at = time.time()
        self._lines.clear()
        for path in paths:
            self.remember_file(path)

    def remember_file(self, path: str) -> None:
        version = _file_version(path)
        if version is None:
            return
        self._remember_content(path, version)
        if len(self._lines) < KEPT and version[1] <= KEPT_SIZE and (path, version) not in self._lines:
            self._lines[path, version] = read_lines(path)

    def _remember_content(self, path: str, version: Version) -> None:
        if len(self._contents) < REMEMBERED_FILES and (path, version) not in self._contents:
            content = _content_hash(path, version)
            if content is not None:
                self._contents[path, version] = content

    async def find_changed(self, paths: set[str], adapter: Adapter) -> dict[str, list[str]]:
        """Return the files that have changed, with the lines that were loaded, none if they are not known.

        Asks the program only about what was written since it started."""
        suspects = sorted(path for path in paths if self._is_suspect(path))
        if not suspects:
            return {}
        with contextlib.suppress(RelayError):
            loaded = await adapter.sources.loaded(suspects)
            known = {path: version for path in suspects if (version := loaded.get(path))}
            changed = {path: version for path, version in known.items() if self._has_changed(path, version)}
            return {path: self._lines.get((path, (time, size)), []) for path, (time, size) in changed.items()}
        return {}

    async def is_outdated(self, path: str, adapter: Adapter, is_run: bool) -> bool:
        """Tell whether the program runs another text than the file has now.

        Where its debugger does not say which text was loaded, a file that `is_run` counts as loaded when it started."""
        if not self._is_suspect(path):
            if version := _file_version(path):  # so that it is known again when it is saved as it was
                self._remember_content(path, version)
            return False
        with contextlib.suppress(RelayError, TimeoutError):  # a program that is held in a call may not answer
            async with asyncio.timeout(VERSION_PATIENCE):
                loaded = await adapter.sources.loaded([path])
            return self._has_changed(path, loaded[path]) if path in loaded else is_run and self._is_rewritten(path)
        return False

    def _is_suspect(self, path: str) -> bool:
        if self._began_at is None:
            return False
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return os.path.isabs(path)
        except (OSError, ValueError):
            return False
        return max(status.st_mtime, status.st_ctime) >= self._began_at

    def _has_changed(self, path: str, loaded: Any) -> bool:
        if loaded is None:
            return False
        before, now = (loaded[0], loaded[1]), _file_version(path)
        if now is None or before == now:
            return now is None
        known = self._contents.get((path, before))
        return known is None or known != _content_hash(path, now)

    def _is_rewritten(self, path: str) -> bool:
        now, began_at = _file_version(path), self._began_at or 0
        if now is None or now[0] < began_at:
            return False
        known = [(version, text) for (name, version), text in self._contents.items() if name == path]
        before = max((each for each in known if each[0][0] < began_at), default=None)
        return before is None or before[1] != _content_hash(path, now)


def _file_version(path: str) -> Version | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_mtime, status.st_size) if stat.S_ISREG(status.st_mode) else None


def _content_hash(path: str, version: Version) -> int | None:
    if version[1] <= HASHED_BYTES:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return hash(file.read(HASHED_BYTES + 1))
    return None
