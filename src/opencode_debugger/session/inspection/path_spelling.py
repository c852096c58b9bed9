"""Paths as the user spells them: a program that runs in a symlinked folder tells of the folder behind it."""

from __future__ import annotations

import os
from functools import lru_cache

from ..breakpoints.breakpoint_table import BreakpointTable


class PathSpelling:
    def __init__(self, breakpoints: BreakpointTable) -> None:
        self._breakpoints = breakpoints
        self._folders: dict[str, str] = {}
        """the user's name of a folder by its real path, where the two differ"""

    def learn_folder(self, folder: str | None) -> None:
        """Learn a folder that the user named: the project, or where a program runs."""
        if folder is not None and (real := os.path.realpath(folder)) != os.path.normpath(folder):
            self._folders[real] = os.path.normpath(folder)

    def spell_path(self, path: str) -> str:
        """Spell the file of a breakpoint as that breakpoint says it; any other by the folder it is in."""
        if not os.path.isabs(path):
            return path
        real = real_path(path)
        for bp in self._breakpoints.all():
            if bp.key[0] == real:
                return bp.path
        if path != real or not self._folders:
            return path  # a spelling already
        folder = os.path.dirname(path)
        while folder not in self._folders and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return self._folders[folder] + path[len(folder) :] if folder in self._folders else path


@lru_cache(maxsize=1000)
def real_path(path: str) -> str:
    """Return the real path, remembered: a stack has many frames of few files."""
    return os.path.realpath(path)
