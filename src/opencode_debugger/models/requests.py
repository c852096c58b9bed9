"""Request bodies: what a client may send, strictly."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .fields import (
    Argument,
    Budget,
    Expression,
    FieldNames,
    Identifier,
    PathText,
    ShortText,
    Wait,
    problem,
    without_nul,
)

WAIT = (
    "Wait for the stop and answer with its report: true waits for the default timeout (30 seconds), a number waits "
    "that many seconds, false answers at once."
)
FIELDS = (
    "Only these parts of the stop report, besides status and place (a list, or names separated by commas): location, "
    "source, locals, changes, stack, exception, breakpoints, return_value, output. Everything if left out."
)
STOP_SCOPE = (
    "What a stop halts: all (every thread of the program) or thread (only the thread that stops; each reports its own "
    "stop, and the others run on)."
)
BUDGET = "About how many characters the stop report may have; what is left out is named in it."


StopScope = Literal["all", "thread"]


def exactly_one_of(*names: str) -> dict[str, Any]:
    """JSON schema of 'exactly one of these is given'."""
    return {"oneOf": [choice([name], [other for other in names if other != name]) for name in names]}


def choice(given: list[str], left_out: list[str]) -> dict[str, Any]:
    """JSON schema of 'these are given and those are not'; null counts as not given."""
    here: dict[str, Any] = {name: {"not": {"type": "null"}} for name in given}
    return {"required": given, "properties": here | {name: {"type": "null"} for name in left_out}}


class RequestModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def params(self) -> dict[str, Any]:
        """What the relay is asked: everything that was given or has a default."""
        return self.model_dump(exclude_none=True)


class CreateSessionRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "debug-my-script", "project_root": "/home/dev/myproject"}]}
    )

    name: ShortText | None = Field(None, description="Human-readable session name; made up if left out.")
    project_root: PathText | None = Field(
        None, description="Root directory of the project: relative paths resolve against it."
    )
    python_path: PathText | None = Field(None, description="Python interpreter that runs the program (any venv).")
    timeout_minutes: int | None = Field(
        None, ge=1, le=1440, description="Minutes without activity after which the session expires (default 60)."
    )
    stop_on_entry: bool = Field(False, description="Pause at the program's first line.")
    stop_scope: StopScope | None = Field(None, description=STOP_SCOPE + " Unless a launch says otherwise; default all.")
    restore_breakpoints: bool = Field(True, description="Set the breakpoints saved for this project_root again.")


class WaitOptions(RequestModel):
    wait: Wait = Field(None, description=WAIT)
    fields: FieldNames = Field(None, description=FIELDS)
    budget: Budget | None = Field(None, description=BUDGET)


class ContinueThreadRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 30}]})


class ResumeRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 30}]})

    thread_id: Identifier | None = Field(
        None, description="Only this thread runs on; the others stay halted and can be looked at. All if left out."
    )
    single_thread: bool | None = Field(
        None,
        description="true: only the thread in thread_id, or the stopped one, runs on. Left out it is true if there is "
        "a thread_id.",
    )


class PauseRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 5}]})

    thread_id: Identifier | None = Field(
        None, description="Thread to pause. With stop_scope all the others pause with it, else only this one."
    )


class StepRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"granularity": "line"}]})

    thread_id: Identifier | None = Field(None, description="Thread to step; the stopped thread if left out.")
    single_thread: bool = Field(
        False, description="true: the other threads stay halted meanwhile. With stop_scope thread it is always so."
    )
    granularity: Literal["line", "statement"] = Field("line", description="Has no effect: steps go by lines.")


def environment_name(value: str) -> str:
    if not value or "=" in value:
        raise problem("A variable's name must not be empty and must not contain '='")
    return without_nul(value)


def exception_choice(value: Any) -> Any:
    """Literal alone would take 1 for true and 0 for false."""
    if not isinstance(value, bool) and value not in ("uncaught", "raised"):
        raise problem('Must be true, false, "uncaught" or "raised"')
    return value


StopOnException = Annotated[Literal[True, False, "uncaught", "raised"], BeforeValidator(exception_choice)]
EnvironmentName = Annotated[str, Field(max_length=1000), AfterValidator(environment_name)]


class LaunchRequest(WaitOptions):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"script": "/home/dev/myproject/main.py", "args": ["--verbose"], "stop_on_entry": True},
                {"module": "pytest", "args": ["-xvs", "tests/test_math.py"], "cwd": "/home/dev/myproject"},
            ],
            **exactly_one_of("script", "module", "code"),
        }
    )

    script: PathText | None = Field(None, description="Path of the Python script.")
    module: ShortText | None = Field(None, description="Module to run, as with python -m.")
    code: Expression | None = Field(None, description="Source text to run, as with python -c.")
    args: list[Argument] = Field(default=[], max_length=1000, description="Command-line arguments.")
    cwd: PathText | None = Field(None, description="Working directory; project_root if left out.")
    env: dict[EnvironmentName, Argument] = Field(
        default={}, max_length=1000, description="Environment variables to add; the session's `program` shows them."
    )
    stop_on_entry: bool | None = Field(None, description="Pause at the first line; the session's choice if left out.")
    stop_on_exception: StopOnException = Field(
        "uncaught",
        description="false: never. uncaught: exceptions that nothing will catch. raised: each exception once, where it "
        "first reaches the program's own code, but not what libraries raise and handle among themselves. true: both.",
    )
    console: Literal["internalConsole", "integratedTerminal", "externalTerminal"] = Field(
        "internalConsole", description="Has no effect: the relay always captures the output."
    )
    python_args: list[Argument] = Field(default=[], max_length=100, description="Arguments of the interpreter itself.")
    python_path: PathText | None = Field(None, description="Interpreter for this program; the session's if left out.")
    just_my_code: bool = Field(False, description="Leave libraries out of stacks and steps.")
    stop_scope: StopScope | None = Field(None, description=STOP_SCOPE + " The session's choice if left out.")

    @model_validator(mode="after")
    def one_program(self) -> Self:
        if [self.script, self.module, self.code].count(None) != 2:
            raise problem("Provide exactly one of script, module and code")
        return self


class AttachRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"host": "localhost", "port": 5678, "connect_timeout": 15}],
            **exactly_one_of("pid", "port"),
        }
    )

    pid: int | None = Field(None, ge=1, le=2**31 - 1, description="Not available in this version.")
    host: ShortText | None = Field(None, description="Where debugpy listens (default localhost).")
    port: int | None = Field(None, ge=1, le=65535, description="Port on which debugpy listens.")
    connect_timeout: int = Field(10, ge=1, le=300, description="Seconds to wait for the connection.")
    stop_scope: StopScope | None = Field(None, description=STOP_SCOPE + " The session's choice if left out.")
    wait: Wait = Field(None, description=WAIT)

    @model_validator(mode="after")
    def one_target(self) -> Self:
        if (self.pid is None) == (self.port is None):
            raise problem("Provide either pid, or host and port")
        if self.pid is not None and self.host is not None:
            raise problem("A host goes with port, not with pid", "host")
        return self

    def params(self) -> dict[str, Any]:
        given = super().params()
        return given if self.port is None else {"host": "localhost", **given}


class EvaluateRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "len(items) * 2", "frame_id": 0}]})

    expression: Expression = Field(description="Expression to evaluate.")
    frame_id: Identifier = Field(0, description="Frame in whose scope it is evaluated: 0 is the top frame.")
    thread_id: Identifier | None = Field(None, description="Thread of the frame; the stopped thread if left out.")
    context: Literal["watch", "repl", "hover", "clipboard"] = Field(
        "repl", description="repl takes statements too, the others only expressions. Apart from that they are alike."
    )
    timeout: float | None = Field(
        None, ge=0.1, le=300, description="Seconds it may take; 504 DEBUGPY_TIMEOUT after that."
    )
