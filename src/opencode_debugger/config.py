"""The settings: command line over environment over a file of variables over config.json over the defaults here."""

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

from opencode_debugger.default_settings import DATA_FOLDER, PREFIX, Limits
from opencode_debugger.files import read_json

log = logging.getLogger(__name__)

DEFAULT_DATA_DIR = Path(DATA_FOLDER)
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s@?#]+")
YEAR = 365 * 24 * 3600
MIB = 1024 * 1024
GIB = 1024 * MIB

LogLevel = Literal["debug", "info", "warning", "error", "critical"]
LogFormat = Literal["auto", "text", "json"]

RUNNER_FIELDS = Limits.__struct_fields__

AT_ONCE = ("log_level", "max_sessions", "spare_runners")
CHANGEABLE = frozenset({*RUNNER_FIELDS, *AT_ONCE}) - {"gdb_path", "lldb_path", "ez_path", "allow_other_users"}
"""Settings that can be changed while the relay runs: those of runners for new sessions, the others at once. Which
program is let near others' processes, and who is let in, is for whoever starts the relay to say."""
CHOOSING_PROGRAMS = frozenset({"default_python_path"})
"""Those that say which program runs: for callers who may run programs."""

START_FILE = ".env"
"""In the folder where the relay is started, which may be anybody's."""
FROM_START_FILE = CHANGEABLE - CHOOSING_PROGRAMS
"""What it may say: how much and how long. Who reaches the relay, which programs run and where data is kept is for
whoever starts the relay to say."""
MOST_VARIABLES = 64 * 1024
"""Bytes of a file of variables."""


