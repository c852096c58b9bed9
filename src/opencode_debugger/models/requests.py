"""Request bodies: what a client may send, strictly."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .fields import (
    MAX_WAIT_SECONDS,
    Argument,
    Budget,
    Expression,
    FieldNames,
    Identifier,
    InputText,
    LineNumber,
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
    "source, locals, changes, watches, stack, exception, breakpoints, return_value, output. Everything if left out."
)
STOP_SCOPE = (
    "What a stop halts: all (every thread of the program) or thread (only the thread that stops; each reports its own "
    "stop, and the others run on)."
)
BUDGET = "About how many characters the stop report may have; what is left out is named in it."


StopScope = Literal["all", "thread"]

ADAPTER = (
    "Debugger to use: debugpy (Python), gdb or lldb (native programs), ez (a program that speaks the EZ protocol). By "
    "what the program is if left out; native programs with gdb, or with lldb where there is no gdb."
)
ONE_OF = "Provide exactly one of script, program, module and code"
Adapter = Literal["debugpy", "gdb", "lldb", "ez"]
DebugServer = Literal["gdbserver", "lldb-server"]

VENV = (
    "Virtual environment or conda prefix to run the program in, as if it were activated: its Python, PATH and "
    "VIRTUAL_ENV or CONDA_PREFIX. Not together with python_path."
)
IMPORT_PATHS = "Folders to import from, in front of PYTHONPATH."

ImportPaths = Annotated[list[PathText], Field(max_length=100)]


class HasInterpreter(Protocol):
    python_path: str | None
    venv: str | None


Interpreted = TypeVar("Interpreted", bound=HasInterpreter)


def check_one_interpreter(given: Interpreted) -> Interpreted:
    if given.python_path is not None and given.venv is not None:
        raise problem("Give venv or python_path, not both", "venv")
    return given


def exactly_one_of(*names: str) -> dict[str, Any]:
    """JSON schema of 'exactly one of these is given'."""
    return {"oneOf": [choice([name], [other for other in names if other != name]) for name in names]}


def at_most_one_of(*names: str) -> dict[str, Any]:
    """JSON schema of 'one of these is given, or none'."""
    return {"oneOf": [*exactly_one_of(*names)["oneOf"], choice([], list(names))]}


def choice(given: list[str], left_out: list[str]) -> dict[str, Any]:
    """JSON schema of 'these are given and those are not'; null counts as not given."""
    here: dict[str, Any] = {name: {"not": {"type": "null"}} for name in given}
    return {"required": given, "properties": here | {name: {"type": "null"} for name in left_out}}


class RequestModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def params(self) -> dict[str, Any]:
        """What the relay is asked: everything that was given or has a default."""
        return self.model_dump(exclude_none=True)


PID = (
    "Process id: a debugger is brought into the running Python program (GET /processes lists them), or takes hold of a "
    "native one."
)
HOST = "Where debugpy or the debug server listens (default localhost)."
PORT = "Port on which debugpy, or the server named in debugger, listens."
SERVER = "What listens at the port, if it is not debugpy: gdbserver or lldb-server."
SYMBOLS = "The executable that runs there, for its symbols."
CONNECT_TIMEOUT = "Seconds to wait for the connection (default 10)."

ProcessId = Annotated[int, Field(ge=1, le=2**31 - 1)]
Port = Annotated[int, Field(ge=1, le=65535)]
ConnectTimeout = Annotated[int, Field(ge=1, le=300)]


def check_target(pid: int | None, host: str | None, port: int | None) -> None:
    if (pid is None) == (port is None):
        raise problem("Provide either pid, or host and port")
    if pid is not None and host is not None:
        raise problem("A host goes with port, not with pid", "host")


class CreateSessionRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "debug-my-script", "project_root": "/home/dev/myproject"}]}
    )

    name: ShortText | None = Field(None, description="Human-readable session name; made up if left out.")
    project_root: PathText | None = Field(
        None, description="Root directory of the project: relative paths resolve against it."
    )
    python_path: PathText | None = Field(None, description="Python interpreter that runs the program (any venv).")
    venv: PathText | None = Field(None, description=VENV)
    pythonpath: ImportPaths | None = Field(None, description=IMPORT_PATHS + " Relative to project_root.")
    timeout_minutes: int | None = Field(
        None, ge=1, le=1440, description="Minutes without activity after which the session expires (default 60)."
    )
    stop_on_entry: bool = Field(False, description="Pause at the program's first line.")
    stop_scope: StopScope | None = Field(None, description=STOP_SCOPE + " Unless a launch says otherwise; default all.")
    adapter: Adapter | None = Field(None, description=ADAPTER)
    restore_breakpoints: bool = Field(True, description="Set the breakpoints saved for this project_root again.")
    mode: Literal["launch", "attach"] = Field(
        "launch", description="attach: attach to a program in the same call; if that fails, there is no session."
    )
    pid: ProcessId | None = Field(None, description="With mode attach: " + PID)
    host: ShortText | None = Field(None, description="With mode attach: " + HOST)
    port: Port | None = Field(None, description="With mode attach: " + PORT)
    connect_timeout: ConnectTimeout | None = Field(None, description="With mode attach: " + CONNECT_TIMEOUT)
    debugger: DebugServer | None = Field(None, description="With mode attach: " + SERVER)
    program: PathText | None = Field(None, description="With mode attach: " + SYMBOLS)

    @model_validator(mode="after")
    def target_of_its_mode(self) -> Self:
        if self.mode == "attach":
            check_target(self.pid, self.host, self.port)
            return self
        for name in ("pid", "host", "port", "connect_timeout", "debugger", "program"):
            if getattr(self, name) is not None:
                raise problem('Goes with "mode": "attach"', name)
        return self

    def params(self) -> dict[str, Any]:
        given = super().params()
        if self.mode == "launch":
            del given["mode"]
        return given

    @model_validator(mode="after")
    def one_interpreter(self) -> Self:
        return check_one_interpreter(self)


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
    granularity: Literal["line", "statement", "instruction"] = Field(
        "line", description="How far a step goes: to another line, or by one machine instruction (native programs)."
    )
    count: int | None = Field(
        None,
        ge=1,
        le=1000,
        description="How many steps to make (default 1). A breakpoint, an exception or the end comes first: `steps` "
        "and `stop_reason` say so.",
    )


class StepIntoRequest(StepRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"target": "process_item"}]})

    target: ShortText | None = Field(
        None, description="Which call of the line to step into, by name. Others on the line are run without stopping."
    )
    target_id: int | None = Field(None, ge=0, le=1000, description="The same by its id from step-targets.")

    @model_validator(mode="after")
    def one_aim(self) -> Self:
        given = [name for name in ("count", "target", "target_id") if getattr(self, name) is not None]
        if len(given) > 1:
            raise problem(f"Give {given[0]} or {given[1]}, not both", given[1])
        return self

    def params(self) -> dict[str, Any]:
        given = super().params()
        return given | {"target": given.pop("target_id")} if "target_id" in given else given


class StepUntilRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "total > 100", "max_steps": 5000}]})

    expression: Expression = Field(
        description="Step until this is true, at least once. A name that does not exist yet makes it false; any other "
        "error ends the steps and is told in `error`."
    )
    kind: Literal["over", "into"] = Field("over", description="How to step.")
    max_steps: int = Field(1000, ge=1, le=100_000, description="Stop after so many steps in any case.")
    timeout: float | None = Field(
        None,
        ge=0.1,
        le=MAX_WAIT_SECONDS,
        description="Seconds after which the program is paused where it is (default 30).",
    )
    thread_id: Identifier | None = Field(None, description="Thread to step; the stopped thread if left out.")
    fields: FieldNames = Field(None, description=FIELDS)
    budget: Budget | None = Field(None, description=BUDGET)


class RunToSource(RequestModel):
    path: PathText = Field(description="Absolute path; relative to project_root if the session has one.")
    name: ShortText | None = Field(None, description="Ignored; editors send it.")


class RunToRequest(WaitOptions):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"line": 42}, {"file": "utils.py", "text": "return total"}],
            "allOf": [
                {"oneOf": [choice(["line"], ["text", "occurrence"]), choice(["text"], ["line"])]},
                {"not": choice(["source", "file"], [])},
            ],
        }
    )

    source: RunToSource | None = Field(None, description="Source file by path; the current one if left out.")
    file: PathText | None = Field(None, description="Source file; may be relative to project_root.")
    line: LineNumber | None = Field(None, description="Line to run to (1-indexed).")
    text: ShortText | None = Field(None, description="What is written on the line, instead of its number.")
    occurrence: int | None = Field(
        None, ge=1, le=100_000, description="Which of the lines that contain the text (1-indexed)."
    )

    @model_validator(mode="after")
    def one_place(self) -> Self:
        if self.source is not None and self.file is not None:
            raise problem("Give source.path or file, not both", "file")
        if (self.line is None) == (self.text is None):
            raise problem("Give either a line or a text", "line")
        if self.occurrence is not None and self.text is None:
            raise problem("An occurrence goes with text", "occurrence")
        return self

    def params(self) -> dict[str, Any]:
        given = super().params()
        file, source = given.pop("file", None), given.pop("source", None)
        if file or source:
            given |= {"path": file or source["path"], "relative_ok": file is not None}
        return given


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
            **at_most_one_of("script", "program", "module", "code"),
        }
    )

    script: PathText | None = Field(None, description="Path of the Python script; of an ELF file, the same as program.")
    program: PathText | None = Field(
        None, description="Path of a native executable (C, C++, Rust, …), or the name of a command."
    )
    module: ShortText | None = Field(None, description="Module to run, as with python -m.")
    code: Expression | None = Field(None, description="Source text to run, as with python -c.")
    args: list[Argument] = Field(default=[], max_length=1000, description="Command-line arguments.")
    cwd: PathText | None = Field(None, description="Working directory; project_root if left out.")
    env: dict[EnvironmentName, Argument] = Field(
        default={}, max_length=1000, description="Environment variables to add; the session's `program` shows them."
    )
    stop_on_entry: bool | None = Field(None, description="Pause at the first line; the session's choice if left out.")
    stop_on_exception: StopOnException | None = Field(
        None,
        description="false: never. uncaught: exceptions that nothing will catch. raised: each exception once, where it "
        "first reaches the program's own code, but not what libraries raise and handle among themselves. true: both. "
        "Left out: uncaught, or, if exception-breakpoints were set, only those.",
    )
    console: Literal["internalConsole", "integratedTerminal", "externalTerminal"] = Field(
        "internalConsole", description="Has no effect: the relay always captures the output."
    )
    python_args: list[Argument] = Field(default=[], max_length=100, description="Arguments of the interpreter itself.")
    python_path: PathText | None = Field(None, description="Interpreter for this program; the session's if left out.")
    venv: PathText | None = Field(None, description=VENV + " The session's choice if both are left out.")
    pythonpath: ImportPaths | None = Field(
        None, description=IMPORT_PATHS + " Relative to cwd; the session's if left out."
    )
    just_my_code: bool = Field(False, description="Leave libraries out of stacks and steps.")
    stop_scope: StopScope | None = Field(None, description=STOP_SCOPE + " The session's choice if left out.")
    debug_subprocesses: bool = Field(
        False,
        description="Debug the Python processes that it starts or forks too: each becomes a session of its own, with "
        "parent_session_id and the same breakpoints and watches.",
    )
    stdin_inputs: list[InputText] = Field(
        default=[],
        max_length=10_000,
        description="Lines for the program's stdin, there before it asks: a newline is added to each that has none.",
    )
    stdin_eof: bool = Field(False, description="End the program's stdin after stdin_inputs.")
    adapter: Adapter | None = Field(None, description=ADAPTER)
    debugger: DebugServer | None = Field(
        None, description="Run a native program under this debug server, reached with gdb or lldb respectively."
    )
    core: PathText | None = Field(
        None, description="Core file that a crash of the program left: looked at instead of running the program."
    )
    debugger_path: PathText | None = Field(
        None, description="Debugger that speaks the EZ protocol, for this program; the relay's setting if left out."
    )
    line_buffered: bool = Field(
        True,
        description="A native program that uses the GNU C library writes each line at once, as on a terminal "
        "(LD_PRELOAD of stdbuf's library); false: it is left alone.",
    )
    tunnel_only: bool = Field(
        False, description="Leave the debugger to a client that comes through the session's tunnel."
    )

    @model_validator(mode="after")
    def one_program(self) -> Self:
        if len(self.named()) > 1:
            raise problem(ONE_OF)
        return check_one_interpreter(self)

    def named(self) -> list[str]:
        return [name for name in ("script", "program", "module", "code") if getattr(self, name) is not None]

    def params(self) -> dict[str, Any]:
        """Without a program, the session's last launch again: only what is to be different."""
        names_program = bool(self.named())
        return self.model_dump(exclude_none=True, exclude_unset=not names_program)


