"""Sessions as documents: what an export starts with, and what an import makes of the paths in it."""

import os
from typing import Any, TypedDict

from ..debuggers.python.interpreters.virtual_environments import find_environment
from ..errors import RelayError
from ..files import find_executable, is_inside
from .option_checks import existing_folder

OWN = ("timeout_minutes", "stop_on_entry", "stop_scope", "adapter")
"""Of a session's configuration: what is the same on every machine."""


class InterpreterOptions(TypedDict, total=False):
    python_path: str
    venv: str
    pythonpath: list[str]


class ImportedDocument:
    """A document on its way into this relay: every path made absolute, what is not here left out with a warning."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._map: list[tuple[str, str]] = sorted(given["path_map"].items(), key=lambda pair: -len(pair[0]))
        self.warnings: list[str] = []
        config, here = given["config"], given["project_root"]
        if here is None and config.get("project_root") is not None:
            here = self._mapped_path(config["project_root"])
        suggestion = "The project is elsewhere here: say where in project_root"
        self.root = None if here is None else existing_folder(here, suggestion)
        self.options: dict[str, Any] = {"name": given["name"], "project_root": self.root}
        self.options |= {name: config[name] for name in OWN if name in config}
        self.options |= self._interpreter_options(config, "config")
        self.launch: dict[str, Any] | None = given["launch"]
        if self.launch:
            self._place_launch(self.launch)
        self.parts: dict[str, Any] = given["parts"]
        for index, bp in enumerate(self.parts["breakpoints"]):
            if bp.get("source"):
                bp["source"]["path"] = self._place_inside(bp["source"]["path"], f"breakpoints[{index}].source.path")

    def _mapped_path(self, path: str) -> str:
        for there, here in self._map:
            base = there.rstrip(os.sep)
            if path == base or path.startswith(base + os.sep):
                return here.rstrip(os.sep) + path[len(base) :]
        return path

    def _place_inside(self, path: str, field: str) -> str:
        """Relative paths mean the project, and must not lead out of it."""
        if os.path.isabs(path):
            return os.path.normpath(self._mapped_path(os.path.normpath(path)))
        if self.root is None:
            raise _invalid_document(field, "Path must be absolute: the document has no project_root", path)
        placed = os.path.normpath(os.path.join(self.root, path))
        if not is_inside(placed, self.root):
            raise _invalid_document(field, "The path leads out of the project", path)
        return placed

    def _interpreter_options(self, given: dict[str, Any], where: str) -> InterpreterOptions:
        """Interpreter, environment and folders to import from, as far as they exist here."""
        found: InterpreterOptions = {}
        if path := given.get("python_path"):
            placed = self._place_inside(path, f"{where}.python_path") if os.sep in path else path
            if find_executable(placed) is not None:
                found["python_path"] = placed
            else:
                self.warnings.append(f"{where}.python_path {placed} does not exist here: left out")
        if path := given.get("venv"):
            placed = self._place_inside(path, f"{where}.venv")
            try:
                found["venv"] = find_environment(placed, self.root or "/")
            except RelayError as error:
                self.warnings.append(f"{where}.venv was left out: {error.message}")
        paths = enumerate(given.get("pythonpath") or [])
        placed_paths = [self._place_inside(path, f"{where}.pythonpath[{index}]") for index, path in paths]
        missing = [path for path in placed_paths if not os.path.exists(path)]
        self.warnings += [f"{where}.pythonpath {path} does not exist here: left out" for path in missing]
        if kept := [path for path in placed_paths if path not in missing]:
            found["pythonpath"] = kept
        return found

    def _place_launch(self, launch: dict[str, Any]) -> None:
        found = self._interpreter_options(launch, "launch")
        for name in InterpreterOptions.__annotations__:
            launch.pop(name, None)
        launch |= found
        for name in ("script", "program", "core", "cwd"):
            if name in launch:
                launch[name] = self._place_inside(launch[name], f"launch.{name}")
                if not os.path.exists(launch[name]):
                    self.warnings.append(f"launch.{name} {launch[name]} does not exist here yet")
        unknown = [name for name, value in launch.get("env", {}).items() if value is None]
        if unknown:
            launch["env"] = {name: value for name, value in launch["env"].items() if value is not None}
            self.warnings.append(f"launch.env has no value for {', '.join(unknown)}: give it when you launch")


def _invalid_document(field: str, message: str, value: str) -> RelayError:
    problem = {"field": field, "message": message, "value": value[:300]}
    suggestion = "Correct the path, or give project_root and path_map that fit this machine"
    return RelayError("INVALID_REQUEST", "Request validation failed", errors=[problem], suggestion=suggestion)
