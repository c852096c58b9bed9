"""Answers about the server itself: its settings and end, and the processes that it could attach to."""

from __future__ import annotations

from typing import Annotated, Any

from .shape import UNSET, Answer, Maybe, Paged, said


class Health(Answer):
    status: Annotated[str, said("healthy or unhealthy.", "healthy")]
    version: Annotated[str, said("Version of the relay.", "1.0.0")]
    uptime_seconds: Annotated[float, said("Seconds since it started.", 7245)]
    active_sessions: Annotated[int, said("Sessions that the relay holds, those whose program has ended included.", 2)]
    debugpy_available: Annotated[bool, said("Whether Python programs can be debugged.", True)]


class Capabilities(Answer):
    supports_conditional_breakpoints: Annotated[bool, said("Breakpoints with condition.", True)]
    supports_hit_conditional_breakpoints: Annotated[bool, said("Breakpoints with hit_condition.", True)]
    supports_log_points: Annotated[bool, said("Breakpoints with log_message.", True)]
    supports_exception_breakpoints: Annotated[bool, said("stop_on_exception.", True)]
    supports_function_breakpoints: Annotated[bool, said("Breakpoints with function.", False)]
    supports_evaluate: Annotated[bool, said("POST evaluate.", True)]
    supports_set_variable: Annotated[bool, said("Changing variables.", False)]
    supports_restart: Annotated[bool, said("POST restart.", True)]
    supports_attach: Annotated[bool, said("POST attach, to a port or a process id.", True)]
    supports_step_in_targets: Annotated[bool, said("step-into with target.", True)]
    supports_step_until: Annotated[bool, said("POST step-until.", True)]
    supports_run_to_line: Annotated[bool, said("POST run-to.", True)]
    supports_stdin: Annotated[bool, said("POST input.", True)]
    supports_output_stream: Annotated[bool, said("Output and events as streams.", True)]
    supports_single_thread_execution: Annotated[bool, said("Steps and continue of one thread alone.", True)]
    supports_tasks: Annotated[bool, said("GET tasks: those of asyncio.", True)]
    supports_subprocesses: Annotated[bool, said("debug_subprocesses.", True)]
    supports_native_programs: Annotated[bool, said("Native programs, with gdb or lldb.", True)]
    supports_data_breakpoints: Annotated[bool, said("POST data-breakpoints, for native programs.", True)]
    supports_memory: Annotated[bool, said("GET and POST memory, of native programs.", True)]
    supports_disassembly: Annotated[bool, said("GET disassembly, of native programs.", True)]
    supports_step_back: Annotated[bool, said("POST record, step-back and reverse-continue.", True)]
    max_sessions: Annotated[int, said(
        "How many sessions may be there at once whose program lives or has not started.", 10)]


class InstalledDebugger(Answer):
    available: Annotated[bool, said("Whether it can be used.", True)]
    path: Annotated[Maybe[str], said("Where it is.", "/usr/bin/gdb")] = UNSET
    version: Annotated[Maybe[str], said("Its version, if it is part of the relay.", "1.8.22")] = UNSET
    reason: Annotated[Maybe[str], said("Why it cannot be used.", "There is no lldb-dap")] = UNSET
    suggestion: Annotated[Maybe[str], said("What to do about that.", "Install lldb 18 or newer")] = UNSET


class Info(Answer):
    name: Annotated[str, said("Name of the product.", "OpenCode Debug Relay Server")]
    version: Annotated[str, said("Version of the relay.", "1.0.0")]
    api_version: Annotated[str, said("Version of this API.", "v1")]
    python_version: Annotated[str, said("Python that runs the relay.", "3.11.5")]
    debugpy_version: Annotated[str, said("Version of debugpy.", "1.8.22")]
    debuggers: Annotated[dict[str, InstalledDebugger], said(
        "Debuggers on this machine.", {"gdb": {"available": True, "path": "/usr/bin/gdb"}})]
    capabilities: Annotated[Capabilities, said("What this relay can do.")]
    endpoints: Annotated[list[str], said("Every path of this API.", ["/api/v1/health"])]
    methods: Annotated[dict[str, list[str]], said(
        "The methods of each path.", {"/api/v1/sessions": ["POST", "GET"]})]


