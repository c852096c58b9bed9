"""Walks from frame to frame, and tells the debugger's files from the program's."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, Iterator, List, Optional, Tuple

from .pydevd_patches import pydevd_parts
from .values import raw

LAUNCHER = "debugpy_launcher.py"
ASKED_FILES = frozenset(("<condition>", "<log>", "<evaluate>", "<ocdb test>"))
"""Names of what somebody has the program evaluate: conditions, log messages, expressions."""
RESUMABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
"""Flags of code whose frames go on after they return."""


def outward_frames(frame: Optional[FrameType]) -> Iterator[FrameType]:
    """Yield a frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def running_frames() -> List[FrameType]:
    """Return the frames of all threads, the innermost of each first."""
    return [frame for top in list(sys._current_frames().values()) for frame in outward_frames(top)]


def module_name(frame: FrameType) -> object:
    """Return the name of a frame's module. Code may be executed in a dict of a class of its own, which is not asked."""
    return (raw.plain_variables(frame.f_globals) or {}).get("__name__")


def is_debugger_file(name: str) -> bool:
    return name.startswith(_debugger_folders())


def is_debugger_thread(thread: Any) -> bool:
    return bool(getattr(thread, "pydev_do_not_trace", False) or getattr(thread, "is_pydev_daemon_thread", False))


def is_foreign_file(name: str) -> bool:
    """Tell whether a file only runs the program and is no part of it."""
    return is_debugger_file(name) or name.endswith(LAUNCHER)


def is_left_out(py_db: Any, code: CodeType, frame: Any = None) -> bool:
    """Tell whether pydevd never stops in code: its own, threading's, that of files which the user leaves out."""
    frame, paths = frame or _frame_with(code), pydevd_parts.known_paths(code)
    if py_db.get_file_type(frame, paths) is not None:
        return True
    return bool(py_db.is_files_filter_enabled and py_db.apply_files_filter(frame, paths[0], False))


def is_program_code(py_db: Any, code: CodeType) -> bool:
    return bool(py_db.in_project_scope(_frame_with(code)))


def _frame_with(code: CodeType) -> SimpleNamespace:
    """Return as much of a frame of this code as pydevd looks at when it judges a file."""
    return SimpleNamespace(f_code=code, f_back=None, f_globals={}, f_locals={})


@lru_cache(maxsize=None)
def _debugger_folders() -> Tuple[str, ...]:
    """Return where the debugger's code is. In a program that was attached to, ours came as text and has no file."""
    own = [os.path.dirname(__file__)] if "__file__" in globals() else []
    debugpy = [pydevd_parts.FOLDER] if pydevd_parts.FOLDER else []  # there is none where only a failure is described
    return (*debugpy, "<ocdb", *own)
