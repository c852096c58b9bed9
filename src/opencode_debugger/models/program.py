"""Requests that start a program, take hold of one, or end it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Protocol, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from .fields import Argument, Expression, InputText, PathText, ShortText, problem, without_nul
from .requests import RequestModel, WaitOptions, at_most_one_of, exactly_one_of

ADAPTER = (
    "Debugger to use: debugpy (Python), gdb or lldb (native programs), ez (a program that speaks the EZ protocol). By "
    "what the program is if left out; native programs with gdb, or with lldb where there is no gdb."
)
STOP_SCOPE = (
    "What a stop halts: all (every thread of the program) or thread (only the thread that stops; each reports its own "
    "stop, and the others run on)."
)
VENV = (
    "Virtual environment or conda prefix to run the program in, as if it were activated: its Python, PATH and "
    "VIRTUAL_ENV or CONDA_PREFIX. Not together with python_path."
)
IMPORT_PATHS = "Folders to import from, in front of PYTHONPATH."
ONE_OF = "Provide exactly one of script, program, module and code"

PID = (
    "Process id: a debugger is brought into the running Python program (GET /processes lists them), or takes hold of a "
    "native one."
)
HOST = "Where debugpy or the debug server listens (default localhost)."
PORT = "Port on which debugpy, or the server named in debugger, listens."
SERVER = "What listens at the port, if it is not debugpy: gdbserver or lldb-server."
SYMBOLS = "The executable that runs there, for its symbols."
CONNECT_TIMEOUT = "Seconds to wait for the connection (default 10)."

Adapter = Literal["debugpy", "gdb", "lldb", "ez"]
DebugServer = Literal["gdbserver", "lldb-server"]
StopScope = Literal["all", "thread"]
ImportPaths = Annotated[list[PathText], Field(max_length=100)]
ProcessId = Annotated[int, Field(ge=1, le=2**31 - 1)]
Port = Annotated[int, Field(ge=1, le=65535)]
ConnectTimeout = Annotated[int, Field(ge=1, le=300)]


class HasInterpreter(Protocol):
    python_path: str | None
    venv: str | None


Interpreted = TypeVar("Interpreted", bound=HasInterpreter)


def check_one_interpreter(given: Interpreted) -> Interpreted:
    if given.python_path is not None and given.venv is not None:
        raise problem("Give venv or python_path, not both", "venv")
    return given


def check_target(pid: int | None, host: str | None, port: int | None) -> None:
    if (pid is None) == (port is None):
        raise problem("Provide either pid, or host and port")
    if pid is not None and host is not None:
        raise problem("A host goes with port, not with pid", "host")


def environment_name(value: str) -> str:
    if not value or "=" in value:
        raise problem("A variable's name must not be empty and must not contain '='")
    return without_nul(value)


def exception_choice(value: Any) -> Any:
    """Literal alone would take 1 for true and 0 for false."""
    if not isinstance(value, bool) and value not in EXCEPTIONS:
        raise problem('Must be true, false, "uncaught", "raised", "user_unhandled" or "test_failure"')
    return value


EXCEPTIONS = ("uncaught", "raised", "user_unhandled", "test_failure")
StopOnException = Annotated[
    Literal[True, False, "uncaught", "raised", "user_unhandled", "test_failure"], BeforeValidator(exception_choice)
]
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
        None,
        description="Path of a program, or the name of a command, and what that is: a native executable (C, C++, "
        "Rust, …), a Python program such as pytest, or a script or command that starts Python programs, such as make.",
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
        "user_unhandled: those that leave the program's own code for a library's. test_failure: where a "
        "test of pytest or unittest really fails, and not where it is skipped or expected to. "
        "Left out: uncaught, or, if exception-breakpoints were set, only those.",
    )
    console: Literal["internalConsole", "integratedTerminal", "externalTerminal"] = Field(
        "internalConsole", description="Has no effect: the relay always captures the output."
    )
    python_args: list[Argument] = Field(default=[], max_length=100, description="Arguments of the interpreter itself.")
    python_path: PathText | None = Field(
        None, description="Interpreter for this program; left out, the session's, else the project's own environment."
    )
    venv: PathText | None = Field(None, description=VENV + " The session's choice if both are left out.")
    pythonpath: ImportPaths | None = Field(
        None, description=IMPORT_PATHS + " Relative to cwd; the session's if left out."
    )
    just_my_code: bool = Field(False, description="Leave libraries out of stacks and steps.")
    stop_scope: StopScope | None = Field(None, description=STOP_SCOPE + " The session's choice if left out.")
    debug_subprocesses: bool | None = Field(
        None,
        description="Debug the processes that it starts or forks too (of a Python program those that run Python; of a "
        "native one all, with gdb): each becomes a session of its own, with parent_session_id and the same breakpoints "
        "and watches. False if left out, but true for a program that is neither Python nor native (a shell script, "
        "make): it is not debugged itself.",
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
    recordable: bool = Field(
        False,
        description="For `record` of a native program with gdb: its C library uses only instructions that gdb can "
        "record (GLIBC_TUNABLES).",
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
