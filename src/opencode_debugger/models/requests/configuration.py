"""Requests that change the relay's settings, or end it."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from ...config import CHANGEABLE, LogLevel, Settings, lower_case
from ...default_settings import PREFIX
from ..fields import preset
from .base import RequestModel


def setting_field(name: str) -> Any:
    """The same rules and words as at start."""
    field = Settings.model_fields[name]
    rules = {
        key: getattr(item, key) for item in field.metadata for key in ("ge", "le", "min_length") if hasattr(item, key)
    }
    return Field(None, description=field.description, **rules)


class UpdateConfigRequest(RequestModel, json_schema_extra={"examples": [{"log_level": "debug", "max_sessions": 20}]}):
    log_level: Annotated[LogLevel | None, BeforeValidator(lower_case)] = setting_field("log_level")
    max_sessions: int | None = setting_field("max_sessions")
    session_timeout_seconds: int | None = setting_field("session_timeout_seconds")
    session_max_lifetime_seconds: int | None = setting_field("session_max_lifetime_seconds")
    output_buffer_max_bytes: int | None = setting_field("output_buffer_max_bytes")
    event_log_max: int | None = setting_field("event_log_max")
    timeline_max_bytes: int | None = setting_field("timeline_max_bytes")
    wheel_idle_seconds: float | None = setting_field("wheel_idle_seconds")
    dap_timeout_seconds: float | None = setting_field("dap_timeout_seconds")
    dap_launch_timeout_seconds: float | None = setting_field("dap_launch_timeout_seconds")
    evaluate_timeout_seconds: float | None = setting_field("evaluate_timeout_seconds")
    default_python_path: str | None = setting_field("default_python_path")
    stop_budget_chars: int | None = setting_field("stop_budget_chars")
    spare_runners: int | None = setting_field("spare_runners")
    persist: bool = preset(False, "Write the changes to config.json, so that they last beyond a restart.")

    refused: ClassVar[dict[str, str]] = {
        name: f"This needs a restart: set {PREFIX}{name.upper()} and start the relay again"
        for name in Settings.model_fields
        if name not in CHANGEABLE
    }
    """settings that cannot be changed here, and how they can"""

    def params(self) -> dict[str, object]:
        return {"changes": self.model_dump(exclude_none=True, exclude={"persist"}), "persist": self.persist}


class ShutdownRequest(RequestModel, json_schema_extra={"examples": [{"keep_sessions": True}]}):
    keep_sessions: bool = preset(
        False, "Leave the sessions and their programs running: the next relay finds them again.")
    timeout: float = preset(
        15, "Seconds that programs have to end by themselves; after that they are killed.", ge=0, le=300)
