"""Answers about the server itself."""

from __future__ import annotations

from .documented import Described, doc


class Health(Described):
    status: str = doc("healthy or unhealthy.", "healthy", ...)
    version: str = doc("Version of the relay.", "1.0.0", ...)
    uptime_seconds: float = doc("Seconds since it started.", 7245, ...)
    active_sessions: int = doc("Sessions that the relay holds, those whose program has ended included.", 2, ...)
    debugpy_available: bool = doc("Whether Python programs can be debugged.", True, ...)


class Capabilities(Described):
    supports_conditional_breakpoints: bool = doc("Breakpoints with condition.", True)
    supports_hit_conditional_breakpoints: bool = doc("Breakpoints with hit_condition.", True)
    supports_log_points: bool = doc("Breakpoints with log_message.", True)
    supports_exception_breakpoints: bool = doc("stop_on_exception.", True)
    supports_function_breakpoints: bool = doc("Breakpoints with function.", False)
    supports_evaluate: bool = doc("POST evaluate.", True)
    supports_set_variable: bool = doc("Changing variables.", False)
    supports_restart: bool = doc("POST restart.", True)
    supports_attach: bool = doc("POST attach, to a port or a process id.", True)
    supports_step_in_targets: bool = doc("step-into with target.", True)
    supports_step_until: bool = doc("POST step-until.", True)
    supports_run_to_line: bool = doc("POST run-to.", True)
    max_sessions: int = doc("How many sessions may be there at once whose program lives or has not started.", 10)


class Debugger(Described):
    available: bool = doc("Whether it can be used.", True, ...)
    path: str | None = doc("Where it is.", "/usr/bin/gdb")
    version: str | None = doc("Its version, if it is part of the relay.", "1.8.22")
    reason: str | None = doc("Why it cannot be used.", "There is no lldb-dap")
    suggestion: str | None = doc("What to do about that.", "Install lldb 18 or newer")


class Info(Described):
    name: str = doc("Name of the product.", "OpenCode Debug Relay Server", ...)
    version: str = doc("Version of the relay.", "1.0.0", ...)
    api_version: str = doc("Version of this API.", "v1", ...)
    python_version: str = doc("Python that runs the relay.", "3.11.5")
    debugpy_version: str | None = doc("Version of debugpy.", "1.8.22")
    debuggers: dict[str, Debugger] | None = doc(
        "Debuggers on this machine.", {"gdb": {"available": True, "path": "/usr/bin/gdb"}}
    )
    capabilities: Capabilities = doc("What this relay can do.", None, ...)
    endpoints: list[str] = doc("Every path of this API.", ["/api/v1/health"], ...)
