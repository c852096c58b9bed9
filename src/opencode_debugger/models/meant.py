"""What clients mean by names that are not ours: those of other debuggers, or simply the first that come to mind."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

FIELDS: dict[str, tuple[str, ...]] = {
    "path": ("file", "script"),
    "filename": ("file", "script"),
    "file_path": ("file", "script"),
    "file": ("script", "path"),
    "source_path": ("file",),
    "lineno": ("line",),
    "line_number": ("line",),
    "script_path": ("script",),
    "command": ("script",),
    "cmd": ("script",),
    "argv": ("args",),
    "arguments": ("args",),
    "environment": ("env",),
    "directory": ("cwd", "project_root"),
    "workdir": ("cwd", "project_root"),
    "working_directory": ("cwd", "project_root"),
    "cwd": ("project_root",),
    "root": ("project_root",),
    "python": ("python_path",),
    "interpreter": ("python_path",),
    "timeout": ("wait",),
    "stdin": ("stdin_inputs", "input"),
    "text": ("input", "expression"),
    "data": ("input",),
    "expr": ("expression",),
    "code": ("expression",),
    "condition": ("expression",),
    "frame": ("frame_id",),
    "thread": ("thread_id",),
    "steps": ("count", "max_steps"),
    "since": ("cursor",),
    "after": ("cursor",),
    "last": ("tail",),
}
"""the first of these that the request has"""

ROUTES: dict[str, str] = {
    "start": "launch",
    "run": "launch",
    "debug": "launch",
    "resume": "continue",
    "go": "continue",
    "step": "step-over",
    "next": "step-over",
    "stepin": "step-into",
    "finish": "step-out",
    "until": "run-to",
    "interrupt": "pause",
    "break": "breakpoints",
    "stop": "terminate",
    "kill": "terminate",
    "quit": "terminate",
    "exit": "terminate",
    "stack": "stacktrace",
    "backtrace": "stacktrace",
    "bt": "stacktrace",
    "frames": "stacktrace",
    "locals": "frames/0/variables",
    "vars": "frames/0/variables",
    "print": "evaluate",
    "exec": "evaluate",
    "eval": "evaluate",
    "log": "output",
    "logs": "output",
    "stdout": "output",
    "stderr": "output",
    "console": "output",
    "wait": "report",
    "state": "status",
}
"""the last part of a session's path"""


def field(name: str, known: Sequence[str]) -> str | None:
    """The name of ours that was meant, if that can be told."""
    meant = [other for other in FIELDS.get(name.lower(), ()) if other in known]
    return next(iter(meant or get_close_matches(name, known, n=1)), None)
