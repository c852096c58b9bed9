"""Requests that start a program, take hold of one, or end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WrapValidator, model_validator

from ...debuggers import registry
from ..fields import Argument, Expression, InputText, PathText, ShortText, optional, preset, problem, without_nul
from .base import BudgetOption, FieldsOption, RequestModel, WaitOption, WaitOptions, given_or_not, one_given

ADAPTER = (
    "Debugger to use: debugpy (Python), gdb or lldb (native programs), ez (a program that speaks the EZ protocol). By "
    "what the program is if left out; native programs with gdb, or with lldb where there is no gdb.")
STOP_SCOPE = (
    "What a stop halts: all (every thread of the program) or thread (only the thread that stops; each reports its own "
    "stop, and the others run on).")
VENV = (
    "Virtual environment or conda prefix to run the program in, as if it were activated: its Python, PATH and "
    "VIRTUAL_ENV or CONDA_PREFIX. Not together with python_path.")
IMPORT_PATHS = "Folders to import from, in front of PYTHONPATH."
PROGRAMS = ["script", "program", "module", "code"]
ONE_OF = "Provide exactly one of script, program, module and code"

PID = (
    "Process id: a debugger is brought into the running Python program (GET /processes lists them), or takes hold of a "
    "native one.")
HOST = "Where debugpy or the debug server listens (default localhost)."
PORT = "Port on which debugpy, or the server named in debugger, listens."
SERVER = "What listens at the port, if it is not debugpy: gdbserver or lldb-server."
SYMBOLS = "The executable that runs there, for its symbols."
CONNECT_TIMEOUT = "Seconds to wait for the connection (default 10)."


def check_adapter(value: Any, check: Callable[[Any], str]) -> str:
    """Take the name of a debugger that is installed beside the relay, too."""
    is_other = isinstance(value, str) and value not in registry.OFFERED
    return value if is_other and value in registry.installed_names() else check(value)


def check_server(value: Any, check: Callable[[Any], str]) -> str:
    """Tell who names a debugger where a debug server is meant how debuggers are named."""
    if value in registry.OFFERED:
        servers = " or ".join(registry.SERVERS)
        raise problem(f"{value} is a debugger: give it as adapter; debugger takes a debug server, {servers}")
    return check(value)


if TYPE_CHECKING:
    Adapter = str
    DebugServer = str
else:
    Adapter = Annotated[Literal[registry.OFFERED], WrapValidator(check_adapter)]
    DebugServer = Annotated[Literal[tuple(registry.SERVERS)], WrapValidator(check_server)]
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


def exception_choice(value: object) -> object:
    """Literal alone would take 1 for true and 0 for false."""
    if not isinstance(value, bool) and value not in EXCEPTIONS:
        raise problem('Must be true, false, "uncaught", "raised", "user_unhandled" or "test_failure"')
    return value


EXCEPTIONS = ("uncaught", "raised", "user_unhandled", "test_failure")
StopOnException = Annotated[
    Literal[True, False, "uncaught", "raised", "user_unhandled", "test_failure"], BeforeValidator(exception_choice)]
EnvironmentName = Annotated[str, Field(max_length=1000), AfterValidator(environment_name)]
EnvironmentText = Annotated[str, Field(max_length=128 * 1024), AfterValidator(without_nul)]
"""No longer than what Linux hands to a program."""
Environment = Annotated[dict[EnvironmentName, EnvironmentText], Field(max_length=2000)]


FunctionName = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(without_nul)]


class RecordingOptions(RequestModel, json_schema_extra={"examples": [{"lines": ["shop.cart.Cart.total"]}]}):
    """What of a Python program to record."""

    calls: bool = preset(
        True, "Every call of the program's own code: arguments, result or exception, time, caller. False: only calls "
        "of the functions in lines.")
    lines: list[FunctionName] = preset(
        [], "Functions of which each line and what it changes is recorded as well, such as shop.cart.Cart.total, "
        "Cart.total or total.", max_length=100)
    scope: list[PathText] = preset(
        [], "Folders whose code is the program's own; all that is neither installed nor of Python itself if left out.",
        max_length=100)
    limit_mb: Annotated[int, Field(ge=1, le=10_000)] = preset(
        64, "Megabytes for the recording, in the session's folder; the oldest goes when there is more.")
    complete: bool = preset(
        False, "Record all calls of functions, too, that are called so often that recording them takes most of the "
        "time; else these are left out now and then, and the recording says so.")


RECORD = (
    "Record the Python program from its start: true, or what to record. Each call of its own code can be asked for "
    "later, also after its end.")


class LaunchRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={
        "examples": [
            {"script": "/home/dev/myproject/main.py", "args": ["--verbose"], "stop_on_entry": True},
            {"module": "pytest", "args": ["-xvs", "tests/test_math.py"], "cwd": "/home/dev/myproject"},
        ],
        "oneOf": [*one_given(*PROGRAMS), given_or_not([], PROGRAMS)],
    })

    wait: WaitOption = None
    fields: FieldsOption = None
    budget: BudgetOption = None
    script: PathText | None = optional("Path of the Python script; of an ELF file, the same as program.")
    program: PathText | None = optional(
        "Path of a program, or the name of a command, and what that is: a native executable (C, C++, Rust, …), a "
        "Python program such as pytest, or a script or command that starts Python programs, such as make.")
    module: ShortText | None = optional("Module to run, as with python -m.")
    code: Expression | None = optional("Source text to run, as with python -c.")
    args: list[Argument] = preset([], "Command-line arguments.", max_length=1000)
    cwd: PathText | None = optional("Working directory; project_root if left out.")
    env: dict[EnvironmentName, Argument] = preset(
        {}, "Environment variables to add; the session's `program` shows them.", max_length=1000)
    stop_on_entry: bool | None = optional("Pause at the first line; the session's choice if left out.")
    stop_on_exception: StopOnException | None = optional(
        "false: never. uncaught: exceptions that nothing will catch. raised: each exception once, where it first "
        "reaches the program's own code, but not what libraries raise and handle among themselves. true: both. "
        "user_unhandled: those that leave the program's own code for a library's. test_failure: where a test of "
        "pytest or unittest really fails, and not where it is skipped or expected to. Left out: uncaught, or, if "
        "exception-breakpoints were set, only those.")
    console: Literal["internalConsole", "integratedTerminal", "externalTerminal"] = preset(
        "internalConsole", "Has no effect: the relay always captures the output.")
    python_args: list[Argument] = preset([], "Arguments of the interpreter itself.", max_length=100)
    python_path: PathText | None = optional(
        "Interpreter for this program; left out, the session's, else the project's own environment.")
    venv: PathText | None = optional(VENV + " The session's choice if both are left out.")
    pythonpath: ImportPaths | None = optional(IMPORT_PATHS + " Relative to cwd; the session's if left out.")
    just_my_code: bool = preset(False, "Leave libraries out of stacks and steps.")
    stop_scope: StopScope | None = optional(STOP_SCOPE + " The session's choice if left out.")
    debug_subprocesses: bool | None = optional(
        "Debug the processes that it starts or forks too (of a Python program those that run Python; of a native one "
        "all, with gdb): each becomes a session of its own, with parent_session_id and the same breakpoints and "
        "watches. False if left out, but true for a program that is neither Python nor native (a shell script, make): "
        "it is not debugged itself.")
    stdin_inputs: list[InputText] = preset(
        [], "Lines for the program's stdin, there before it asks: a newline is added to each that has none.",
        max_length=10_000)
    stdin_eof: bool = preset(False, "End the program's stdin after stdin_inputs.")
    adapter: Adapter | None = optional(ADAPTER)
    debugger: DebugServer | None = optional(
        "Run a native program under this debug server, reached with gdb or lldb respectively.")
    core: PathText | None = optional(
        "Core file that a crash of the program left: looked at instead of running the program.")
    debugger_path: PathText | None = optional(
        "Debugger that speaks the EZ protocol, for this program; the relay's setting if left out.")
    recordable: bool = preset(
        False, "For `record` of a native program with gdb: its C library uses only instructions that gdb can "
        "record (GLIBC_TUNABLES).")
    line_buffered: bool = preset(
        True, "A native program that uses the GNU C library writes each line at once, as on a terminal "
        "(LD_PRELOAD of stdbuf's library); false: it is left alone.")
    record: RecordingOptions | bool | None = optional(RECORD)
    tunnel_only: bool = preset(False, "Leave the debugger to a client that comes through the session's tunnel.")

    @model_validator(mode="after")
    def one_program(self) -> Self:
        if len(self.named()) > 1:
            raise problem(ONE_OF)
        return check_one_interpreter(self)

    def named(self) -> list[str]:
        return [name for name in PROGRAMS if getattr(self, name) is not None]

    def params(self) -> dict[str, object]:
        """Return the launch; without a program only what is to be different from the session's last launch."""
        return self.model_dump(exclude_none=True, exclude_unset=not self.named())


class AttachRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={
        "examples": [{"pid": 12345}, {"host": "localhost", "port": 5678, "connect_timeout": 15}],
        "oneOf": one_given("pid", "port"),
    })

    wait: WaitOption = None
    fields: FieldsOption = None
    budget: BudgetOption = None
    pid: ProcessId | None = optional(PID)
    host: ShortText | None = optional(HOST)
    port: Port | None = optional(PORT)
    connect_timeout: ConnectTimeout = preset(10, CONNECT_TIMEOUT)
    stop_scope: StopScope | None = optional(STOP_SCOPE + " The session's choice if left out.")
    adapter: Adapter | None = optional(ADAPTER)
    debugger: DebugServer | None = optional(SERVER)
    program: PathText | None = optional(SYMBOLS)
    record: RecordingOptions | bool | None = optional(RECORD)

    @model_validator(mode="after")
    def one_target(self) -> Self:
        check_target(self.pid, self.host, self.port)
        return self

    def params(self) -> dict[str, object]:
        given = super().params()
        return given if self.port is None else {"host": "localhost", **given}


class RestartRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 30}]})


class TerminateRequest(RequestModel, json_schema_extra={"examples": [{"force": True}]}):
    force: bool = preset(False, "Kill the program at once instead of asking it to end first.")
