"""Checks the options of a session before it is made."""

import os
from typing import Any

from ..debuggers.python.interpreters.virtual_environments import find_environment, import_paths
from ..errors import invalid_parameter
from ..files import find_executable

NO_ROOT = "Give the absolute path of the project's folder, or leave project_root out"


def existing_folder(root: str, suggestion: str = NO_ROOT, name: str = "project_root") -> str:
    path = os.path.abspath(os.path.expanduser(root))
    if not os.path.isabs(os.path.expanduser(root)) or not os.path.isdir(path):
        message = f"{name} {root[:200]!r} is not the absolute path of an existing folder"
        raise invalid_parameter(name, root, message, suggestion)
    return path


def check_interpreter(path: str | None, name: str = "python_path") -> None:
    if path is not None and ("\0" in path or find_executable(os.path.expanduser(path)) is None):
        suggestion = "Give the path of a Python interpreter, such as /usr/bin/python3 or PROJECT/.venv/bin/python"
        raise invalid_parameter(name, path, f"{name} {path[:200]!r} is not an executable file", suggestion)


def checked_options(options: dict[str, Any], root: str | None) -> dict[str, Any]:
    """Return the options of a new or changed session with absolute paths; relative ones mean the project."""
    checked = dict(options)
    if options.get("project_root") is not None:
        checked["project_root"] = root = existing_folder(options["project_root"])
    check_interpreter(options.get("python_path"))
    if (venv := options.get("venv")) is not None:
        _check_rooted("venv", [venv], root)
        checked["venv"] = find_environment(venv, root or "/")
    if (paths := options.get("pythonpath")) is not None:
        _check_rooted("pythonpath", paths, root)
        checked["pythonpath"] = import_paths(paths, root or "/")
    if "timeout_minutes" in checked:
        checked["timeout_seconds"] = checked.pop("timeout_minutes") * 60
    return checked


def _check_rooted(name: str, paths: list[str], root: str | None) -> None:
    """Refuse relative paths of a session without a project."""
    relative = [path for path in paths if not os.path.isabs(os.path.expanduser(path))]
    if root is None and relative:
        message = f"{name} {relative[0][:200]!r} is relative, and the session has no project_root"
        raise invalid_parameter(name, relative[0], message, "Give an absolute path, or a project_root as well")
