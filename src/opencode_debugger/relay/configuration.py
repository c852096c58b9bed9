"""The relay's settings while it runs: where each came from, which may change, and how changes last."""

import threading
from typing import Any

from ..answers import server as answers
from ..config import AT_ONCE, CHANGEABLE, Settings, allowed_values, check_object, default_of, shown_value
from ..default_settings import PREFIX
from ..errors import not_written
from ..files import read_json, write_json
from .option_checks import check_interpreter

RUN_TIME = "run time"


class Configuration:
    def __init__(self, settings: Settings, sources: dict[str, str]) -> None:
        self.settings = settings
        self._at_start = sources
        self._sources = dict(sources)
        self._file = settings.data_dir / "config.json"
        self._lock = threading.Lock()

    def all_settings(self) -> answers.Configuration:
        settings = {name: self._describe_setting(name) for name in Settings.model_fields}
        return answers.Configuration(settings=settings, config_file=str(self._file))

    def _describe_setting(self, name: str) -> answers.Setting:
        return answers.Setting(
            value=shown_value(getattr(self.settings, name)), default=default_of(name),
            source=self._sources.get(name, "default"), changeable=name in CHANGEABLE,
            applies="at once" if name in AT_ONCE else "to new sessions" if name in CHANGEABLE else "after a restart",
            takes=allowed_values(name), variable=PREFIX + name.upper(),
            description=Settings.model_fields[name].description,
        )

    def change_settings(self, changes: dict[str, Any], persist: bool) -> answers.ConfigurationChanged:
        """All of them or none: written first, if they are to last, then in force."""
        check_interpreter(changes.get("default_python_path"), "default_python_path")
        with self._lock:
            if persist:
                self._write_changes(changes)
            self.settings = self.settings.model_copy(update=changes)
            also = [name for name in changes if persist and self._at_start.get(name) not in (None, "config.json")]
            wins = "which wins over config.json at the next start"
            warnings = [f"{name} is also set by the {self._at_start[name]}, {wins}" for name in also]
            self._sources |= dict.fromkeys(changes, RUN_TIME)
        now = self.all_settings()
        return answers.ConfigurationChanged(
            settings=now.settings, config_file=now.config_file, changed=sorted(changes), persisted=persist,
            warnings=warnings,
        )

    def _write_changes(self, changes: dict[str, Any]) -> None:
        """Next to whatever else the file has."""
        nothing: dict[str, Any] = {}
        try:
            write_json(self._file, {**read_json(self._file, nothing, check_object), **changes})
        except (OSError, UnicodeEncodeError) as error:
            failure = not_written(self._file, error, "so nothing was changed")
            failure.details["suggestion"] = "Make the data folder writable and free some space, or leave out persist"
            raise failure from error
