"""The relay's settings as clients see and change them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field

from ..config import CHANGEABLE, PREFIX, LogLevel, Settings, lower
from .documented import Described, doc
from .requests import RequestModel


def setting(name: str) -> Any:
    """The same rules and words as at start."""
    field = Settings.model_fields[name]
    rules = {
        key: getattr(item, key) for item in field.metadata for key in ("ge", "le", "min_length") if hasattr(item, key)
    }
    return Field(None, description=field.description, **rules)


class UpdateConfigRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"log_level": "debug", "max_sessions": 20}]})

    log_level: Annotated[LogLevel | None, BeforeValidator(lower)] = setting("log_level")
    max_sessions: int | None = setting("max_sessions")
    session_timeout_seconds: int | None = setting("session_timeout_seconds")
    session_max_lifetime_seconds: int | None = setting("session_max_lifetime_seconds")
    output_buffer_max_bytes: int | None = setting("output_buffer_max_bytes")
    event_log_max: int | None = setting("event_log_max")
    dap_timeout_seconds: float | None = setting("dap_timeout_seconds")
    dap_launch_timeout_seconds: float | None = setting("dap_launch_timeout_seconds")
    evaluate_timeout_seconds: float | None = setting("evaluate_timeout_seconds")
    default_python_path: str | None = setting("default_python_path")
    stop_budget_chars: int | None = setting("stop_budget_chars")
    spare_runners: int | None = setting("spare_runners")
    persist: bool = Field(False, description="Write the changes to config.json, so that they last beyond a restart.")

    refused: ClassVar[dict[str, str]] = {
        name: f"This needs a restart: set {PREFIX}{name.upper()} and start the relay again"
        for name in Settings.model_fields
        if name not in CHANGEABLE
    }
    """settings that cannot be changed here, and how they can"""

    def changes(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True, exclude={"persist"})


class Setting(Described):
    value: Any = doc("What is in force.", "info", ...)
    default: Any = doc("What it is unless somebody says otherwise.", "info", ...)
    source: str = doc(
        "command line, environment, env file, .env, config.json, default, or run time.", "environment", ...
    )
    changeable: bool = doc("Whether PATCH /config can change it.", True, ...)
    applies: str = doc("at once, to new sessions, or after a restart.", "at once", ...)
    takes: str = doc("What is allowed.", "one of debug, info, warning, error, critical")
    variable: str = doc("Its environment variable.", "OPENCODE_DEBUG_LOG_LEVEL")
    description: str | None = doc("What it means.", "Least severe log message to write to stderr")


class Configuration(Described):
    settings: dict[str, Setting] = doc("Every setting by name.", None, ...)
    config_file: str = doc("Where changes are kept that are to last.", "/home/dev/.opencode-debugger/config.json", ...)


class ConfigurationChanged(Configuration):
    changed: list[str] = doc("What was changed.", ["log_level"], ...)
    persisted: bool = doc("Whether config.json has it now.", False, ...)
    warnings: list[str] = doc("What will be different at the next start.", [], ...)


class ShutdownRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"keep_sessions": True}]})

    keep_sessions: bool = Field(
        False, description="Leave the sessions and their programs running: the next relay finds them again."
    )
    timeout: float = Field(
        15, ge=0, le=300, description="Seconds that programs have to end by themselves; after that they are killed."
    )


class ShuttingDown(Described):
    shutting_down: bool = doc("Always true: the relay ends after this answer.", True, ...)
    keep_sessions: bool = doc("Whether the sessions go on.", False, ...)
    sessions: list[str] = doc("The sessions that end, or go on.", ["sess_a1b2c3d4"], ...)
