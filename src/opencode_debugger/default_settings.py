"""Settings that a runner has, with their defaults, and where settings are found: known without reading any of them.

`config` reads and checks settings for the relay; runners and the stdio door, which start fast, only need these."""

import msgspec

PREFIX = "OPENCODE_DEBUG_"
"""of environment variables that are settings"""
DATA_FOLDER = "~/.opencode-debugger"


class Limits(msgspec.Struct):
    """The settings that a session is made with."""

    output_buffer_max_bytes: int = 50 * 1024 * 1024
    event_log_max: int = 10_000
    timeline_max_bytes: int = 4 * 1024 * 1024
    wheel_idle_seconds: float = 120.0
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
