"""The files of a session, found by a part of their name: those of its project, and those its program has loaded."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...answers.source_code import FileList, FoundFile
from ...files import is_inside, is_withheld
from ...text.paths import is_library, show_path
from ..execution.stops import frame_path
from ..lifecycle.debuggee import Debuggee
from ..lifecycle.starting import Starting
from ..session_settings import Config

MOST_FILES = 50_000
"""Files of a project that are looked at."""
LONGEST_WALK = 2.0
"""Seconds of looking for them."""
FRESH = 5.0
"""Seconds for which what was found is good: who types asks again with each letter."""
SKIPPED_FOLDERS = frozenset({
    "node_modules", "__pycache__", "site-packages", "dist-packages", "bower_components", "target", "build", "dist",
})
ENVIRONMENT_MARK = "pyvenv.cfg"
COMPILED = (
    ".pyc", ".pyo", ".so", ".o", ".a", ".dll", ".exe", ".class", ".jar", ".whl", ".zip", ".gz", ".xz", ".png", ".jpg",
    ".jpeg", ".gif", ".ico", ".pdf", ".woff", ".woff2", ".sqlite", ".db",
)
"""Ends of names of files without source in them."""


@dataclass
class WalkedProject:
    paths: list[str] = field(default_factory=list)
    is_complete: bool = True
    at: float = 0.0


@dataclass(eq=False)
class ProjectFiles:
    _config: Config
    _debuggee: Debuggee
    _starting: Starting
    _walked: WalkedProject | None = None

    async def find_files(self, query: str = "", limit: int = 50) -> FileList:
        """Find files whose path has the characters of the query, in their order; the best first."""
        root, walked = self._config.project_root, WalkedProject()
        if root is not None and not is_inside(os.path.realpath(os.path.expanduser("~")), os.path.realpath(root)):
            walked = await self._walk_project(root)
        loaded = list(self._loaded_files())
        known = dict.fromkeys([*loaded, *walked.paths])
        ranked = rank_paths(query, known, root)
        shown = [FoundFile(path=each, name=show_path(each, root), is_loaded=each in loaded) for each in ranked[:limit]]
        return FileList(files=shown, total=len(ranked), is_complete=walked.is_complete)

    async def _walk_project(self, root: str) -> WalkedProject:
        if self._walked is None or time.monotonic() - self._walked.at > FRESH:
            self._walked = await asyncio.to_thread(walk_project, root)
        return self._walked

    def _loaded_files(self) -> Iterator[str]:
        """Return the files of the stack, the script, those with breakpoints, and the modules, as far as they exist."""
        stop = self._debuggee.stop
        stacks = [stop.frames if stop else [], *self._debuggee.stacks.values()]
        frames = (frame_path(frame) for stack in stacks for frame in stack)
        verified = (bp.path for bp in self._debuggee.breakpoints.all() if bp.verified)
        program = self._starting.program or {}
        for path in dict.fromkeys([*frames, program.get("script"), *verified, *self._debuggee.modules]):
            if path and not path.endswith(COMPILED) and os.path.isfile(path) and not is_withheld(path):
                yield path


def walk_project(root: str) -> WalkedProject:
    """List the files of a project: no hidden ones, no libraries, nothing that links lead to."""
    walked, deadline = WalkedProject(), time.monotonic() + LONGEST_WALK
    folders = [root]
    while folders:
        if len(walked.paths) >= MOST_FILES or time.monotonic() > deadline:
            walked.is_complete = False
            break
        folders += _list_folder(folders.pop(), walked.paths)
    walked.at = time.monotonic()
    return walked


def _list_folder(folder: str, paths: list[str]) -> list[str]:
    """Add the files of a folder to the paths; return the folders in it that are to be looked into."""
    if is_withheld(folder):
        return []
    try:
        with os.scandir(folder) as scanned:
            entries = [each for each in scanned if not each.name.startswith(".") and not each.is_symlink()]
    except OSError:
        return []
    if any(each.name == ENVIRONMENT_MARK for each in entries):
        return []
    files = (each.path for each in entries if each.is_file() and not each.name.endswith(COMPILED))
    paths += sorted(files)
    return sorted((each.path for each in entries if each.is_dir() and each.name not in SKIPPED_FOLDERS), reverse=True)


def rank_paths(query: str, paths: Iterable[str], root: str | None) -> list[str]:
    """Return the paths that match, the best first; without a query all, in their order."""
    wanted = "".join(query.lower().split())
    if not wanted:
        return list(paths)
    ranked = []
    for index, path in enumerate(paths):
        shown = show_path(path, root)
        if (score := match_score(wanted, shown.lower())) is not None:
            ranked.append((score, is_library(path), len(shown), index, path))
    return [path for *_, path in sorted(ranked)]


def match_score(wanted: str, path: str) -> int | None:
    """Return how well a path matches, 0 being best; None if it does not have the characters in their order."""
    name = path.rpartition("/")[2]
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in path:
        return 2
    if _has_in_order(wanted, name):
        return 3
    return 4 if _has_in_order(wanted, path) else None


def _has_in_order(wanted: str, text: str) -> bool:
    rest = iter(text)
    return all(character in rest for character in wanted)
