"""The settings: command line over environment over a file of variables over config.json over the defaults here."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import stat
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from opencode_debugger.files import read_json

log = logging.getLogger(__name__)

PREFIX = "OPENCODE_DEBUG_"
DEFAULT_DATA_DIR = Path("~/.opencode-debugger")
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s@?#]+")
YEAR = 365 * 24 * 3600
MIB = 1024 * 1024

LogLevel = Literal["debug", "info", "warning", "error", "critical"]
LogFormat = Literal["auto", "text", "json"]

RUNNER_FIELDS = (
    "output_buffer_max_bytes",
    "event_log_max",
    "dap_timeout_seconds",
    "dap_launch_timeout_seconds",
    "evaluate_timeout_seconds",
    "session_timeout_seconds",
    "session_max_lifetime_seconds",
    "default_python_path",
    "stop_budget_chars",
    "gdb_path",
    "lldb_path",
    "ez_path",
    "allow_other_users",
)


AT_ONCE = ("log_level", "max_sessions", "spare_runners")
CHANGEABLE = frozenset({*RUNNER_FIELDS, *AT_ONCE}) - {"gdb_path", "lldb_path", "ez_path", "allow_other_users"}
"""Settings that can be changed while the relay runs: those of runners for new sessions, the others at once. Which
program is let near others' processes, and who is let in, is for whoever starts the relay to say."""
CHOOSING_PROGRAMS = frozenset({"default_python_path"})
"""Those that say which program runs: for callers who may run programs."""

START_FILE = ".env"
"""In the folder where the relay is started, which may be anybody's."""
FROM_START_FILE = frozenset(
    {
        "log_level",
        "max_sessions",
        "session_timeout_seconds",
        "session_max_lifetime_seconds",
        "output_buffer_max_bytes",
        "event_log_max",
        "dap_timeout_seconds",
        "dap_launch_timeout_seconds",
        "evaluate_timeout_seconds",
        "stop_budget_chars",
        "spare_runners",
    }
)
"""What it may say: how much and how long. Who reaches the relay, which programs run and where data is kept is for
whoever starts the relay to say."""
MOST_VARIABLES = 64 * 1024
"""Bytes of a file of variables."""


def lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


