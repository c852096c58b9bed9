"""Named sets of breakpoints: one file each, usable in every session, also in another checkout of the project."""

import logging
import os
import threading
from pathlib import Path
from typing import Any

import msgspec

from opencode_debugger.errors import RelayError, not_written
from opencode_debugger.files import UNREADABLE, delete_file, read_file, read_json, write_json
from opencode_debugger.timestamps import current_time

from .breakpoint_store import Definition, Source

log = logging.getLogger(__name__)

VERSION = 1


class ExceptionDefinition(msgspec.Struct):
    filters: list[str]
    exceptions: list[str] = []
    condition: str | None = None


class Profile(msgspec.Struct):
    """Paths inside of the project are relative to its root."""

    name: str
    breakpoints: list[Definition]
    exception_breakpoints: list[ExceptionDefinition] = []
    project_root: str | None = None
    """of whom it was saved; to read, not to use"""
    saved_at: str = ""
    version: int = VERSION


class ProfileStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()

    def path_of(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def names(self) -> list[str]:
        try:
            stems = (path.stem for path in self.folder.glob("*.json"))
            return sorted(stem for stem in stems if stem.isascii() and not stem.startswith("."))
        except OSError:
            return []

    def load(self, name: str) -> Profile:
        path = self.path_of(name)
        try:
            return _check_content(msgspec.json.decode(read_file(path)), name)
        except FileNotFoundError:
            raise RelayError("PROFILE_NOT_FOUND", f"Profile '{name}' not found", profile=name) from None
        except UNREADABLE as error:
            why = f"is damaged: {str(error)[:200]}"
            log.warning("profile %s %s", path, why)
            raise RelayError("PROFILE_UNREADABLE", f"Profile '{name}' {why}", profile=name, file=str(path)) from None

    def save(self, profile: Profile, replace: bool) -> Profile:
        """Save a profile. What a newer version wrote is not ours to replace; what is damaged is set aside."""
        path = self.path_of(profile.name)
        profile.saved_at = current_time()
        with self._lock:
            if path.exists() and not replace:
                raise RelayError("PROFILE_EXISTS", f"There is a profile '{profile.name}' already", profile=profile.name)
            try:
                if path.exists():
                    read_json(path, None, lambda data: _check_content(data, profile.name))
                write_json(path, profile)
            except (OSError, UnicodeEncodeError) as error:
                raise not_written(path, error, "so the profile was not saved") from error
        return profile

    def delete(self, name: str) -> None:
        with self._lock:
            path = self.path_of(name)
            if not path.exists():
                raise RelayError("PROFILE_NOT_FOUND", f"Profile '{name}' not found", profile=name)
            try:
                delete_file(path)
            except OSError as error:
                raise not_written(path, error, "so the profile is still there") from error


def _check_content(data: Any, name: str) -> Profile:
    if data["version"] > VERSION:
        message = f"Profile '{name}' was written by a newer version of the relay"
        raise RelayError("PROFILE_UNREADABLE", message, profile=name)
    profile = msgspec.convert({**data, "name": name}, Profile)
    for definition in profile.breakpoints:
        definition.key  # noqa: B018  # raises for one that has no place
    return profile


def relative_to_root(definition: Definition, root: str | None) -> Definition:
    """Return a path as it is kept: relative to the root, if it is inside."""
    if root is None or definition.source is None or not os.path.isabs(definition.source.path):
        return definition
    path = definition.source.path
    for known in (root, os.path.realpath(root)):
        if path.startswith(known.rstrip(os.sep) + os.sep):
            return msgspec.structs.replace(definition, source=Source(os.path.relpath(path, known)))
    return definition
