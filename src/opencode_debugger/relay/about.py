"""What the relay is and can do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import __version__
from ..adapters import gdb_program
from ..adapters.ez import program as ez_program
from ..adapters.native import lldb_program
from ..errors import RelayError

CAPABILITIES = {
    "supports_conditional_breakpoints": True,
    "supports_hit_conditional_breakpoints": True,
    "supports_log_points": True,
    "supports_exception_breakpoints": True,
    "supports_function_breakpoints": True,
    "supports_evaluate": True,
    "supports_set_variable": True,
    "supports_restart": True,
    "supports_attach": True,
    "supports_stdin": True,
    "supports_output_stream": True,
    "supports_step_in_targets": True,
    "supports_step_until": True,
    "supports_run_to_line": True,
    "supports_single_thread_execution": True,
    "supports_tasks": True,
    "supports_subprocesses": True,
    "supports_native_programs": True,
    "supports_data_breakpoints": True,
    "supports_memory": True,
    "supports_disassembly": True,
    "supports_step_back": True,
}


def health(folder: Path, uptime: float, sessions: int) -> dict[str, Any]:
    debugpy = importlib.util.find_spec("debugpy") is not None
    can_work = debugpy and os.access(folder, os.W_OK)
    return {
        "status": "healthy" if can_work else "unhealthy",
        "version": __version__,
        "uptime_seconds": int(uptime),
        "active_sessions": sessions,
        "debugpy_available": debugpy,
    }


def debuggers(gdb_path: str, lldb_path: str, ez_path: str) -> dict[str, dict[str, Any]]:
    """Those of this machine: where each is, or what to do about its absence."""
    return {
        "debugpy": {"available": True, "version": importlib.metadata.version("debugpy")},
        "gdb": _found(lambda: gdb_program.find(gdb_path or None).command[0]),
        "lldb": _found(lambda: lldb_program.find(lldb_path or None)),
        "ez": _found(lambda: ez_program.find(ez_path or None)),
    }


def _found(find: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"available": True, "path": find()}
    except RelayError as error:
        return {"available": False, "reason": error.message, "suggestion": error.details["suggestion"]}


def info(max_sessions: int) -> dict[str, Any]:
    return {
        "name": "OpenCode Debug Relay Server",
        "version": __version__,
        "api_version": "v1",
        "python_version": platform.python_version(),
        "debugpy_version": importlib.metadata.version("debugpy"),
        "capabilities": {**CAPABILITIES, "max_sessions": max_sessions},
    }
