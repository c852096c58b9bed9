"""What of a session can be taken elsewhere: its configuration, its launch, and parts such as its breakpoints."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..files import is_inside
from .settings import Config

Place = Callable[[str], str]
"""how a path is written down"""


@dataclass(frozen=True)
class Part:
    """Something that goes along when a session is cloned or exported, as plain JSON."""

    take: Callable[[Place], Any]
    give: Callable[[Any], Awaitable[list[str]]]
    """sets it in a new session; says what could not be taken over, raises for what makes no sense"""


Parts = dict[str, Part]


def relative_to(root: str | None) -> Place:
    """Paths inside of the root without it, so that another root can take its place."""

    def place(path: str) -> str:
        for base, whole in ((root, path), (os.path.realpath(root or ""), os.path.realpath(path))):
            if root and base and is_inside(whole, base):
                return os.path.relpath(whole, base)
        return path

    return place


def collect(
    config: Config, launch: dict[str, Any] | None, parts: Parts, include_env: bool, relative: bool
) -> dict[str, Any]:
    place = relative_to(config.project_root) if relative else str
    return {
        "name": config.name,
        "config": {
            "project_root": config.project_root,
            "python_path": _interpreter(config.python_path, place),
            "venv": place(config.venv) if config.venv else None,
            "pythonpath": [place(path) for path in config.pythonpath],
            "timeout_minutes": round(config.timeout_seconds / 60) if config.timeout_seconds else None,
            "stop_on_entry": config.stop_on_entry,
            "stop_scope": config.stop_scope,
            "adapter": config.adapter,
        },
        "launch": _launch(launch, config, place, include_env) if launch is not None else None,
        **{name: part.take(place) for name, part in parts.items()},
    }


def _launch(wishes: dict[str, Any], config: Config, place: Place, include_env: bool) -> dict[str, Any]:
    """The same launch, whatever folder it is asked for in."""
    folder = os.path.normpath(os.path.join(config.project_root or os.getcwd(), wishes.get("cwd") or ""))

    def from_folder(path: str) -> str:
        return place(os.path.normpath(os.path.join(folder, os.path.expanduser(path))))

    shown = dict(wishes)
    for name in ("script", "program", "core", "venv"):
        if shown.get(name):
            shown[name] = from_folder(shown[name])
    if shown.get("cwd"):
        shown["cwd"] = place(folder)
    if shown.get("python_path"):
        shown["python_path"] = _interpreter(shown["python_path"], place)
    if shown.get("pythonpath"):
        shown["pythonpath"] = [from_folder(path) for path in shown["pythonpath"]]
    if not include_env:
        shown["env"] = dict.fromkeys(shown.get("env") or {})
    return shown


def _interpreter(path: str | None, place: Place) -> str | None:
    """A bare name is looked for on PATH, wherever it is."""
    if path is None or os.sep not in path:
        return path
    placed = place(os.path.abspath(os.path.expanduser(path)))
    return placed if os.sep in placed else os.path.join(os.curdir, placed)


async def take_over(parts: Parts, given: dict[str, Any]) -> list[str]:
    """Sets what came from another session. Says what could not be taken over."""
    warnings: list[str] = []
    for name, value in given.items():
        if name in parts:
            warnings += await parts[name].give(value)
        elif value:
            warnings.append(f"{name} cannot be taken over: this relay does not know them")
    return warnings
