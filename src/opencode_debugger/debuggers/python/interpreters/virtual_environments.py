"""Virtual environments and conda prefixes: their interpreter, and what activating them sets. Folders for imports."""

from __future__ import annotations

import os
from typing import NoReturn

from ....errors import invalid_parameter

INTERPRETERS = ("bin/python", "bin/python3")
ACTIVATED = ("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONHOME")
"""Variables of whatever the relay itself was started in; not true of another environment."""


def find_environment(path: str, folder: str) -> str:
    """Return the absolute path of a venv or conda prefix in which there is a Python."""
    found = os.path.normpath(os.path.join(folder, os.path.expanduser(path)))
    if os.path.isfile(found):
        folder, name = os.path.split(found)
        is_python = os.path.basename(folder) == "bin" and name.startswith("python")
        instead = f"Use venv {os.path.dirname(folder)}, or give this file as python_path"
        advice = instead if is_python else "Give the folder that python3 -m venv has made"
        _refuse_venv(path, f"venv {found!r} is a file, not a folder", advice)
    if not os.path.isdir(found):
        _refuse_venv(path, f"venv {found!r} is not an existing folder", "Make it with: python3 -m venv FOLDER")
    if interpreter_in(found) is None:
        inner = next((name for name in (".venv", "venv") if interpreter_in(os.path.join(found, name))), None)
        advice = f"Use {os.path.join(found, inner)}" if inner else "Give the folder that has bin/python in it"
        _refuse_venv(path, f"venv {found!r} has no Python in it: there is no bin/python that can be executed", advice)
    return found


def interpreter_of(environment: str) -> str:
    """Return the Python of a folder that was found before; if it is gone since, launching says so."""
    return interpreter_in(environment) or os.path.join(environment, INTERPRETERS[0])


def interpreter_in(environment: str) -> str | None:
    candidates = (os.path.join(environment, name) for name in INTERPRETERS)
    return next((path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def activation(environment: str, path: str) -> dict[str, str]:
    """Return variables as `activate` sets them, PATH in front of the given one."""
    variables = {"PATH": os.pathsep.join(filter(None, (os.path.join(environment, "bin"), path)))}
    name = os.path.basename(environment)
    if os.path.isdir(os.path.join(environment, "conda-meta")):
        variables |= {"CONDA_PREFIX": environment, "CONDA_DEFAULT_ENV": name}
    elif os.path.isfile(os.path.join(environment, "pyvenv.cfg")):
        variables |= {"VIRTUAL_ENV": environment, "VIRTUAL_ENV_PROMPT": name}
    return variables


def import_paths(entries: list[str], folder: str) -> list[str]:
    """Return absolute paths of folders or archives to import from."""
    found = [os.path.normpath(os.path.join(folder, os.path.expanduser(entry))) for entry in entries]
    for index, path in enumerate(found):
        if not os.path.exists(path):
            message, advice = f"pythonpath {path!r} does not exist", "Create it, or leave it out"
        elif os.pathsep in path:
            message, advice = f"pythonpath {path!r} contains {os.pathsep!r}", "PYTHONPATH cannot express it: rename it"
        else:
            continue
        raise invalid_parameter(f"pythonpath[{index}]", entries[index], message, advice)
    return found


def _refuse_venv(path: str, message: str, suggestion: str) -> NoReturn:
    raise invalid_parameter("venv", path, message[:1000], suggestion)
