"""What functions returned during a step: debugpy keeps it, under names, with the frame that called them."""

from __future__ import annotations

import dis
import os
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import of_pydevd, raw

KEPT = "__pydevd_ret_val_dict"
_PAUSABLE = 0x20 | 0x80 | 0x200
_COROUTINE = 0x80
_DEPTH = 200
_CALLERS = 3
_TRACED = sys.version_info < (3, 12)
"""There a function that raises is reported as one that returns None."""


class Left:
    """The function that the program is just leaving, and how: it returns, yields or raises."""

    __slots__ = ("how", "name")

    def __init__(self, name: str, how: str) -> None:
        self.name = name
        self.how = how


def left(frame: Any) -> Optional[Left]:
    """Stopped in `frame` because a function that it called ends: that one is still there, below the debugger."""
    below: Any = sys._getframe(1)
    for _ in range(_DEPTH):
        if below is None or below.f_back is frame:
            break
        below = below.f_back
    if below is None or below.f_back is not frame or _is_debugger(below):
        return None
    how = _how(below)
    return Left(below.f_code.co_name, how) if how else None


def _how(frame: Any) -> Optional[str]:
    code, at = frame.f_code, frame.f_lasti
    if at < 0:
        return None
    name = _operation(code, at)
    if name.startswith("RETURN"):
        return "return"
    if code.co_flags & _PAUSABLE and (name == "YIELD_VALUE" or _operation(code, at + 2) == "YIELD_FROM"):
        return None if code.co_flags & _COROUTINE else "yield"
    return "raise" if _TRACED else None


def _operation(code: Any, at: int) -> str:
    return dis.opname[code.co_code[at]] if at < len(code.co_code) else ""


def values(frame: Any, leaving: Optional[Left]) -> Tuple[List[Tuple[str, Any]], List[Tuple[str, Any]]]:
    """What the function returned that the program is leaving, if it does, and what others returned before."""
    found = [item for item in list(_kept(frame).items()) if type(item[0]) is str]
    own: List[Tuple[str, Any]] = []
    if leaving is not None and found:
        own = [item for item in found if item[0].rpartition(".")[2] == leaving.name][-1:]
    others = [item for item in found if not any(item is mine for mine in own)]
    if _TRACED:
        others = [item for item in others if item[1] is not None]
    return (own if leaving is not None and leaving.how != "raise" else []), others


def _kept(frame: Any) -> Dict[str, Any]:
    """A class body may have any mapping for its locals: whatever that does is not to disturb a step."""
    kept = (raw.plain_variables(frame.f_locals) or {}).get(KEPT)
    return kept if type(kept) is dict else {}


def forget() -> None:
    """The program goes on: what was returned before the next step is not part of it."""
    import pydevd

    py_db = pydevd.get_global_debugger()
    if py_db is None:
        return
    frames = sys._current_frames()
    for thread in list(py_db.threads_suspended_single_notification._suspended_thread_id_to_thread.values()):
        _forget_in(frames.get(thread.ident))


def _forget_in(frame: Any) -> None:
    waits = True
    for _ in range(_DEPTH):
        if frame is None:
            return
        if _is_debugger(frame):
            waits = False  # what it waits with comes before
        elif not waits:
            break
        frame = frame.f_back
    for _ in range(_CALLERS):
        if frame is None:
            return
        kept = _kept(frame)
        if kept:
            kept.clear()
        frame = frame.f_back


def _is_debugger(frame: Any) -> bool:
    return is_debugger_file(frame.f_code.co_filename)


def is_debugger_file(name: str) -> bool:
    return name.startswith(_own_folders())


_folders: List[str] = []


def _own_folders() -> Tuple[str, ...]:
    """Where the debugger's code is. In a program that was attached to, ours came as text and has no file."""
    if not _folders:
        _folders.extend((of_pydevd.FOLDER, "<ocdb"))
        if "__file__" in globals():
            _folders.append(os.path.dirname(__file__))
    return tuple(_folders)
