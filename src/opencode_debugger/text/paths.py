"""Shows paths in few characters, and tells the program's own code from libraries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_LIBRARY = re.compile(
    r"^<|[/\\](site|dist)-packages[/\\]|[/\\][Ll]ib(64)?[/\\]python\d[^/\\]*[/\\]|^/(usr/)?lib\d*/.*\.so[.\d]*$"
)
"""Paths of modules that are not the user's own"""
_PACKAGES = re.compile(r"^.*[/\\](?:(?:site|dist)-packages|[Ll]ib(?:64)?[/\\]python\d[^/\\]*)[/\\]")
_FROZEN = re.compile(r"<frozen (\w+)")
_AMBIGUOUS = ("__init__.py", "__main__.py")


def show_path(path: str, base: str | None) -> str:
    """Return a path relative to the base if it is below it; that of a library, there too, begins with its package."""
    if base and path.startswith(base.rstrip("/") + "/"):
        path = path[len(base.rstrip("/")) + 1 :]
    return _PACKAGES.sub("", path)


def is_library(path: str | None) -> bool:
    """Tell whether code is not the program's own; code without a file is not."""
    return not path or _LIBRARY.search(path) is not None


def package_of(path: str | None) -> str:
    """Return the name of the package, or of the library, that a file belongs to."""
    if not path:
        return "native code"
    if frozen := _FROZEN.match(path):
        return frozen[1]
    parts = re.split(r"[/\\]", _PACKAGES.sub("", path))
    first = next(filter(None, parts), path) if _PACKAGES.match(path) else parts[-1]
    return re.sub(r"\.(pyc?|so[.\d]*)$", "", first)


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the last part of each path; that of its folder is added where the last says too little."""
    known = dict.fromkeys(paths)
    names = [os.path.basename(path) for path in known]
    unclear = {name for name in names if name in _AMBIGUOUS or names.count(name) > 1}
    return {
        path: "/".join(path.rsplit("/", 2)[-2:]) if name in unclear else name
        for path, name in zip(known, names, strict=True)
    }
