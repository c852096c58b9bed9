"""What a new session is asked about before it is made."""

from __future__ import annotations

import os
import shutil

from ..errors import invalid_parameter


def existing_folder(root: str) -> str:
    path = os.path.abspath(os.path.expanduser(root))
    if not os.path.isabs(os.path.expanduser(root)) or not os.path.isdir(path):
        raise invalid_parameter(
            "project_root",
            root,
            f"project_root {root[:200]!r} is not the absolute path of an existing folder",
            "Give the absolute path of the project's folder, or leave project_root out",
        )
    return path


def check_interpreter(path: str | None) -> None:
    if path is not None and shutil.which(os.path.expanduser(path)) is None:
        raise invalid_parameter(
            "python_path",
            path,
            f"python_path {path[:200]!r} is not an executable file",
            "Give the path of a Python interpreter, such as /usr/bin/python3 or PROJECT/.venv/bin/python",
        )