class Setting(Answer):
    value: Annotated[Any, said("What is in force.", "info")]
    default: Annotated[Any, said("What it is unless somebody says otherwise.", "info")]
    source: Annotated[str, said(
        "command line, environment, env file, .env, config.json, default, or run time.", "environment")]
    changeable: Annotated[bool, said("Whether PATCH /config can change it.", True)]
    applies: Annotated[str, said("at once, to new sessions, or after a restart.", "at once")]
    takes: Annotated[str, said("What is allowed.", "one of debug, info, warning, error, critical")]
    variable: Annotated[str, said("Its environment variable.", "OPENCODE_DEBUG_LOG_LEVEL")]
    description: Annotated[str | None, said("What it means.", "Least severe log message to write to stderr")]


class Configuration(Answer):
    settings: Annotated[dict[str, Setting], said("Every setting by name.")]
    config_file: Annotated[str, said(
        "Where changes are kept that are to last.", "/home/dev/.opencode-debugger/config.json")]


class ConfigurationChanged(Configuration):
    changed: Annotated[list[str], said("What was changed.", ["log_level"])]
    persisted: Annotated[bool, said("Whether config.json has it now.", False)]
    warnings: Annotated[list[str], said("What will be different at the next start.", [])]


class ShuttingDown(Answer):
    shutting_down: Annotated[bool, said("Always true: the relay ends after this answer.", True)]
    keep_sessions: Annotated[bool, said("Whether the sessions go on.", False)]
    sessions: Annotated[list[str], said("The sessions that end, or go on.", ["sess_a1b2c3d4"])]


class SignedIn(Answer):
    is_required: Annotated[bool, said("Whether this relay asks for tokens at all; if not, nobody need sign in.", True)]
    scopes: Annotated[list[str], said("What the browser may do now.", ["sessions:read"])]
    expires_at: Annotated[str | None, said("When it has to sign in again.", "2026-01-13T22:30:00Z")]


class SignedOut(Answer):
    signed_out: Annotated[bool, said("Always true.", True)]


class SignInCode(Answer):
    code: Annotated[str | None, said(
        "Signs a browser in once: http://HOST:PORT/?code=CODE; null if the relay asks for no tokens.", "q1Jx…")]
    expires_at: Annotated[str | None, said("Until when.", "2026-01-13T10:40:00Z")]


class Process(Answer):
    pid: Annotated[int, said("Process id.", 12345)]
    ppid: Annotated[int | None, said("Process id of its parent.", 12300)]
    name: Annotated[str, said("Script or module that it runs, else the interpreter.", "server.py")]
    command: Annotated[str, said("Command line, 1000 characters of it at most.", "python server.py --port 8000")]
    user: Annotated[str, said("Whose it is: always yours.", "dev")]
    interpreter: Annotated[str | None, said("Python that runs it; null for a native program.", "/usr/bin/python3.11")]
    python_version: Annotated[str | None, said("Version of that Python, if it can be told from outside.", "3.11")]
    cwd: Annotated[str | None, said("Its working directory.", "/home/dev/myproject")]
    started_at: Annotated[str | None, said("When it was started.", "2026-01-13T10:30:00.000Z")]
    debugpy_port: Annotated[int | None, said("Port on which its debugpy listens, if one does.", 5678)]
    session_id: Annotated[str | None, said(
        "Session that debugs or started it, or whose runner it is.", "sess_a1b2c3d4")]
    attachable: Annotated[bool, said("Whether POST attach with its pid can work.", True)]
    reason: Annotated[str | None, said("Why not.", "process 4711 traces it already")]


class ProcessList(Paged):
    items: Annotated[list[Process], said("The processes of this page, by process id.")]
