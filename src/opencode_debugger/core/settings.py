"""What a session is made with: the relay's limits and the client's wishes, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..adapters.debugpy.environments import interpreter_of


@dataclass
class Limits:
    output_buffer_max_bytes: int = 50 * 1024 * 1024
    event_log_max: int = 10_000
    dap_timeout_seconds: float = 30.0
    dap_launch_timeout_seconds: float = 60.0
    evaluate_timeout_seconds: float = 10.0
    session_timeout_seconds: float = 3600.0
    session_max_lifetime_seconds: float = 0.0
    default_python_path: str = "python3"
    stop_budget_chars: int = 4000
    gdb_path: str = ""
    lldb_path: str = ""
    ez_path: str = ""
    allow_other_users: bool = False


@dataclass
class Config:
    session_id: str
    name: str
    project_root: str | None = None
    python_path: str | None = None
    venv: str | None = None
    pythonpath: list[str] = field(default_factory=list)
    timeout_seconds: float | None = None
    stop_on_entry: bool = False
    stop_scope: str = "all"
    adapter: str | None = None
    """debugpy, gdb, lldb or ez; by the program if nothing is said"""
    breakpoints: list[dict[str, Any]] = field(default_factory=list)
    """to restore"""
    breakpoints_changed_at: float | None = None
    """when those were last changed"""
    saves_breakpoints: bool = True
    """whether the relay saves its breakpoints for the project"""
    launch: dict[str, Any] | None = None
    """what to launch when a launch names nothing"""
    parts: dict[str, Any] | None = None
    """of another session, to be taken over: see portable"""
    limits: Limits = field(default_factory=Limits)
    folder: str = ""
    """of the session, for sockets that nobody else may reach: whoever makes the session knows it"""

    @property
    def interpreter(self) -> str:
        if self.python_path or self.venv is None:
            return self.python_path or self.limits.default_python_path
        return interpreter_of(self.venv)

    @property
    def asks_early(self) -> bool:
        """Whether the interpreter is asked who it is before a launch. What a document names is not: importing runs
        nothing."""
        return self.parts is None or not (self.python_path or self.venv)
