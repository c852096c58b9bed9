"""Breakpoints per project: saved on every change, there again in the next session for that project."""

import hashlib
import logging
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from opencode_debugger.files import delete_file, read_json, write_json

log = logging.getLogger(__name__)

VERSION = 1

Key = tuple[str, int | str] | str
Items = Iterable[dict[str, Any]]


class Source(msgspec.Struct):
    path: str


class Definition(msgspec.Struct):
    """One breakpoint as a client sets it: by source and line, or by function; then the source is where it counts."""

    source: Source | None = None
    line: int | None = None
    function: str | None = None
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None
    enabled: bool = True

    @property
    def key(self) -> Key:
        if self.function is not None:
            return self.function if self.source is None else (self.source.path, self.function)
        if self.source is None or self.line is None:
            raise ValueError("a breakpoint needs source.path and line, or function")
        return self.source.path, self.line


class Saved(Definition):
    """One that a session has set."""

    content: dict[str, Any] | None = None
    """what the session knows of its line, to find it again"""


Definitions = dict[Key, Saved]


class BreakpointStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()

    def load(self, project_root: str | Path) -> list[dict[str, Any]]:
        """The project's breakpoints, oldest first, in the form in which they are set."""
        with self._lock:
            try:
                found = self._read_definitions(os.path.realpath(project_root)) or {}
            except OSError as error:
                log.warning("breakpoints of %r could not be read: %s", str(project_root), error)
                found = {}
        return [msgspec.to_builtins(definition) for definition in found.values()]

    def changed_at(self, project_root: str | Path) -> float | None:
        """When they were last changed; None if there are none."""
        try:
            return self.path_of(project_root).stat().st_mtime
        except OSError:
            return None

    def change(self, project_root: str | Path, changed: Items, gone: Items) -> str | None:
        """Remove some, then add others or replace those at the same place; says why, if that could not be saved.

        Keys that are no part of a definition are left out."""
        added, removed, root = _by_key(changed), _by_key(gone), os.path.realpath(project_root)
        with self._lock:
            try:
                before = self._read_definitions(root)
            except OSError as error:
                return str(error)
            if before is None:
                return f"{self.path_of(root)} was written by a newer version"
            after = {key: known for key, known in before.items() if key in added or key not in removed} | added
            return self._save_definitions(root, after) if after != before else None

    def path_of(self, project_root: str | Path) -> Path:
        digest = hashlib.sha256(os.path.realpath(project_root).encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / f"{digest[:16]}.json"

    def _read_definitions(self, root: str) -> Definitions | None:
        """None: a newer version of the relay wrote the file, which is then not ours to change."""
        path = self.path_of(root)
        nothing: Definitions | None = {}
        found = read_json(path, nothing, _check_content)
        if found is None:
            log.warning("%s was written by a newer version: its breakpoints are neither restored nor changed", path)
        return found

    def _save_definitions(self, root: str, definitions: Definitions) -> str | None:
        """A disk that refuses is told; the session's breakpoints work all the same."""
        path = self.path_of(root)
        shown = root.encode("utf-8", "backslashreplace").decode()  # paths need not be UTF-8, JSON must be
        content = {"version": VERSION, "project_root": shown, "breakpoints": list(definitions.values())}
        try:
            if definitions:
                write_json(path, content)
            else:
                delete_file(path)
        except (OSError, UnicodeEncodeError) as error:
            log.warning("breakpoints of %r could not be saved: %s", root, error)
            return str(error)
        return None


def _by_key(definitions: Items) -> Definitions:
    return {definition.key: definition for definition in msgspec.convert(list(definitions), list[Saved])}


def _check_content(data: Any) -> Definitions | None:
    return None if data["version"] > VERSION else _by_key(data["breakpoints"])
