"""Sessions as documents: what an export starts with, and what an import makes of the paths in it."""

from __future__ import annotations

import os
from typing import Any

from ..adapters.debugpy.environments import find_environment
from ..errors import RelayError
from ..files import find_executable, is_inside
from ..models.envelope import now
from ..models.portable import FORMAT, VERSION
from .checks import existing_folder

OWN = ("timeout_minutes", "stop_on_entry", "stop_scope", "adapter")
"""Of a session's configuration: what is the same on every machine."""


def document(exported: dict[str, Any]) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "exported_at": now(), **exported}


class Import:
    """A document on its way into this relay: every path made absolute, what is not here left out with a warning."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._map: list[tuple[str, str]] = sorted(given["path_map"].items(), key=lambda pair: -len(pair[0]))
        self.warnings: list[str] = []
        self.root = self._find_root(given["project_root"], given["config"].get("project_root"))
        self.options = self._options(given["config"]) | {"name": given["name"], "project_root": self.root}
        self.launch = self._launch(given["launch"]) if given["launch"] else None
        self.parts: dict[str, Any] = given["parts"]
        for index, bp in enumerate(self.parts["breakpoints"]):
            if bp.get("source"):
                bp["source"]["path"] = self._place(bp["source"]["path"], f"breakpoints[{index}].source.path")

    def _find_root(self, here: str | None, there: str | None) -> str | None:
        if here is None and there is not None:
            here = self._mapped(there)
        return (
            None if here is None else existing_folder(here, "The project is elsewhere here: say where in project_root")
        )

    def _mapped(self, path: str) -> str:
        for there, here in self._map:
            base = there.rstrip(os.sep)
            if path == base or path.startswith(base + os.sep):
                return here.rstrip(os.sep) + path[len(base) :]
        return path

    def _place(self, path: str, field: str) -> str:
        """Relative paths mean the project, and must not lead out of it."""
        if os.path.isabs(path):
            return os.path.normpath(self._mapped(os.path.normpath(path)))
        if self.root is None:
            raise _invalid(field, "Path must be absolute: the document has no project_root", path)
        placed = os.path.normpath(os.path.join(self.root, path))
        if not is_inside(placed, self.root):
            raise _invalid(field, "The path leads out of the project", path)
        return placed

    def _options(self, config: dict[str, Any]) -> dict[str, Any]:
        options = {name: config[name] for name in OWN if name in config}
        return options | self._interpreter(config, "config")

    def _interpreter(self, given: dict[str, Any], where: str) -> dict[str, Any]:
        """Interpreter, environment and folders to import from, as far as they exist here."""
        found: dict[str, Any] = {}
        if path := given.get("python_path"):
            placed = self._place(path, f"{where}.python_path") if os.sep in path else path
            if find_executable(placed) is not None:
                found["python_path"] = placed
            else:
                self.warnings.append(f"{where}.python_path {placed} does not exist here: left out")
        if path := given.get("venv"):
            placed = self._place(path, f"{where}.venv")
            try:
                found["venv"] = find_environment(placed, self.root or "/")
            except RelayError as error:
                self.warnings.append(f"{where}.venv was left out: {error.message}")
        placed_paths = [
            self._place(path, f"{where}.pythonpath[{index}]")
            for index, path in enumerate(given.get("pythonpath") or [])
        ]
        missing = [path for path in placed_paths if not os.path.exists(path)]
        self.warnings += [f"{where}.pythonpath {path} does not exist here: left out" for path in missing]
        if kept := [path for path in placed_paths if path not in missing]:
            found["pythonpath"] = kept
        return found

    def _launch(self, given: dict[str, Any]) -> dict[str, Any]:
        launch = {name: value for name, value in given.items() if name not in ("python_path", "venv", "pythonpath")}
        launch |= self._interpreter(given, "launch")
        for name in ("script", "program", "core", "cwd"):
            if name in launch:
                launch[name] = self._place(launch[name], f"launch.{name}")
                if not os.path.exists(launch[name]):
                    self.warnings.append(f"launch.{name} {launch[name]} does not exist here yet")
        unknown = [name for name, value in launch.get("env", {}).items() if value is None]
        if unknown:
            launch["env"] = {name: value for name, value in launch["env"].items() if value is not None}
            self.warnings.append(f"launch.env has no value for {', '.join(unknown)}: give it when you launch")
        return launch


def _invalid(field: str, message: str, value: str) -> RelayError:
    problem = {"field": field, "message": message, "value": value[:300]}
    suggestion = "Correct the path, or give project_root and path_map that fit this machine"
    return RelayError("INVALID_REQUEST", "Request validation failed", errors=[problem], suggestion=suggestion)