def lower_case(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class ConfigError(Exception):
    """A setting that cannot be used, said in one line."""


def _runner_setting(name: str, description: str, **rules: Any) -> Any:
    """Describe a setting that runners have too, with their default; a whole number is shown as one."""
    value = getattr(Limits(), name)
    is_whole = isinstance(value, float) and value.is_integer()
    return Field(int(value) if is_whole else value, description=description, **rules)


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, validate_default=True)

    host: str = Field("127.0.0.1", min_length=1, pattern=r"^[^\s/]+$", description="Address to listen on")
    port: int = Field(5679, ge=0, le=65535, description="Port to listen on; 0: any that is free")
    uds: str = Field("", description="Unix socket to listen on, instead of an address and a port")
    data_dir: Path = Field(
        DEFAULT_DATA_DIR, description="Folder for breakpoints, sessions and config.json; not settable in config.json")
    log_level: LogLevel = Field("info", description="Least severe log message to write to stderr")
    log_format: LogFormat = Field(
        "auto", description="How logs are written to stderr; auto: as text on a terminal, else as JSON")
    max_sessions: int = Field(
        10, ge=1, le=1000, description="Most sessions at once whose program lives or has not started")
    session_timeout_seconds: int = _runner_setting(
        "session_timeout_seconds", "A session expires after this long without activity", ge=1, le=YEAR)
    session_max_lifetime_seconds: int = _runner_setting(
        "session_max_lifetime_seconds", "A session expires at this age, active or not; 0: never", ge=0, le=YEAR)
    output_buffer_max_bytes: int = _runner_setting(
        "output_buffer_max_bytes", "Program output kept per session; the oldest falls out first", ge=1024, le=GIB)
    event_log_max: int = _runner_setting(
        "event_log_max", "Events kept per session; the oldest fall out first", ge=10, le=1_000_000)
    timeline_max_bytes: int = _runner_setting(
        "timeline_max_bytes", "Commands and stops kept per session for its timeline; the oldest fall out first",
        ge=10_000, le=GIB)
    wheel_idle_seconds: float = _runner_setting(
        "wheel_idle_seconds", "Whoever has taken the wheel of a session loses it after this long without a sign",
        ge=1, le=86400)
    dap_timeout_seconds: float = _runner_setting(
        "dap_timeout_seconds", "Longest wait for a debugger's answer", ge=0.1, le=3600)
    dap_launch_timeout_seconds: float = _runner_setting(
        "dap_launch_timeout_seconds", "Longest wait for a program to start and its debugger to connect",
        ge=0.1, le=3600)
    evaluate_timeout_seconds: float = _runner_setting(
        "evaluate_timeout_seconds", "Longest an evaluated expression may run, unless the request says otherwise",
        ge=0.1, le=3600)
    default_python_path: str = _runner_setting(
        "default_python_path", "Interpreter of sessions that name none: a path, or a name on PATH", min_length=1)
    stop_budget_chars: int = _runner_setting(
        "stop_budget_chars", "Size of a stop report, unless the request says otherwise", ge=200, le=1_000_000)
    gdb_path: str = _runner_setting(
        "gdb_path", "gdb 14 or newer for attaching by process id; if not set, the installed one", max_length=4096)
    lldb_path: str = _runner_setting(
        "lldb_path", "lldb-dap for native programs, its lldb-server beside it; if not set, the newest on PATH",
        max_length=4096)
    ez_path: str = _runner_setting(
        "ez_path", "Debugger that speaks the EZ protocol, for EZ programs; if not set, ez on PATH", max_length=4096)
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Web origins that may call the relay, separated by commas; none by default")
    max_body_bytes: int = Field(10 * MIB, ge=1024, le=GIB, description="Largest request body")
    require_token: bool = Field(False, description="Ask for a token on every request; needed to listen beyond loopback")
    allow_other_users: bool = _runner_setting("allow_other_users", "Let other users of this machine in; root always is")
    page_links: bool = Field(False, description="End every stop report with a link to its session on the page")
    certfile: str = Field("", max_length=4096, description="Certificate chain, for HTTPS")
    keyfile: str = Field("", max_length=4096, description="Private key of the certificate, unless certfile has it too")
    spare_runners: int = Field(1, ge=0, le=10, description="Runner processes kept ready for the next sessions")
    spare_interpreters: bool = Field(
        False, description="Start a Python ahead, with the debugger loaded, for a launch like the last one")
    idle_exit_minutes: float = Field(
        0, ge=0, le=YEAR // 60, description="The relay ends after so long without a session or a request; 0: never")

    @property
    def breakpoints_dir(self) -> Path:
        return self.data_dir / "breakpoints"

    @property
    def profiles_dir(self) -> Path:
        return self.data_dir / "profiles"

    @property
    def page_address(self) -> str:
        """Where browsers on this machine find the page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certfile else 'http'}://{host}:{self.port}"

    @property
    def sessions_dir(self) -> Path:
        return self.data_dir / "sessions"

    def settings_for_runner(self) -> dict[str, str | float]:
        return self.model_dump(mode="json", include=set(RUNNER_FIELDS))

    @field_validator("host", mode="after")
    @classmethod
    def _without_brackets(cls, value: str) -> str:
        return value.removeprefix("[").removesuffix("]")

    @field_validator("uds", mode="after")
    @classmethod
    def _absolute_path(cls, value: str) -> str:
        return str(_expand_home(value, "UDS")) if value else ""

    @field_validator("data_dir", mode="after")
    @classmethod
    def _make_absolute(cls, value: Path) -> Path:
        return _expand_home(value)

    _lower_case = field_validator("log_level", "log_format", mode="before")(lower_case)

    @field_validator("allowed_origins", mode="before")
    @classmethod
    def _split_list(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("allowed_origins", mode="after")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        origins = tuple(origin.lower().removesuffix("/") for origin in value)
        for origin in origins:
            if not ORIGIN.fullmatch(origin):
                raise ValueError(f"not an origin: {origin}")
        return origins

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, ConfigFileSource(settings_cls)


class ConfigFileSource(PydanticBaseSettingsSource):
    """config.json in the data folder that the sources before this one name."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        raise NotImplementedError("the file is read as a whole")

    def __call__(self) -> dict[str, object]:
        path = _expand_home(self.current_state.get("data_dir", DEFAULT_DATA_DIR)) / "config.json"
        content: dict[str, object] = read_json(path, {}, check_object)
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
    try:
        content, notes = _from_start_file() if env_file is None else (_variables_in(env_file.expanduser()), [])
    except (OSError, ValueError) as error:
        raise ConfigError(f"--env-file {env_file} cannot be read: {error}") from error
    while True:
        filed: dict[str, Any] = {name: value for name, value in content.items() if name not in stronger}
        try:
            settings = Settings(**filed, **given)
        except ValidationError as error:
            wrong = {str(item["loc"][0]) for item in error.errors()} & filed.keys()
            if env_file is None and wrong:
                notes += [_left_out(name, f"it takes {allowed_values(name)}") for name in sorted(wrong)]
                content = {name: value for name, value in filed.items() if name not in wrong}
                continue
            mistakes = [_explain_mistake(dict(item), given, filed) for item in error.errors()]
            raise ConfigError("; ".join(mistakes)) from error
        sources = dict.fromkeys(settings.model_fields_set, "config.json")
        sources |= dict.fromkeys(filed, "env file" if env_file else START_FILE)
        sources |= dict.fromkeys(EnvSettingsSource(Settings)(), "environment")
        return Loaded(settings, sources | dict.fromkeys(given, "command line"), notes)


def _from_start_file() -> tuple[dict[str, object], list[str]]:
    """Return the lines of the file that count, and why the others do not."""
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


def _variables_in(path: Path) -> dict[str, object]:
    """The settings in a file of variables, by name. A pipe or a device would block, or never end."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_VARIABLES:
        raise ValueError("it is not a file of variables")
    found = DotEnvSettingsSource(Settings, env_file=path, env_file_encoding="utf-8")()
    return {name: value for name, value in found.items() if name in Settings.model_fields}


def default_of(name: str) -> object:
    return shown_value(Settings.model_fields[name].default)


def shown_value(value: object) -> object:
    """Return a setting's value as JSON has it."""
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def check_bind(settings: Settings) -> None:
    """Refuse what would let strangers in: whoever reaches the relay can run programs."""
    if not settings.uds and not is_loopback(settings.host) and not settings.require_token:
        raise ConfigError(
            f"refusing to listen on {settings.host} without tokens: whoever reaches the relay can run programs."
            f" Add --require-token, or keep {PREFIX}HOST=127.0.0.1 and reach it from elsewhere with:"
            f" ssh -L {settings.port}:127.0.0.1:{settings.port} USER@THIS_MACHINE")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def allowed_values(name: str) -> str:
    """Say in words which values a setting takes."""
    field = Settings.model_fields[name]
    bounds = {key: getattr(item, key) for item in field.metadata for key in ("ge", "le") if hasattr(item, key)}
    if bounds:
        kind = "whole number" if field.annotation is int else "number"
        return f"a {kind} from {bounds['ge']} to {bounds['le']}"
    if field.annotation is bool:
        return "true or false"
    return {
        "host": "an IP address or a host name",
        "uds": "the path of a socket",
        "data_dir": "a folder",
        "log_level": f"one of {', '.join(get_args(LogLevel))}",
        "log_format": f"one of {', '.join(get_args(LogFormat))}",
        "default_python_path": "a path or a command",
        "allowed_origins": "origins such as https://example.org:8443",
        **dict.fromkeys(("gdb_path", "lldb_path", "ez_path"), "the path of a program"),
        **dict.fromkeys(("certfile", "keyfile"), "the path of a PEM file"),
    }[name]


def _explain_mistake(item: dict[str, Any], given: dict[str, Any], filed: dict[str, Any]) -> str:
    name = str(item["loc"][0])
    where = f"{name} in config.json"
    if name in given:
        where = f"--{name.replace('_', '-')}"
    elif name in filed or name in EnvSettingsSource(Settings)():
        where = PREFIX + name.upper()
    return f"{where}: {item['input']!r:.100} is not allowed, it takes {allowed_values(name)}"


def _expand_home(path: str | os.PathLike[str], setting: str = "DATA_DIR") -> Path:
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError(f"{PREFIX}{setting}: {str(path)!r} is not a path that can be found: {error}") from error


def check_object(data: object) -> dict[str, object]:
    if not isinstance(data, dict):
        raise TypeError("not a JSON object")
    return data
