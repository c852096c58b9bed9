"""Sessions as they are answered."""

from __future__ import annotations

from typing import Annotated, Literal

from .shape import UNSET, Answer, Maybe, Paged, said

Status = Literal["created", "launching", "running", "paused", "terminated", "failed"]


SessionId = Annotated[str, said("Identifier of the session.", "sess_a1b2c3d4")]
Warning = Annotated[str | None, said(
    "When the session is about to expire: says so.", "Session will expire in 29 minutes")]
ExitCode = Annotated[int | None, said("Exit code of a program that ended.", 0)]
Signal = Annotated[str | None, said("Signal that killed it.", "SIGKILL")]
EndReason = Annotated[str | None, said("How the program ended, or why the session failed.", "exited")]
ParentId = Annotated[str | None, said("Of a child: the session of the process that started it.", "sess_a1b2c3d4")]


class SessionConfig(Answer):
    project_root: Annotated[str, said("Root directory of the project.", "/home/dev/myproject")]
    python_path: Annotated[str, said(
        "Interpreter that was asked for, or the default; `program` says which one runs it.", "/usr/bin/python3")]
    venv: Annotated[str | None, said("Environment that is activated for the program.", "/home/dev/myproject/.venv")]
    pythonpath: Annotated[list[str], said(
        "Folders to import from, in front of PYTHONPATH.", ["/home/dev/myproject/lib"])]
    timeout_minutes: Annotated[float, said("Minutes without activity after which the session expires.", 60)]
    stop_on_entry: Annotated[bool, said("Whether the program pauses at its first line.", False)]
    adapter: Annotated[str | None, said("Debugger that was asked for: debugpy, gdb, lldb or ez; null for any.", "gdb")]
    stop_scope: Annotated[str, said("What a stop halts unless a launch says otherwise: all or thread.", "all")]


class Program(Answer):
    script: Annotated[Maybe[str], said("Script that runs.", "/home/dev/myproject/main.py")] = UNSET
    program: Annotated[Maybe[str], said(
        "Native executable that runs, or what is neither native nor Python, such as a shell script.",
        "/home/dev/myproject/build/app")] = UNSET
    module: Annotated[Maybe[str], said("Module that runs.", "pytest")] = UNSET
    code: Annotated[Maybe[str], said("Source text that runs.", "print(1)")] = UNSET
    args: Annotated[Maybe[list[str]], said("Its command-line arguments.", ["--verbose"])] = UNSET
    cwd: Annotated[Maybe[str | None], said("Its working directory.", "/home/dev/myproject")] = UNSET
    env: Annotated[Maybe[dict[str, str]], said("Environment variables that were added.", {"DEBUG": "1"})] = UNSET
    command: Annotated[Maybe[str | None], said(
        "Command line of a program that was attached to.", "python server.py --port 8000")] = UNSET
    interpreter: Annotated[Maybe[str | None], said(
        "Python that it runs on.", "/home/dev/myproject/.venv/bin/python")] = UNSET
    interpreter_reason: Annotated[Maybe[str], said(
        "Of a launch: why it is that Python.", ".venv in /home/dev/myproject")] = UNSET
    python_version: Annotated[Maybe[str | None], said(
        "Version of the Python of a program that was attached to.", "3.11")] = UNSET


class TunnelInfo(Answer):
    uri: Annotated[Maybe[str | None], said(
        "Where the session's tunnel is while the program lives.", "tcp://127.0.0.1:40123")] = UNSET
    token: Annotated[Maybe[str], said(
        "Opens the tunnel; shown only here, and only to callers that may change the session.")] = UNSET
    state: Annotated[Maybe[str], said("Of the tunnel: listening, connected or closed.", "listening")] = UNSET
    protocol: Annotated[Maybe[str], said("What it speaks: dap or gdb-remote.", "dap")] = UNSET


class SessionDebugger(TunnelInfo):
    adapter: Annotated[str, said(
        "debugpy, gdb, lldb, gdbserver, lldb-server or ez; none if only what it starts is debugged.", "debugpy")]
    capabilities: Annotated[list[str], said(
        "What it offers of what not every debugger does.", ["subprocesses", "tasks"])]