class SendInputRequest(WaitOptions):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"input": "user response\n"}, {"input": "last line\n", "eof": True, "wait": 30}],
            "anyOf": [
                {"required": ["input"], "properties": {"input": {"type": "string", "minLength": 1}}},
                {"required": ["eof"], "properties": {"eof": {"const": True}}},
            ],
        }
    )

    input: InputText = Field(
        "", description="Text for the program's stdin, sent exactly as it is (UTF-8): a line ends with \\n."
    )
    eof: bool = Field(False, description="End the program's stdin after it. Then input may be empty.")

    @model_validator(mode="after")
    def something(self) -> Self:
        if not self.input and not self.eof:
            raise problem("Give the text to send, or eof: true to end the input", "input")
        return self


class AttachRequest(WaitOptions):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"pid": 12345}, {"host": "localhost", "port": 5678, "connect_timeout": 15}],
            **exactly_one_of("pid", "port"),
        }
    )

    pid: ProcessId | None = Field(None, description=PID)
    host: ShortText | None = Field(None, description=HOST)
    port: Port | None = Field(None, description=PORT)
    connect_timeout: ConnectTimeout = Field(10, description=CONNECT_TIMEOUT)
    stop_scope: StopScope | None = Field(None, description=STOP_SCOPE + " The session's choice if left out.")
    adapter: Adapter | None = Field(None, description=ADAPTER)
    debugger: DebugServer | None = Field(None, description=SERVER)
    program: PathText | None = Field(None, description=SYMBOLS)

    @model_validator(mode="after")
    def one_target(self) -> Self:
        check_target(self.pid, self.host, self.port)
        return self

    def params(self) -> dict[str, Any]:
        given = super().params()
        return given if self.port is None else {"host": "localhost", **given}


class RestartRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 30}]})


class TerminateRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"force": True}]})

    force: bool = Field(False, description="Kill the program at once instead of asking it to end first.")


class EvaluateRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "len(items) * 2", "frame_id": 0}]})

    expression: Expression = Field(description="Expression to evaluate.")
    frame_id: Identifier = Field(0, description="Frame in whose scope it is evaluated: 0 is the top frame.")
    thread_id: Identifier | None = Field(None, description="Thread of the frame; the stopped thread if left out.")
    context: Literal["watch", "repl", "hover", "clipboard"] = Field(
        "repl",
        description="repl takes statements too, the others only expressions. The answers of watch and hover say "
        "whether the expression may have side effects.",
    )
    timeout: float | None = Field(
        None, ge=0.1, le=300, description="Seconds it may take; 504 DEBUGPY_TIMEOUT after that."
    )


class UpdateSessionRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "second try", "timeout_minutes": 120}]})

    name: ShortText | None = Field(None, description="New name.")
    timeout_minutes: int | None = Field(
        None, ge=1, le=1440, description="Minutes without activity after which the session expires."
    )
    stop_on_entry: bool | None = Field(None, description="For the next launch: pause at the program's first line.")
    project_root: PathText | None = Field(None, description="Only before the launch: root directory of the project.")
    python_path: PathText | None = Field(None, description="Only before the launch: interpreter, instead of any venv.")
    venv: PathText | None = Field(None, description="Only before the launch: venv, instead of any python_path.")
    pythonpath: ImportPaths | None = Field(None, description="Only before the launch. " + IMPORT_PATHS)

    @model_validator(mode="after")
    def one_interpreter(self) -> Self:
        return check_one_interpreter(self)

    refused: ClassVar[dict[str, str]] = {
        "session_id": "The id of a session never changes",
        "status": "The status follows from what the program does: launch, pause, continue or delete it",
        "created_at": "It says when the session was created",
        "expires_at": "It follows from timeout_minutes: change that, or call GET /sessions/{id}/ping",
        "program": "What runs is said by POST /sessions/{id}/launch",
        "env": "The environment is said by POST /sessions/{id}/launch",
        "args": "The arguments are said by POST /sessions/{id}/launch",
        "cwd": "The working directory is said by POST /sessions/{id}/launch",
        "breakpoints": "Breakpoints are set by POST /sessions/{id}/breakpoints",
        "restore_breakpoints": "Breakpoints are restored when a session is created",
        "config": "Give its fields themselves, such as stop_on_entry",
    }
    """fields of a session that cannot be changed here, and why"""


class CloneSessionRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "with the fix"}]})

    name: ShortText | None = Field(None, description='Name of the new session; the old one and " (copy)" if left out.')