class ConfigError(Exception):
    """A setting that cannot be used, said in one line."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        validate_default=True,
    )

    host: str = Field("127.0.0.1", min_length=1, pattern=r"^[^\s/]+$", description="Address to listen on")
    port: int = Field(5679, ge=1, le=65535, description="Port to listen on")
    uds: str = Field("", description="Unix socket to listen on, instead of an address and a port")
    data_dir: Path = Field(
        DEFAULT_DATA_DIR, description="Folder for breakpoints, sessions and config.json; not settable in config.json"
    )
    log_level: LogLevel = Field("info", description="Least severe log message to write to stderr")
    log_format: LogFormat = Field(
        "auto", description="How logs are written to stderr; auto: as text on a terminal, else as JSON"
    )
    max_sessions: int = Field(
        10, ge=1, le=1000, description="Most sessions at once whose program lives or has not started"
    )
    session_timeout_seconds: int = Field(
        3600, ge=1, le=YEAR, description="A session expires after this long without activity"
    )
    session_max_lifetime_seconds: int = Field(
        0, ge=0, le=YEAR, description="A session expires at this age, active or not; 0: never"
    )
    output_buffer_max_bytes: int = Field(
        50 * MIB, ge=1024, le=1024 * MIB, description="Program output kept per session; the oldest falls out first"
    )
    event_log_max: int = Field(
        10_000, ge=10, le=1_000_000, description="Events kept per session; the oldest fall out first"
    )
    dap_timeout_seconds: float = Field(30, ge=0.1, le=3600, description="Longest wait for a debugger's answer")
    dap_launch_timeout_seconds: float = Field(
        60, ge=0.1, le=3600, description="Longest wait for a program to start and its debugger to connect"
    )
    evaluate_timeout_seconds: float = Field(
        10, ge=0.1, le=3600, description="Longest an evaluated expression may run, unless the request says otherwise"
    )
    default_python_path: str = Field(
        "python3", min_length=1, description="Interpreter of sessions that name none: a path, or a name on PATH"
    )
    stop_budget_chars: int = Field(
        4000, ge=200, le=1_000_000, description="Size of a stop report, unless the request says otherwise"
    )
    gdb_path: str = Field(
        "", max_length=4096, description="gdb 14 or newer for attaching by process id; if not set, the installed one"
    )
    lldb_path: str = Field(
        "",
        max_length=4096,
        description="lldb-dap for native programs, its lldb-server beside it; if not set, the newest on PATH",
    )
    ez_path: str = Field(
        "", max_length=4096, description="Debugger that speaks the EZ protocol, for EZ programs; if not set, ez on PATH"
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Web origins that may call the relay, separated by commas; none by default"
    )
    max_body_bytes: int = Field(10 * MIB, ge=1024, le=1024 * MIB, description="Largest request body")
    require_token: bool = Field(False, description="Ask for a token on every request; needed to listen beyond loopback")
    allow_other_users: bool = Field(False, description="Let other users of this machine in; root always is")
    certfile: str = Field("", max_length=4096, description="Certificate chain, for HTTPS")
    keyfile: str = Field("", max_length=4096, description="Private key of the certificate, unless certfile has it too")
    spare_runners: int = Field(1, ge=0, le=10, description="Runner processes kept ready for the next sessions")

    @property
    def breakpoints_dir(self) -> Path:
        return self.data_dir / "breakpoints"

    @property
    def profiles_dir(self) -> Path:
        return self.data_dir / "profiles"

    @property
    def sessions_dir(self) -> Path:
        return self.data_dir / "sessions"

    def settings_for_runner(self) -> dict[str, Any]:
        return self.model_dump(mode="json", include=set(RUNNER_FIELDS))

    @field_validator("host", mode="after")
    @classmethod
    def _without_brackets(cls, value: str) -> str:
        return value.removeprefix("[").removesuffix("]")

    @field_validator("uds", mode="after")
    @classmethod
    def _absolute_path(cls, value: str) -> str:
        return str(_expand(value, "UDS")) if value else ""

    @field_validator("data_dir", mode="after")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return _expand(value)

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return lower(value)

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("allowed_origins", mode="after")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        origins = tuple(origin.lower().removesuffix("/") for origin in value)
        for origin in origins:
            if not ORIGIN.fullmatch(origin):
                raise ValueError(f"not an origin: {origin}")
        return origins

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, ConfigFileSource(settings_cls)


class ConfigFileSource(PydanticBaseSettingsSource):
    """config.json in the data folder that the sources before this one name."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("the file is read as a whole")

    def __call__(self) -> dict[str, Any]:
        path = _expand(self.current_state.get("data_dir", DEFAULT_DATA_DIR)) / "config.json"
        content: dict[str, Any] = read_json(path, {}, check_object)
        known = set(self.settings_cls.model_fields) - {"data_dir"}
        for name in sorted(content.keys() - known):
            log.warning("%s: %s is not a setting here and is ignored", path, name)
        return {name: value for name, value in content.items() if name in known}


class Loaded(NamedTuple):
    settings: Settings
    sources: dict[str, str]
    """where each came from that is not the default: the first place that has it"""
    notes: list[str]
    """what was left out of a file that nobody named"""


def load_settings(env_file: Path | None = None, **overrides: Any) -> Settings:
    return load(env_file, **overrides).settings


def load(env_file: Path | None = None, **overrides: Any) -> Loaded:
    """The settings in force, with a file of variables that was named, else the one in the start folder. An override
    that is None counts as not given."""
    given = {name: value for name, value in overrides.items() if value is not None}
    if unknown := given.keys() - Settings.model_fields.keys():
        raise TypeError(f"not settings: {', '.join(sorted(unknown))}")
    if given.keys() & {"host", "port"}:
        given.setdefault("uds", "")  # an address on the command line is meant, whatever the environment says
    stronger = {*given, *EnvSettingsSource(Settings)()}
    content, notes = _from_start_file() if env_file is None else (_from_named(env_file), [])
    while True:
        filed = {name: value for name, value in content.items() if name not in stronger}
        try:
            settings = Settings(**filed, **given)
        except ValidationError as error:
            wrong = {str(item["loc"][0]) for item in error.errors()} & filed.keys()
            if env_file is None and wrong:
                notes += [_left_out(name, f"it takes {allowed_values(name)}") for name in sorted(wrong)]
                content = {name: value for name, value in filed.items() if name not in wrong}
                continue
            raise ConfigError("; ".join(_explain(dict(item), given, filed) for item in error.errors())) from error
        return Loaded(settings, _sources(settings, given, filed, "env file" if env_file else START_FILE), notes)


