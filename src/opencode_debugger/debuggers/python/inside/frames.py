"""Walks from frame to frame, and tells the debugger's files from the program's."""

from __future__ import annotations

import os
from functools import lru_cache
from types import FrameType
from typing import Any, Iterator, Optional, Tuple

from .pydevd_patches import pydevd_parts
from .values import raw

LAUNCHER = "debugpy_launcher.py"
ASKED_FILES = frozenset(("<condition>", "<log>", "<evaluate>", "<ocdb test>"))
"""Names of what somebody has the program evaluate: conditions, log messages, expressions."""


def outward_frames(frame: Optional[FrameType]) -> Iterator[FrameType]:
    """Yield a frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


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


@lru_cache(maxsize=None)
def _debugger_folders() -> Tuple[str, ...]:
    """Return where the debugger's code is. In a program that was attached to, ours came as text and has no file."""
    own = [os.path.dirname(__file__)] if "__file__" in globals() else []
    debugpy = [pydevd_parts.FOLDER] if pydevd_parts.FOLDER else []  # there is none where only a failure is described
    return (*debugpy, "<ocdb", *own)
