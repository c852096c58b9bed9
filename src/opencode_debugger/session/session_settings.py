"""The settings of a session: how it is made, what can be changed, and what can be taken elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..answers.documents import ExportedConfig
from ..debuggers.python.interpreters.virtual_environments import interpreter_of
from ..default_settings import Limits
from ..errors import RelayError
from ..files import is_inside
from ..operations.advice import advice
from ..operations.states import State

if TYPE_CHECKING:
    from .session import Session

ANY_TIME = ("name", "timeout_seconds", "stop_on_entry")
"""Settings that can be changed while the program runs."""
Place = Callable[[str], str]
"""Writes a path down, relative to a root or as it is."""
Wishes = dict[str, Any] | None
"""what was asked for with a launch, if there was one"""


@dataclass
class Config:
    session_id: str
    name: str
    project_root: str | None = None
    python_path: str | None = None
    venv: str | None = None
    pythonpath: list[str] = field(default_factory=list)
    timeout_seconds: float | None = None
    stop_on_entry: bool = False
    stop_scope: str = "all"
    adapter: str | None = None
    """debugpy, gdb, lldb or ez; by the program if nothing is said"""
    breakpoints: list[dict[str, Any]] = field(default_factory=list)
    """breakpoints of earlier sessions to restore"""
    breakpoints_changed_at: float | None = None
    """time of the last change to those"""
    saves_breakpoints: bool = True
    """whether the relay saves its breakpoints for the project"""
    launch: dict[str, Any] | None = None
    """the launch to repeat when one names no program"""
    parts: dict[str, Any] | None = None
    """parts of another session that are taken over: see Session.restore_parts"""
    environment: dict[str, str] | None = None
    """the client's, if it has sent it: the session's process has taken it over"""
    limits: Limits = field(default_factory=Limits)
    folder: str = ""
    """the session's own folder, for sockets that nobody else may reach"""

    @property
    def interpreter(self) -> str:
        if self.python_path or self.venv is None:
            return self.python_path or self.limits.default_python_path
        return interpreter_of(self.venv)

    @property
    def asks_early(self) -> bool:
        """Tell whether the interpreter is asked who it is before a launch: importing a document runs nothing."""
        return self.parts is None or not (self.python_path or self.venv)


async def apply_changes(session: Session, changes: dict[str, Any]) -> None:
    """Apply all of them or none."""
    early = [name for name in changes if name not in ANY_TIME]
    _require_created(session.state, early)
    config, placement = session.config, session.placement
    interpreter = config.interpreter
    changed = Config(**{**vars(config), **_with_one_python(changes)})
    if changed.interpreter != interpreter:
        await session.adapter.check_interpreter(changed.interpreter)
        _require_created(session.state, early)
    for name in _with_one_python(changes):
        setattr(config, name, getattr(changed, name))
    session.lifetime.timeout = config.timeout_seconds or session.lifetime.timeout
    if "project_root" in changes:
        placement.use_project_root(changed.project_root)
        session.path_spelling.learn_folder(changed.project_root)
    if changed.interpreter != interpreter:
        session.adapter.use_interpreter(changed.interpreter)
        await placement.examine_again()


def _require_created(state: State, names: list[str]) -> None:
    if names and state is not State.CREATED:
        message = f"Cannot change {' and '.join(names)}: the program of this session has been started"
        states: dict[str, Any] = {"current_state": str(state), "required_state": str(State.CREATED)}
        suggestion = advice("{clone_session} makes a session like this one: change that before you launch it")
        raise RelayError("INVALID_SESSION_STATE", message, fields=names, suggestion=suggestion, **states)


def _with_one_python(changes: dict[str, Any]) -> dict[str, Any]:
    """Let an interpreter take the place of a venv, and the other way round."""
    if "python_path" in changes:
        return {**changes, "venv": None}
    return {**changes, "python_path": None} if "venv" in changes else changes


def relative_to(root: str | None) -> Place:
    """Write paths inside of the root without it, so that another root can take its place."""

    def place(path: str) -> str:
        for base, whole in ((root, path), (os.path.realpath(root or ""), os.path.realpath(path))):
            if root and base and is_inside(whole, base):
                return os.path.relpath(whole, base)
        return path

    return place


def export_config(config: Config, place: Place) -> ExportedConfig:
    return ExportedConfig(
        project_root=config.project_root, stop_on_entry=config.stop_on_entry, stop_scope=config.stop_scope,
        adapter=config.adapter, python_path=_export_interpreter(config.python_path, place),
        venv=place(config.venv) if config.venv else None, pythonpath=[place(path) for path in config.pythonpath],
        timeout_minutes=round(config.timeout_seconds / 60) if config.timeout_seconds else None,
    )


def export_launch(wishes: Wishes, config: Config, place: Place, include_env: bool) -> Wishes:
    """Describe the same launch for any folder that it is asked for in."""
    if wishes is None:
        return None
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
        shown["python_path"] = _export_interpreter(shown["python_path"], place)
    if shown.get("pythonpath"):
        shown["pythonpath"] = [from_folder(path) for path in shown["pythonpath"]]
    if not include_env:
        shown["env"] = dict.fromkeys(shown.get("env") or {})
    return shown


def _export_interpreter(path: str | None, place: Place) -> str | None:
    """Write the path of an interpreter. A bare name is looked for on PATH, wherever it is."""
    if path is None or os.sep not in path:
        return path
    placed = place(os.path.abspath(os.path.expanduser(path)))
    return placed if os.sep in placed else os.path.join(os.curdir, placed)
