"""The relay's settings while it runs: where each came from, which may change, and how changes last."""

from __future__ import annotations

import threading
from typing import Any

from ..config import AT_ONCE, CHANGEABLE, PREFIX, Settings, allowed_values, check_object, default_of, shown_value
from ..errors import not_written
from ..files import read_json, write_json
from .checks import check_interpreter

RUN_TIME = "run time"


class Configuration:
    def __init__(self, settings: Settings, sources: dict[str, str]) -> None:
        self.settings = settings
        self._at_start = sources
        self._sources = dict(sources)
        self._file = settings.data_dir / "config.json"
        self._lock = threading.Lock()

    def shown(self) -> dict[str, Any]:
        return {
            "settings": {name: self._described(name) for name in Settings.model_fields},
            "config_file": str(self._file),
        }

    def _described(self, name: str) -> dict[str, Any]:
        return {
            "value": shown_value(getattr(self.settings, name)),
            "default": default_of(name),
            "source": self._sources.get(name, "default"),
            "changeable": name in CHANGEABLE,
            "applies": applies(name),
            "takes": allowed_values(name),
            "variable": PREFIX + name.upper(),
            "description": Settings.model_fields[name].description,
        }

    def change(self, changes: dict[str, Any], persist: bool) -> dict[str, Any]:
        """All of them or none: written first, if they are to last, then in force."""
        check_interpreter(changes.get("default_python_path"), "default_python_path")
        with self._lock:
            if persist:
                self._write(changes)
            self.settings = self.settings.model_copy(update=changes)
            warnings = [self._wins(name) for name in changes if persist and self._is_overridden(name)]
            self._sources |= dict.fromkeys(changes, RUN_TIME)
        return {**self.shown(), "changed": sorted(changes), "persisted": persist, "warnings": warnings}

    def _write(self, changes: dict[str, Any]) -> None:
        """Next to whatever else the file has."""
        nothing: dict[str, Any] = {}
        try:
            write_json(self._file, {**read_json(self._file, nothing, check_object), **changes})
        except (OSError, UnicodeEncodeError) as error:
            failure = not_written(self._file, error, "so nothing was changed")
            failure.details["suggestion"] = "Make the data folder writable and free some space, or leave out persist"
            raise failure from error

    def _is_overridden(self, name: str) -> bool:
        """At the next start, by a source that comes before the file."""
        return self._at_start.get(name) not in (None, "config.json")

    def _wins(self, name: str) -> str:
        return f"{name} is also set by the {self._at_start[name]}, which wins over config.json at the next start"


def applies(name: str) -> str:
    if name not in CHANGEABLE:
        return "after a restart"
    return "at once" if name in AT_ONCE else "to new sessions"
