"""What a new session is asked about before it is made."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..adapters.debugpy.environments import find_environment, import_paths
from ..errors import invalid_parameter
from ..files import find_executable

NO_ROOT = "Give the absolute path of the project's folder, or leave project_root out"


def existing_folder(root: str, suggestion: str = NO_ROOT) -> str:
    path = os.path.abspath(os.path.expanduser(root))
    if not os.path.isabs(os.path.expanduser(root)) or not os.path.isdir(path):
        raise invalid_parameter(
            "project_root",
            root,
            f"project_root {root[:200]!r} is not the absolute path of an existing folder",
            suggestion,
        )
    return path


def check_interpreter(path: str | None, name: str = "python_path") -> None:
    if path is not None and ("\0" in path or find_executable(os.path.expanduser(path)) is None):
        raise invalid_parameter(
            name,
            path,
            f"{name} {path[:200]!r} is not an executable file",
            "Give the path of a Python interpreter, such as /usr/bin/python3 or PROJECT/.venv/bin/python",
        )


def checked_options(options: dict[str, Any], root: str | None) -> dict[str, Any]:
    """What a session is made with or changed to, with absolute paths; relative ones mean the project."""
    checked = dict(options)
    if options.get("project_root") is not None:
        checked["project_root"] = root = existing_folder(options["project_root"])
    check_interpreter(options.get("python_path"))
    for name, find in (("venv", find_environment), ("pythonpath", import_paths)):
        if options.get(name) is not None:
            checked[name] = _in_project(name, find, options[name], root)
    if "timeout_minutes" in checked:
        checked["timeout_seconds"] = checked.pop("timeout_minutes") * 60
    return checked


def _in_project(name: str, find: Callable[[Any, str], Any], given: Any, root: str | None) -> Any:
    paths = [given] if isinstance(given, str) else given
    relative = [path for path in paths if not os.path.isabs(os.path.expanduser(path))]
    if root is None and relative:
        message = f"{name} {relative[0][:200]!r} is relative, and the session has no project_root"
        raise invalid_parameter(name, relative[0], message, "Give an absolute path, or a project_root as well")
    return find(given, root or "/")
