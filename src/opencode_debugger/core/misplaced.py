"""Which file of a project was probably meant by a path that leads nowhere."""

from __future__ import annotations

import os
import re
from itertools import chain, islice

FOLDERS = 200
"""of the project that are looked into"""


def meant(path: str, root: str) -> str | None:
    """The end of the path in the project's folder, or all of it in one of the folders there."""
    parts = [part for part in re.split(r"[\\/]", path.removeprefix(root)) if part]
    ends = (os.path.join(root, *parts[start:]) for start in range(len(parts)))
    deeper = (os.path.join(folder, *parts) for folder in _folders(root))
    return next((candidate for candidate in chain(ends, deeper) if os.path.isfile(candidate)), None)


def _folders(root: str) -> list[str]:
    try:
        with os.scandir(root) as entries:
            names = [entry.path for entry in islice(entries, FOLDERS) if entry.name[0] != "."]
    except OSError:
        return []
    return sorted(filter(os.path.isdir, names))  # which is not upset by links that lead in a circle