def _sources(settings: Settings, given: dict[str, Any], filed: dict[str, Any], file: str) -> dict[str, str]:
    found = dict.fromkeys(settings.model_fields_set, "config.json") | dict.fromkeys(filed, file)
    found |= dict.fromkeys(EnvSettingsSource(Settings)(), "environment")
    return found | dict.fromkeys(given, "command line")


def _from_named(path: Path) -> dict[str, Any]:
    try:
        return _variables_in(path.expanduser())
    except (OSError, ValueError) as error:
        raise ConfigError(f"--env-file {path} cannot be read: {error}") from error


def _from_start_file() -> tuple[dict[str, Any], list[str]]:
    """What counts of it, and why the rest does not."""
    try:
        found = _variables_in(Path(START_FILE))
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError) as error:
        return {}, [f"{START_FILE} cannot be read and is left out: {error}"]
    closed = sorted(found.keys() - FROM_START_FILE)
    how = "set it in the environment, or name the file with --env-file"
    return {name: found[name] for name in found if name not in closed}, [_left_out(name, how) for name in closed]


def _left_out(name: str, why: str) -> str:
    return f"{PREFIX}{name.upper()} in {START_FILE} is left out: {why}"


def _variables_in(path: Path) -> dict[str, Any]:
    """The settings in a file of variables, by name. A pipe or a device would block, or never end."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_VARIABLES:
        raise ValueError("it is not a file of variables")
    found = DotEnvSettingsSource(Settings, env_file=path, env_file_encoding="utf-8")()
    return {name: value for name, value in found.items() if name in Settings.model_fields}


def default_of(name: str) -> Any:
    return shown_value(Settings.model_fields[name].default)


def shown_value(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def check_bind(settings: Settings) -> None:
    """Refuse what would let strangers in: whoever reaches the relay can run programs."""
    if not settings.uds and not is_loopback(settings.host) and not settings.require_token:
        raise ConfigError(
            f"refusing to listen on {settings.host} without tokens: whoever reaches the relay can run programs."
            f" Add --require-token, or keep {PREFIX}HOST=127.0.0.1 and reach it from elsewhere with:"
            f" ssh -L {settings.port}:127.0.0.1:{settings.port} USER@THIS_MACHINE"
        )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def allowed_values(name: str) -> str:
    """What a setting takes, in words."""
    field = Settings.model_fields[name]
    bounds = {key: getattr(item, key) for item in field.metadata for key in ("ge", "le") if hasattr(item, key)}
    if bounds:
        kind = "whole number" if field.annotation is int else "number"
        return f"a {kind} from {bounds['ge']} to {bounds['le']}"
    return {
        "host": "an IP address or a host name",
        "uds": "the path of a socket",
        "data_dir": "a folder",
        "log_level": f"one of {', '.join(get_args(LogLevel))}",
        "log_format": f"one of {', '.join(get_args(LogFormat))}",
        "default_python_path": "a path or a command",
        "gdb_path": "the path of a program",
        "lldb_path": "the path of a program",
        "ez_path": "the path of a program",
        "allowed_origins": "origins such as https://example.org:8443",
        "require_token": "true or false",
        "allow_other_users": "true or false",
        "certfile": "the path of a PEM file",
        "keyfile": "the path of a PEM file",
    }[name]


def _explain(item: dict[str, Any], given: dict[str, Any], filed: dict[str, Any]) -> str:
    name = str(item["loc"][0])
    return f"{_where(name, given, filed)}: {item['input']!r:.100} is not allowed, it takes {allowed_values(name)}"


def _where(name: str, given: dict[str, Any], filed: dict[str, Any]) -> str:
    if name in given:
        return f"--{name.replace('_', '-')}"
    if name in filed or name in EnvSettingsSource(Settings)():
        return PREFIX + name.upper()
    return f"{name} in config.json"


def _expand(path: str | os.PathLike[str], setting: str = "DATA_DIR") -> Path:
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError(f"{PREFIX}{setting}: {str(path)!r} is not a path that can be found: {error}") from error


def check_object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError("not a JSON object")
    return data
