"""Paths as the user spells them: a program that runs in a symlinked folder tells of the folder behind it."""

from __future__ import annotations

import os
from functools import lru_cache

from .breakpoints import BreakpointTable


class Spelling:
    def __init__(self, breakpoints: BreakpointTable) -> None:
        self._breakpoints = breakpoints
        self._folders: dict[str, str] = {}
        """what the user calls a folder, by where it really is; only those for which that differs"""

    def learn(self, folder: str | None) -> None:
        """A folder that the user named: the project, or where a program runs."""
        if folder is not None and (real := os.path.realpath(folder)) != os.path.normpath(folder):
            self._folders[real] = os.path.normpath(folder)

    def spelled(self, path: str) -> str:
        """A file of a breakpoint as that breakpoint says it; any other by the folder it is in."""
        if not os.path.isabs(path):
            return path
        real = real_path(path)
        for bp in self._breakpoints.all():
            if bp.key[0] == real:
                return bp.path
        if path != real or not self._folders:
            return path  # a spelling already
        for folder in _parents(path):
            if folder in self._folders:
                return self._folders[folder] + path[len(folder) :]
        return path


@lru_cache(maxsize=1000)
def real_path(path: str) -> str:
    """Remembered: a stack has many frames of few files."""
    return os.path.realpath(path)


def _parents(path: str) -> list[str]:
    found = []
    while (parent := os.path.dirname(path)) != path:
        found.append(parent)
        path = parent
    return found