class Location(Answer):
    path: Annotated[str | None, said("Source file.", "/home/dev/myproject/main.py")]
    line: Annotated[int, said("Line (1-indexed).", 42)]
    column: Annotated[int, said("Column (1-indexed).", 1)]
    end_line: Annotated[Maybe[int], said("Last line of the range; not given in this version.", 42)] = UNSET
    end_column: Annotated[Maybe[int], said("Last column of the range; not given in this version.", 15)] = UNSET
    function: Annotated[str, said("Function it is in.", "process_data")]


class PastMoment(Answer):
    """A moment of a recorded run at which the session stands, instead of the present."""

    recording: Annotated[str, said("The recording: process id and number.", "4711-1")]
    moment: Annotated[int, said("Number of the moment; goto takes it as #57.", 57)]
    call: Annotated[int, said("Number of the call that it is in.", 12)]
    line: Annotated[int, said("Line; of a call whose lines were not recorded, the first of its function.", 14)]
    event: Annotated[str, said(
        "What happens then: line (about to run), call (the function is entered), return, or exception (it leaves the "
        "function).", "line")]
    thread: Annotated[str, said("Thread or asyncio task.", "thread MainThread")]


Past = Annotated[Maybe[PastMoment], said("Only while the session stands in the past: the moment of the recording.")]


class StoppedThread(Answer):
    thread_id: Annotated[int, said("Identifier of the thread.", 1)]
    name: Annotated[str | None, said("Its name; null while it is not known.", "MainThread")]
    breakpoint_id: Annotated[str | None, said("The first breakpoint that it hit.", "bp_1")]
    reason: Annotated[str, said("Why it stopped.", "breakpoint")]
    location: Annotated[Location | None, said("Where it is.")]


class ThreadStatus(Answer):
    thread_id: Annotated[int, said("Identifier of the thread.", 1)]
    name: Annotated[str, said("Its name.", "MainThread")]
    status: Annotated[str, said("running or paused.", "paused")]
    location: Annotated[Maybe[Location | None], said("Where it is; only of a paused one.")] = UNSET


class ExceptionCause(Answer):
    relation: Annotated[str, said("cause (raised from it) or context (raised while it was handled).", "cause")]
    type: Annotated[str, said("Class of the exception.", "KeyError")]
    message: Annotated[str, said("Its text.", "'price'")]


class RaisedAt(Answer):
    path: Annotated[str, said("Source file.", "/home/dev/shop.py")]
    line: Annotated[int | None, said("Line (1-indexed).", 7)]
    function: Annotated[str, said("Function it is in.", "read_price")]


class GroupMember(Answer):
    type: Annotated[str, said("Class of the exception.", "ValueError")]
    full_type: Annotated[str, said("With its module.", "builtins.ValueError")]
    message: Annotated[str, said("Its text.", "bad price")]
    location: Annotated[RaisedAt | None, said("Where it was raised.")]


class ExceptionInfo(Answer):
    type: Annotated[str, said("Class of the exception.", "ValueError")]
    message: Annotated[str, said("Its text.", "invalid literal for int() with base 10: 'abc'")]
    traceback: Annotated[Maybe[str | None], said("Its traceback.", "Traceback (most recent call last):\n  ...")] = UNSET
    break_mode: Annotated[Maybe[str], said(
        "In events only: always (raised), unhandled, or user_unhandled.", "unhandled")] = UNSET
    location: Annotated[Maybe[Location | None], said("Where it stopped.")] = UNSET
    notes: Annotated[Maybe[list[str]], said("Notes that were added to it.", ["while reading line 3"])] = UNSET
    chain: Annotated[Maybe[list[ExceptionCause]], said("What led to it, the nearest first.")] = UNSET
    exceptions: Annotated[Maybe[list[GroupMember]], said("Of an exception group: its members.")] = UNSET


class WaitingForInput(Answer):
    prompt: Annotated[str, said(
        "What the program wrote last without ending the line; empty if nothing.", "Enter your name: ")]


class RestoredBreakpoints(Answer):
    count: Annotated[int, said("How many there are.", 2)]
    changed_at: Annotated[str | None, said("When they were last changed.", "2026-01-13T10:30:00.000Z")]
    edits: Annotated[list[str], said(
        "What edits of their files since then mean for them.",
        ["bp_1 (/home/dev/cart.py): The file was edited: moved with its line, from line 3 to line 6"])]


