"""Finds the environment that belongs to a project. It only looks at files: nothing is run."""

from __future__ import annotations

import base64
import glob
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....files import read_source
from .virtual_environments import interpreter_in

FOLDERS = (".venv", "venv", "env")
MOST_FOLDERS = 30
"""Depth in which a project may lie."""
POETRY_UNSAFE = re.compile(r'[ $`!*@"\\\r\n\t]')
PIPENV_UNSAFE = re.compile(r'[ &$`!*@"()\[\]\\\r\n\t]')
"""Characters that they leave out of the names of environments."""


class PyProject(NamedTuple):
    """Tables of a pyproject.toml: empty if they are missing, or no tables."""

    project: dict[str, Any]
    tool: dict[str, Any]


@dataclass(frozen=True)
class Found:
    path: str
    why: str
    """where it was found, such as: .venv in /home/dev/shop"""


def find_all(folder: str | None) -> list[Found]:
    """Return the environments of the project at that folder, the one to use first."""
    places = _folders_upwards(folder) if folder else ()
    candidates = [Found(path, f"{why} {place}") for place in places for path, why in _candidates(place)]
    activated = os.environ.get("VIRTUAL_ENV")  # in the terminal in which the relay was started
    if activated and os.path.isabs(activated):
        candidates.append(Found(activated, "VIRTUAL_ENV in the environment of the relay"))
    found: dict[str, Found] = {}
    for each in candidates:
        if _is_environment(each.path):
            found.setdefault(os.path.realpath(each.path), each)
    return list(found.values())


def has_module(environment: str, module: str) -> bool:
    """Tell whether it is installed there, as far as the names of files tell."""
    name = glob.escape(module.partition(".")[0])
    places = os.path.join(glob.escape(environment), "lib", "python*", "site-packages")
    return any(glob.glob(os.path.join(places, name + ending)) for ending in ("", ".py", ".*.so"))


def _folders_upwards(folder: str) -> Iterator[str]:
    """Go through the project's folder, and those above it in which nobody else can write than may write there as well.

    The search ends with the repository, and before the home folder: what lies there is of no project."""
    home = os.path.realpath(os.path.expanduser("~"))
    trusted = {0, os.getuid()}
    for count in range(MOST_FOLDERS):
        try:
            status = os.stat(folder)
        except OSError:
            return
        if count == 0:
            trusted.add(status.st_uid)
        elif status.st_uid not in trusted or status.st_mode & 0o002 or os.path.realpath(folder) == home:
            return
        yield folder
        above = os.path.dirname(folder)
        if os.path.exists(os.path.join(folder, ".git")) or above in (folder, "/"):
            return
        folder = above


def _candidates(place: str) -> Iterator[tuple[str, str]]:
    pyproject = _read_toml(os.path.join(place, "pyproject.toml"))
    tools = pyproject.tool if pyproject is not None else {}
    is_uv = os.path.exists(os.path.join(place, "uv.lock")) or "uv" in tools
    if is_uv and (chosen := os.environ.get("UV_PROJECT_ENVIRONMENT")):
        yield os.path.normpath(os.path.join(place, chosen)), "UV_PROJECT_ENVIRONMENT of the uv project"
    for name in FOLDERS:
        yield os.path.join(place, name), f"{name} in"
    if pyproject is not None and ("poetry" in tools or os.path.exists(os.path.join(place, "poetry.lock"))):
        for path in _of_poetry(place, pyproject):
            yield path, "the environment of the poetry project"
    pipfile = os.path.join(place, "Pipfile")
    if os.path.exists(pipfile):
        for path in _of_pipenv(place, pipfile):
            yield path, "the environment of the pipenv project"


def _of_poetry(place: str, pyproject: PyProject) -> list[str]:
    """Return what poetry keeps: a folder named after the package and a hash of the project's path."""
    tables = [table for table in (pyproject.project, pyproject.tool.get("poetry")) if isinstance(table, dict)]
    name = next((table["name"] for table in tables if isinstance(table.get("name"), str)), None)
    if name is None:
        return []
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cache = os.environ.get("POETRY_CACHE_DIR") or os.path.join(caches, "pypoetry")
    folder = os.environ.get("POETRY_VIRTUALENVS_PATH") or os.path.join(cache, "virtualenvs")
    named = _folder_name(POETRY_UNSAFE, name.lower(), os.path.realpath(place))
    return _newest_first(os.path.join(glob.escape(folder), glob.escape(named) + "-py*"))


def _of_pipenv(place: str, pipfile: str) -> list[str]:
    """Return what pipenv keeps: a folder named after the project's and a hash of the Pipfile's path."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    folder = os.path.expanduser(os.environ.get("WORKON_HOME") or os.path.join(data, "virtualenvs"))
    named = _folder_name(PIPENV_UNSAFE, os.path.basename(place), pipfile)
    return _newest_first(os.path.join(glob.escape(folder), glob.escape(named) + "*"))


def _folder_name(unsafe: re.Pattern[str], name: str, path: str) -> str:
    import hashlib  # here, because it brings OpenSSL along, which few sessions need

    digest = hashlib.sha256(os.fsencode(path)).digest()
    return f"{unsafe.sub('_', name)[:42]}-{base64.urlsafe_b64encode(digest).decode()[:8]}"


def _newest_first(pattern: str) -> list[str]:
    return sorted(filter(os.path.isdir, glob.glob(pattern)), key=os.path.getmtime, reverse=True)


def _is_environment(path: str) -> bool:
    """Tell whether it is one, and does not only happen to have a bin/python."""
    is_made = any(os.path.exists(os.path.join(path, name)) for name in ("pyvenv.cfg", "conda-meta"))
    return is_made and interpreter_in(path) is not None


def _read_toml(path: str) -> PyProject | None:
    import tomllib  # here, to keep runners small

    with suppress(OSError, ValueError, RecursionError):
        found = tomllib.loads(read_source(path).decode())
        tables = (found.get(name) for name in ("project", "tool"))
        return PyProject(*(table if isinstance(table, dict) else {} for table in tables))
    return None
