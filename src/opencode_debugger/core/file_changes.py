"""Source files that were changed after the program had loaded them: its lines are no longer those of the file."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import Any

from ..adapters.base import Adapter
from ..errors import RelayError
from .source import read_lines

HASHED = 4 * 1024 * 1024
REMEMBERED = 1000
KEPT, KEPT_SIZE = 64, 256 * 1024
"""Files, and bytes of each, of which the lines are kept."""

Version = tuple[float, int]
"""time and size"""


class FileChanges:
    def __init__(self) -> None:
        self._began: float | None = None
        self._contents: dict[tuple[str, Version], int] = {}
        """of files as they were seen, so that saving one without a change is no change"""
        self._lines: dict[tuple[str, Version], list[str]] = {}

    def begin(self, paths: set[str]) -> None:
        """A program starts, or is attached to: what is older than this has not changed since."""
        self._began = time.time()
        self._lines.clear()
        for path in paths:
            self.notice(path)

    def notice(self, path: str) -> None:
        version = _version(path)
        if version is None:
            return
        if len(self._contents) < REMEMBERED and (path, version) not in self._contents:
            content = _content(path, version)
            if content is not None:
                self._contents[path, version] = content
        if len(self._lines) < KEPT and version[1] <= KEPT_SIZE and (path, version) not in self._lines:
            self._lines[path, version] = read_lines(path)

    async def among(self, paths: set[str], adapter: Adapter) -> dict[str, list[str]]:
        """Those of the files that have changed, with the lines that were loaded, none if they are not known.

        Asks the program only about what was written since it started."""
        suspects = sorted(path for path in paths if self._is_suspect(path))
        if not suspects:
            return {}
        with contextlib.suppress(RelayError):
            loaded = await adapter.loaded(suspects)
            changed = [path for path in suspects if self._has_changed(path, loaded.get(path))]
            return {path: self._lines.get((path, (loaded[path][0], loaded[path][1])), []) for path in changed}
        return {}

    def _is_suspect(self, path: str) -> bool:
        if self._began is None:
            return False
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return os.path.isabs(path)
        except (OSError, ValueError):
            return False
        return max(status.st_mtime, status.st_ctime) >= self._began

    def _has_changed(self, path: str, loaded: Any) -> bool:
        if loaded is None:
            return False
        before, now = (loaded[0], loaded[1]), _version(path)
        if now is None or before == now:
            return now is None
        known = self._contents.get((path, before))
        return known is None or known != _content(path, now)


def _version(path: str) -> Version | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_mtime, status.st_size) if stat.S_ISREG(status.st_mode) else None


def _content(path: str, version: Version) -> int | None:
    if version[1] > HASHED:
        return None
    try:
        with open(path, "rb") as file:
            return hash(file.read(HASHED + 1))
    except OSError:
        return None