class Driver(Answer):
    door: Annotated[str, said("Through which he came: rest, websocket, cli, mcp, sdk, page or editor.", "mcp")]
    client: Annotated[str, said("What the client calls itself; may be empty.", "claude-code")]
    operation: Annotated[str, said("What was asked for.", "step_over")]
    at: Annotated[str, said("When.", "2026-01-13T10:30:05.000Z")]


class WheelHolder(Answer):
    holder: Annotated[str, said("Who has it.", "Ann")]
    door: Annotated[str, said("Through which it was taken.", "page")]
    since: Annotated[str, said("Since when.", "2026-01-13T10:30:05.000Z")]


class WheelTurned(Answer):
    session_id: SessionId
    wheel: Annotated[WheelHolder | None, said("Who has the wheel now; null: it is free.")]
    wheel_id: Annotated[str | None, said(
        "Secret of the holder: sent as the header X-Debug-Wheel, it lets his requests pass.", "q1Jx…")]


DrivenBy = Annotated[Driver | None, said("Who made the program run or stop last, or made the session.")]
HeldBy = Annotated[WheelHolder | None, said("Who has taken the wheel; null: everybody may drive.")]


class SessionCreated(Answer):
    session_id: Annotated[str, said("Identifier for every further call.", "sess_a1b2c3d4")]
    name: Annotated[str, said("Name of the session.", "debug-my-script")]
    status: Annotated[Status, said("State of the session.", "created")]
    created_at: Annotated[str, said("When it was created.", "2026-01-13T10:30:00.000Z")]
    expires_at: Annotated[str, said("When it expires unless something happens.", "2026-01-13T11:30:00.000Z")]
    config: Annotated[SessionConfig, said("Settings of the session.")]
    message: Annotated[Maybe[str], said(
        "That breakpoints of its project were restored, from when, and how to drop them.")] = UNSET
    restored_breakpoints: Annotated[Maybe[RestoredBreakpoints], said(
        "Only if there are breakpoints of earlier sessions.")] = UNSET
    warnings: Annotated[Maybe[list[str]], said(
        "What could not be done, as breakpoints that could not be saved.")] = UNSET
    breakpoint_count: Annotated[int, said("How many breakpoints there are; some may be restored ones.", 3)]


class Child(Answer):
    session_id: Annotated[str, said("Identifier of the child's session.", "sess_b2c3d4e5")]
    name: Annotated[str, said("Its name.", "debug-my-script/4711")]
    pid: Annotated[int, said("Process id of the child.", 4711)]
    status: Annotated[Status, said("State of the child's session.", "paused")]
    program: Annotated[str | None, said("Script or module it runs.", "/home/dev/myproject/worker.py")]


class SessionImported(SessionCreated):
    warnings: Annotated[list[str], said("What could not be taken over, or waits for something.", [])]


class ProgramEnd(Answer):
    exit_code: ExitCode
    signal: Signal
    reason: EndReason


class Session(SessionCreated):
    stop_reason: Annotated[str | None, said(
        "Why it is paused: breakpoint, step, exception, pause or entry.", "breakpoint")]
    program: Annotated[Program | None, said("What was launched or attached to; null before.")]
    debugger: Annotated[SessionDebugger | None, said("What debugs it; null before the launch.")]
    attached: Annotated[bool, said("Whether the program was attached to: somebody else started it.", False)]
    waiting_for_input: Annotated[WaitingForInput | None, said("While the running program waits for its stdin.")]
    pid: Annotated[int | None, said("Process id of the program while it lives.", 12345)]
    current_location: Annotated[Location | None, said("Where it is paused.")]
    stopped_thread_id: Annotated[int | None, said("Thread that stopped.", 1)]
    exception: Annotated[ExceptionInfo | None, said("Exception it stopped on.")]
    exit_code: ExitCode
    signal: Signal
    reason: EndReason
    warning: Warning
    past: Past = UNSET
    parent_session_id: ParentId
    driver: DrivenBy
    wheel: HeldBy
    children: Annotated[list[Child], said("Processes that it started and that are debugged (debug_subprocesses).")]
    output_session_id: Annotated[Maybe[str], said(
        "Of a child: the session in whose output its stdout and stderr are, for they share the program's pipes.",
        "sess_a1b2c3d4")] = UNSET


