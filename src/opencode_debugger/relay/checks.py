"""What a new session is asked about before it is made."""

from __future__ import annotations

import os
import shutil

from ..errors import RelayError


def existing_folder(root: str) -> str:
    path = os.path.abspath(os.path.expanduser(root))
    if not os.path.isabs(os.path.expanduser(root)) or not os.path.isdir(path):
        raise RelayError(
            "INVALID_PARAMETER",
            f"project_root {root[:200]!r} is not the absolute path of an existing folder",
            field="project_root",
            value=root[:200],
            suggestion="Give the absolute path of the project's folder, or leave project_root out",
        )
    return path


def check_interpreter(path: str | None) -> None:
    if path is not None and shutil.which(os.path.expanduser(path)) is None:
        raise RelayError(
            "INVALID_PARAMETER",
            f"python_path {path[:200]!r} is not an executable file",
            field="python_path",
            value=path[:200],
            suggestion="Give the path of a Python interpreter, such as /usr/bin/python3 or PROJECT/.venv/bin/python",
        )
