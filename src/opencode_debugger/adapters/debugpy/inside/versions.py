"""Remembers what each source file was like when the program loaded it, so that later changes can be told."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Optional, Tuple

from .names import file_of

_loaded: Dict[str, Tuple[float, int]] = {}
_real: Dict[str, str] = {}
"""names under which files were loaded, by their real paths"""
IMPORTER = "<frozen importlib._bootstrap_external>"
"""Steps do not stop there."""


def install() -> None:
    from importlib.machinery import SourceFileLoader

    for module in list(sys.modules.values()):  # what was loaded before is taken to be as it is now
        path = file_of(module)
        if isinstance(path, str) and path.endswith(".py"):
            remember(path)
    original = SourceFileLoader.path_stats

    def path_stats(self: Any, path: str) -> Any:
        stats = original(self, path)
        _loaded[path] = (stats["mtime"], stats["size"])
        return stats

    path_stats.__code__ = path_stats.__code__.replace(co_filename=IMPORTER)
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]


def remember(path: str) -> None:
    """For the program's own file, which is not imported."""
    try:
        status = os.stat(path)
    except OSError:
        return
    _loaded[path] = (status.st_mtime, status.st_size)


def loaded(path: str) -> Optional[List[float]]:
    """Time and size of the file as it was loaded; None if it was not, or nobody knows."""
    found = _loaded.get(path) or _loaded.get(_by_real_path(path))
    return list(found) if found else None


def _by_real_path(path: str) -> str:
    for name in [name for name in list(_loaded) if name not in _real.values()]:
        _real[os.path.realpath(name)] = name
    return _real.get(os.path.realpath(path), "")


def describe(paths: List[str]) -> Dict[str, Any]:
    return {path: loaded(path) for path in paths}