class SessionDescription(Answer):
    """All that a relay must know that finds a session again."""

    project_root: str | None
    timeout_seconds: float
    info: Session
    children: list[SessionDescription]
    saves_breakpoints: bool


class SessionItem(Answer):
    session_id: SessionId
    name: Annotated[str, said("Its name.", "debug-my-script")]
    status: Annotated[Status, said("Its state.", "paused")]
    created_at: Annotated[str | None, said("When it was created.", "2026-01-13T10:30:00.000Z")]
    pid: Annotated[Maybe[int | None], said("Process id of its program while it is debugged.", 12345)] = UNSET
    program: Annotated[str | None, said("Script, module or command that it runs.", "/home/dev/myproject/main.py")]
    parent_session_id: ParentId
    location: Annotated[str | None, said("Where it is paused, in short.", "main.py:42")] = None
    driver: DrivenBy = None
    wheel: HeldBy = None


class SessionList(Paged):
    items: Annotated[list[SessionItem], said("The sessions of this page.")]


class SessionDeleted(Answer):
    session_id: SessionId
    deleted: Annotated[bool, said("Always true.", True)]
    final_status: Annotated[str, said("State in which it ended.", "terminated")]
    exit_code: Annotated[Maybe[int | None], said("Exit code of its program.", 0)] = UNSET
    runtime_seconds: Annotated[Maybe[float | None], said("How long its program ran.", 125.5)] = UNSET
    detached: Annotated[Maybe[bool], said(
        "Whether its program runs on without a debugger: it was attached to, or let go before; false if it has "
        "ended.", False)] = UNSET
    pid: Annotated[Maybe[int | None], said("Process id of a program that runs on.", 12345)] = UNSET


class Parted(Answer):
    session_id: SessionId
    status: Annotated[Status, said("State of the session now.", "terminated")]
    reason: Annotated[str | None, said("How it came to that.", "detached")]
    pid: Annotated[int | None, said("Process id of the program.", 12345)]
    exit_code: Annotated[int | None, said("Its exit code, if it has ended and we are its parent.", 0)]
    signal: Annotated[str | None, said("Signal that killed it.", "SIGTERM")]


class Detached(Parted):
    detached: Annotated[bool, said("Whether it runs on without us; false if it ended just before.", True)]
    children_let_go: Annotated[list[str], said(
        "Sessions of processes that it started: they were let go with it.", ["sess_b2c3d4e5"])]


class Terminated(Parted):
    terminated: Annotated[bool, said("Always true.", True)]


class SlowCode(Answer):
    path: Annotated[str | None, said("Source file; null if it is the whole program.", "/home/dev/myproject/main.py")]
    function: Annotated[str | None, said("Function; null if it is the whole file.", "process_data")]
    why: Annotated[str, said("What slows it down.", "Every exception that is raised is looked at (raised)")]


class SessionStatus(Answer):
    session_id: SessionId
    status: Annotated[str, said(
        "State, one of those of the session, or waiting_for_input: running, and waiting for its stdin.", "paused")]
    prompt: Annotated[Maybe[str], said("What it asks for while waiting_for_input.", "Enter your name: ")] = UNSET
    reason: Annotated[str | None, said("Why it is paused, or how it ended.", "breakpoint")]
    location: Annotated[Maybe[Location | None], said("Where it is paused.")] = UNSET
    stopped_threads: Annotated[list[StoppedThread], said("Every thread that stands at a stop of its own.")]
    all_threads: Annotated[list[ThreadStatus] | None, said(
        "Every thread; null while the debugger is too busy to list them.")]
    exit_code: ExitCode
    signal: Signal
    exception: Annotated[Maybe[ExceptionInfo | None], said("Exception it stopped on.")] = UNSET
    warning: Warning
    message: Annotated[Maybe[str], said(
        "That a signal has stopped the program's process, if so, and what to do about it.")] = UNSET
    past: Past = UNSET
    slow_code: Annotated[Maybe[list[SlowCode]], said(
        "Only if there is some: code that does not run at full speed because of what is asked of it, and why.")] = UNSET


class Pong(Answer):
    session_id: SessionId
    status: Annotated[str, said("Its state.", "running")]
    expires_at: Annotated[str, said("When it expires now.", "2026-01-13T11:30:00.000Z")]
