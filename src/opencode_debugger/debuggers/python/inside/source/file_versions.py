"""Tells what the program has loaded: its modules, and what each source file was like then."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

from ..breakpoints.function_names import file_of
from ..pydevd_patches import pydevd_parts
from ..values import raw
from ..values.atom_texts import clip, encodable

if TYPE_CHECKING:
    from ....rows import ModulePage, ModuleRow

_loaded_versions: Dict[str, Tuple[float, int]] = {}
_names_by_real_path: Dict[str, str] = {}
IMPORTER_FILE = "<frozen importlib._bootstrap_external>"
"""The name of the import system's file, in which steps do not stop."""
_DEBUGGER_PACKAGES = ("debugpy", "pydevd", "_pydev", "_ocdb", "pydev")


def install() -> None:
    from importlib.machinery import SourceFileLoader

    for module in list(sys.modules.values()):  # what was loaded before is taken to be as it is now
        path = file_of(module)
        if isinstance(path, str) and path.endswith(".py"):
            remember_file(path)
    original = SourceFileLoader.path_stats

    def path_stats(self: Any, path: str) -> Mapping[str, Any]:
        stats = original(self, path)
        _loaded_versions[path] = (stats["mtime"], stats["size"])
        return stats

    path_stats.__code__ = path_stats.__code__.replace(co_filename=IMPORTER_FILE)
    SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]


def remember_file(path: str) -> None:
    """Remember a file that is not imported, such as the program's own."""
    with contextlib.suppress(OSError):
        status = os.stat(path)
        _loaded_versions[path] = (status.st_mtime, status.st_size)


def describe_versions(paths: List[str]) -> Dict[str, Optional[List[float]]]:
    """Return time and size of each file as it was loaded; None if it was not, or that is not known."""
    found = {path: _loaded_versions.get(path) or _loaded_versions.get(_loaded_name(path)) for path in paths}
    return {path: list(version) if version else None for path, version in found.items()}


def _loaded_name(path: str) -> str:
    for name in [name for name in list(_loaded_versions) if name not in _names_by_real_path.values()]:
        _names_by_real_path[os.path.realpath(name)] = name
    return _names_by_real_path.get(os.path.realpath(path), "")


def module_page(offset: int, limit: int, filter: Optional[str]) -> ModulePage:
    """List the modules that the program has loaded, without those of its debugger."""
    wanted = (filter or "").lower()
    found = [row for row in _module_rows() if wanted in row["name"].lower() or wanted in (row["path"] or "").lower()]
    shown = found[offset : offset + limit]
    return {"modules": shown, "total": len(found), "has_more": offset + len(shown) < len(found)}


def _module_rows() -> List[ModuleRow]:
    found: List[ModuleRow] = []
    there = [item for item in list(sys.modules.items()) if type(item[0]) is str and item[1] is not None]
    for name, module in sorted(there, key=lambda item: item[0]):  # modules cannot be compared
        names = raw.instance_dict(module) or {}
        path, version = (_bounded_text(names.get(field)) for field in ("__file__", "__version__"))
        is_ours = name.partition(".")[0].startswith(_DEBUGGER_PACKAGES) or (path or "").startswith(pydevd_parts.FOLDER)
        if not is_ours:
            found.append({"name": encodable(clip(name, 200)[0]), "path": path, "version": version})
    return found


def _bounded_text(value: Any) -> Optional[str]:
    return encodable(clip(value, 1000)[0]) if type(value) is str else None
