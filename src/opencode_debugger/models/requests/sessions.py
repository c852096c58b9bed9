"""Requests that create, change and copy sessions."""

from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from ..fields import PathText, ShortText, optional, preset, problem
from . import program as shared
from .base import RequestModel

ENVIRONMENT = (
    "Environment of the session and of what it starts, instead of the relay's: clients on this machine send their own. "
    "No answer shows it.")


class WheelRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"action": "take", "as": "Ann"}]})

    action: Literal["take", "give_back"] = Field(description="take, or give_back.")
    name: ShortText | None = Field(
        None, alias="as", description="Who takes it, for others to see; the client's name if left out.")
    force: bool = preset(
        False, "Take it, or give it back, though somebody else has it: for people whose browser was closed.")


class CreateSessionRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "debug-my-script", "project_root": "/home/dev/myproject"}]})

    name: ShortText | None = optional("Human-readable session name; made up if left out.")
    project_root: PathText | None = optional("Root directory of the project: relative paths resolve against it.")
    python_path: PathText | None = optional("Python interpreter that runs the program (any venv).")
    venv: PathText | None = optional(shared.VENV)
    pythonpath: shared.ImportPaths | None = optional(shared.IMPORT_PATHS + " Relative to project_root.")
    timeout_minutes: int | None = optional(
        "Minutes without activity after which the session expires (default 60).", ge=1, le=1440)
    environment: shared.Environment | None = optional(ENVIRONMENT)
    stop_on_entry: bool = preset(False, "Pause at the program's first line.")
    stop_scope: shared.StopScope | None = optional(shared.STOP_SCOPE + " Unless a launch says otherwise; default all.")
    adapter: shared.Adapter | None = optional(shared.ADAPTER)
    restore_breakpoints: bool = preset(
        True, "Set the breakpoints saved for this project_root again. If false, none are, and those of this "
        "session are not saved.")
    mode: Literal["launch", "attach"] = preset(
        "launch", "attach: attach to a program in the same call; if that fails, there is no session.")
    pid: shared.ProcessId | None = optional("With mode attach: " + shared.PID)
    host: ShortText | None = optional("With mode attach: " + shared.HOST)
    port: shared.Port | None = optional("With mode attach: " + shared.PORT)
    connect_timeout: shared.ConnectTimeout | None = optional("With mode attach: " + shared.CONNECT_TIMEOUT)
    debugger: shared.DebugServer | None = optional("With mode attach: " + shared.SERVER)
    program: PathText | None = optional("With mode attach: " + shared.SYMBOLS)

    @model_validator(mode="after")
    def target_of_its_mode(self) -> Self:
        if self.mode == "attach":
            shared.check_target(self.pid, self.host, self.port)
            return self
        for name in ("pid", "host", "port", "connect_timeout", "debugger", "program"):
            if getattr(self, name) is not None:
                raise problem('Goes with "mode": "attach"', name)
        return self

    refused: ClassVar[dict[str, str]] = {
        name: f"What runs, and how, is said by {{launch}}, after this call: give {name} there, or to "
        "{run_program}, which does both"
        for name in ("script", "module", "code", "args", "env", "cwd", "wait", "stop_on_exception")
    }

    def params(self) -> dict[str, object]:
        return self.model_dump(exclude_none=True, exclude={"mode"} if self.mode == "launch" else None)

    _one_interpreter = model_validator(mode="after")(shared.check_one_interpreter)


class UpdateSessionRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "second try", "timeout_minutes": 120}]})

    name: ShortText | None = optional("New name.")
    timeout_minutes: int | None = optional("Minutes without activity after which the session expires.", ge=1, le=1440)
    stop_on_entry: bool | None = optional("For the next launch: pause at the program's first line.")
    project_root: PathText | None = optional("Only before the launch: root directory of the project.")
    python_path: PathText | None = optional("Only before the launch: interpreter, instead of any venv.")
    venv: PathText | None = optional("Only before the launch: venv, instead of any python_path.")
    pythonpath: shared.ImportPaths | None = optional("Only before the launch. " + shared.IMPORT_PATHS)

    _one_interpreter = model_validator(mode="after")(shared.check_one_interpreter)

    refused: ClassVar[dict[str, str]] = {
        "session_id": "The id of a session never changes",
        "status": "The status follows from what the program does: launch, pause, continue or delete it",
        "created_at": "It says when the session was created",
        "expires_at": "It follows from timeout_minutes: change that, or call {ping}",
        "program": "What runs is said by {launch}",
        "env": "The environment is said by {launch}",
        "args": "The arguments are said by {launch}",
        "cwd": "The working directory is said by {launch}",
        "breakpoints": "Breakpoints are set by {set_breakpoints}",
        "restore_breakpoints": "Breakpoints are restored when a session is created",
        "config": "Give its fields themselves, such as stop_on_entry",
    }
    """fields of a session that cannot be changed here, and why"""


class CloneSessionRequest(RequestModel, json_schema_extra={"examples": [{"name": "with the fix"}]}):
    name: ShortText | None = optional('Name of the new session; the old one and " (copy)" if left out.')
