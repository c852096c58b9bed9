"""Sessions as they are asked for and as they are answered."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from .documented import Described, Paged, doc
from .fields import PathText, ShortText, problem
from .program import (
    ADAPTER,
    CONNECT_TIMEOUT,
    HOST,
    IMPORT_PATHS,
    PID,
    PORT,
    SERVER,
    STOP_SCOPE,
    SYMBOLS,
    VENV,
    Adapter,
    ConnectTimeout,
    DebugServer,
    ImportPaths,
    Port,
    ProcessId,
    StopScope,
    check_one_interpreter,
    check_target,
)
from .requests import RequestModel

Status = Literal["created", "launching", "running", "paused", "terminated", "failed"]


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
    restore_breakpoints: bool = Field(
        True,
        description="Set the breakpoints saved for this project_root again. If false, none are, and those of this "
        "session are not saved.",
    )
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

    refused: ClassVar[dict[str, str]] = {
        name: f"What runs, and how, is said by POST /sessions/{{id}}/launch, after this call: give {name} there"
        for name in ("script", "module", "code", "args", "env", "cwd", "wait", "stop_on_exception")
    }

    def params(self) -> dict[str, Any]:
        given = super().params()
        if self.mode == "launch":
            del given["mode"]
        return given

    @model_validator(mode="after")
    def one_interpreter(self) -> Self:
        return check_one_interpreter(self)


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


class SessionConfig(Described):
    project_root: str | None = doc("Root directory of the project.", "/home/dev/myproject")
    python_path: str | None = doc(
        "Interpreter that was asked for, or the default; `program` says which one runs it.", "/usr/bin/python3"
    )
    venv: str | None = doc("Environment that is activated for the program.", "/home/dev/myproject/.venv")
    pythonpath: list[str] = doc("Folders to import from, in front of PYTHONPATH.", ["/home/dev/myproject/lib"])
    timeout_minutes: float = doc("Minutes without activity after which the session expires.", 60)
    stop_on_entry: bool = doc("Whether the program pauses at its first line.", False)
    adapter: str | None = doc("Debugger that was asked for: debugpy, gdb, lldb or ez; null for any.", "gdb")
    stop_scope: str | None = doc("What a stop halts unless a launch says otherwise: all or thread.", "all")


class Program(Described):
    script: str | None = doc("Script that runs.", "/home/dev/myproject/main.py")
    program: str | None = doc(
        "Native executable that runs, or what is neither native nor Python, such as a shell script.",
        "/home/dev/myproject/build/app",
    )
    module: str | None = doc("Module that runs.", "pytest")
    code: str | None = doc("Source text that runs.", "print(1)")
    args: list[str] = doc("Its command-line arguments.", ["--verbose"])
    cwd: str | None = doc("Its working directory.", "/home/dev/myproject")
    env: dict[str, str] = doc("Environment variables that were added.", {"DEBUG": "1"})
    command: str | None = doc("Command line of a program that was attached to.", "python server.py --port 8000")
    interpreter: str | None = doc("Python that it runs on.", "/home/dev/myproject/.venv/bin/python")
    interpreter_reason: str | None = doc("Of a launch: why it is that Python.", ".venv in /home/dev/myproject")
    python_version: str | None = doc("Version of the Python of a program that was attached to.", "3.11")


class Debugger(Described):
    adapter: str = doc(
        "debugpy, gdb, lldb, gdbserver, lldb-server or ez; none if only what it starts is debugged.", "debugpy", ...
    )
    capabilities: list[str] = doc("What it offers of what not every debugger does.", ["subprocesses", "tasks"], ...)
    uri: str | None = doc("Where the session's tunnel is while the program lives.", "tcp://127.0.0.1:40123")
    token: str | None = doc("Opens the tunnel; shown only here, and only to callers that may change the session.")
    state: str | None = doc("Of the tunnel: listening, connected or closed.", "listening")
    protocol: str | None = doc("What it speaks: dap or gdb-remote.", "dap")


class Location(Described):
    path: str | None = doc("Source file.", "/home/dev/myproject/main.py")
    line: int | None = doc("Line (1-indexed).", 42)
    column: int | None = doc("Column (1-indexed).", 1)
    end_line: int | None = doc("Last line of the range; not given in this version.", 42)
    end_column: int | None = doc("Last column of the range; not given in this version.", 15)
    function: str | None = doc("Function it is in.", "process_data")


class ExceptionInfo(Described):
    type: str | None = doc("Class of the exception.", "ValueError")
    message: str | None = doc("Its text.", "invalid literal for int() with base 10: 'abc'")
    traceback: str | None = doc("Its traceback.", "Traceback (most recent call last):\n  ...")
    break_mode: str | None = doc("In events only: always (raised), unhandled, or user_unhandled.", "unhandled")
    location: Location | None = doc("Where it stopped.")
    chain: list[dict[str, Any]] | None = doc(
        "What led to it, the nearest first: relation (cause or context), type and message.",
        [{"relation": "cause", "type": "KeyError", "message": "'price'"}],
    )
    exceptions: list[dict[str, Any]] | None = doc(
        "Of an exception group: its members, with type, message and location.",
        [{"type": "ValueError", "message": "bad price", "location": {"path": "/home/dev/shop.py", "line": 7}}],
    )


class WaitingForInput(Described):
    prompt: str = doc(
        "What the program wrote last without ending the line; empty if nothing.", "Enter your name: ", ...
    )


class RestoredBreakpoints(Described):
    count: int = doc("How many there are.", 2, ...)
    changed_at: str | None = doc("When they were last changed.", "2026-01-13T10:30:00.000Z")
    edits: list[str] = doc(
        "What edits of their files since then mean for them.",
        ["bp_1 (/home/dev/cart.py): The file was edited: moved with its line, from line 3 to line 6"],
        ...,
    )


class SessionCreated(Described):
    session_id: str = doc("Identifier for every further call.", "sess_a1b2c3d4", ...)
    name: str = doc("Name of the session.", "debug-my-script")
    status: Status = doc("State of the session.", "created", ...)
    created_at: str = doc("When it was created.", "2026-01-13T10:30:00.000Z", ...)
    expires_at: str | None = doc("When it expires unless something happens.", "2026-01-13T11:30:00.000Z")
    config: SessionConfig | None = doc("Settings of the session.")
    message: str | None = doc("That breakpoints of its project were restored, from when, and how to drop them.")
    restored_breakpoints: RestoredBreakpoints | None = doc("Only if there are breakpoints of earlier sessions.")
    warnings: list[str] | None = doc("What could not be done, as breakpoints that could not be saved.")
    breakpoint_count: int = doc("How many breakpoints there are; some may be restored ones.", 3)


class Child(Described):
    session_id: str = doc("Identifier of the child's session.", "sess_b2c3d4e5", ...)
    name: str | None = doc("Its name.", "debug-my-script/4711")
    pid: int | None = doc("Process id of the child.", 4711)
    status: Status = doc("State of the child's session.", "paused", ...)
    program: str | None = doc("Script or module it runs.", "/home/dev/myproject/worker.py")


class SessionImported(SessionCreated):
    warnings: list[str] = doc("What could not be taken over, or waits for something.", [], ...)


class Session(SessionCreated):
    stop_reason: str | None = doc("Why it is paused: breakpoint, step, exception, pause or entry.", "breakpoint")
    program: Program | None = doc("What was launched or attached to; null before.")
    debugger: Debugger | None = doc("What debugs it; null before the launch.")
    attached: bool = doc("Whether the program was attached to: somebody else started it.", False)
    waiting_for_input: WaitingForInput | None = doc("While the running program waits for its stdin.")
    pid: int | None = doc("Process id of the program while it lives.", 12345)
    current_location: Location | None = doc("Where it is paused.")
    stopped_thread_id: int | None = doc("Thread that stopped.", 1)
    exception: ExceptionInfo | None = doc("Exception it stopped on.")
    exit_code: int | None = doc("Exit code of a program that ended.", 0)
    signal: str | None = doc("Signal that killed it.", "SIGKILL")
    reason: str | None = doc("How the program ended, or why the session failed.", "exited")
    warning: str | None = doc("When the session is about to expire: says so.", "Session will expire in 29 minutes")
    parent_session_id: str | None = doc("Of a child: the session of the process that started it.", "sess_a1b2c3d4")
    children: list[Child] | None = doc("Processes that it started and that are debugged (debug_subprocesses).", None)
    output_session_id: str | None = doc(
        "Of a child: the session in whose output its stdout and stderr are, for they share the program's pipes.",
        "sess_a1b2c3d4",
    )


class SessionItem(Described):
    session_id: str = doc("Identifier of the session.", "sess_a1b2c3d4", ...)
    name: str | None = doc("Its name.", "debug-my-script")
    status: Status = doc("Its state.", "paused", ...)
    created_at: str = doc("When it was created.", "2026-01-13T10:30:00.000Z")
    pid: int | None = doc("Process id of its program while it is debugged.", 12345)
    program: str | None = doc("Script, module or command that it runs.", "/home/dev/myproject/main.py")
    parent_session_id: str | None = doc("Of a child: the session of the process that started it.", "sess_a1b2c3d4")


class SessionList(Paged):
    items: list[SessionItem] = doc("The sessions of this page.", None, ...)


class SessionDeleted(Described):
    session_id: str = doc("Identifier of the session.", "sess_a1b2c3d4", ...)
    deleted: bool = doc("Always true.", True, ...)
    final_status: str | None = doc("State in which it ended.", "terminated")
    exit_code: int | None = doc("Exit code of its program.", 0)
    runtime_seconds: float | None = doc("How long its program ran.", 125.5)
    detached: bool | None = doc(
        "Whether its program runs on without a debugger: it was attached to, or let go before; false if it has ended.",
        False,
    )
    pid: int | None = doc("Process id of a program that runs on.", 12345)


class Parted(Described):
    session_id: str = doc("Identifier of the session.", "sess_a1b2c3d4", ...)
    status: Status = doc("State of the session now.", "terminated", ...)
    reason: str | None = doc("How it came to that.", "detached")
    pid: int | None = doc("Process id of the program.", 12345)
    exit_code: int | None = doc("Its exit code, if it has ended and we are its parent.", 0)
    signal: str | None = doc("Signal that killed it.", "SIGTERM")


class Detached(Parted):
    detached: bool = doc("Whether it runs on without us; false if it ended just before.", True, ...)
    children_let_go: list[str] = doc(
        "Sessions of processes that it started: they were let go with it.", ["sess_b2c3d4e5"], ...
    )


class Terminated(Parted):
    terminated: bool = doc("Always true.", True, ...)


class SessionStatus(Described):
    session_id: str | None = doc("Identifier of the session.", "sess_a1b2c3d4")
    status: str = doc(
        "State, one of those of the session, or waiting_for_input: running, and waiting for its stdin.", "paused", ...
    )
    prompt: str | None = doc("What it asks for while waiting_for_input.", "Enter your name: ")
    reason: str | None = doc("Why it is paused, or how it ended.", "breakpoint")
    location: Location | None = doc("Where it is paused.")
    stopped_threads: list[dict[str, Any]] | None = doc(
        "Every thread that stands at a stop of its own: thread_id, name, breakpoint_id, reason, location."
    )
    all_threads: list[dict[str, Any]] | None = doc(
        "Every thread: thread_id, name, status (running or paused) and, of paused ones, location. "
        "Null while the debugger is too busy to list them."
    )
    exit_code: int | None = doc("Exit code of a program that ended.", 0)
    signal: str | None = doc("Signal that killed it.", "SIGKILL")
    exception: ExceptionInfo | None = doc("Exception it stopped on.")
    warning: str | None = doc("When the session is about to expire: says so.", "Session will expire in 29 minutes")
    message: str | None = doc("That a signal has stopped the program's process, if so, and what to do about it.")


class Pong(Described):
    session_id: str | None = doc("Identifier of the session.", "sess_a1b2c3d4")
    status: str | None = doc("Its state.", "running")
    expires_at: str | None = doc("When it expires now.", "2026-01-13T11:30:00.000Z")
