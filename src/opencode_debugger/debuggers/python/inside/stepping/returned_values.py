"""Finds what functions returned during a step: debugpy keeps it, under names, with the frame that called them."""

from __future__ import annotations

import dis
import sys
from inspect import CO_COROUTINE
from itertools import islice
from types import FrameType
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ..frames import RESUMABLE, is_debugger_file, outward_frames
from ..pydevd_patches import pydevd_parts
from ..python_versions import RAISING_LOOKS_LIKE_RETURNING
from ..values import raw

KEPT_VARIABLE = "__pydevd_ret_val_dict"
_DEEPEST_STACK = 200
_MOST_CALLERS = 3


class LeftFunction(NamedTuple):
    """The function that the program is just leaving, and how: it returns, yields or raises."""

    name: str
    how: str


def find_left_function(frame: Any) -> Optional[LeftFunction]:
    """Return the function that is just being left, if the thread stopped in its caller `frame` for that.

    It is still there, below the debugger."""
    stack = islice(outward_frames(sys._getframe(1)), _DEEPEST_STACK + 1)
    below = next((each for each in stack if each.f_back is frame), None)
    if below is None or _is_debugger_frame(below):
        return None
    how = _way_of_leaving(below)
    return LeftFunction(below.f_code.co_name, how) if how else None


def _way_of_leaving(frame: Any) -> Optional[str]:
    code, at = frame.f_code, frame.f_lasti
    if at < 0:
        return None
    name = _operation_name(code, at)
    if name.startswith("RETURN"):
        return "return"
    if code.co_flags & RESUMABLE and (name == "YIELD_VALUE" or _operation_name(code, at + 2) == "YIELD_FROM"):
        return None if code.co_flags & CO_COROUTINE else "yield"
    return "raise" if RAISING_LOOKS_LIKE_RETURNING else None


def _operation_name(code: Any, at: int) -> str:
    return dis.opname[code.co_code[at]] if at < len(code.co_code) else ""


def values_returned(frame: Any, leaving: Optional[LeftFunction]) -> Tuple[List[Tuple[str, Any]], List[Tuple[str, Any]]]:
    """Return the value of the function that the program is leaving, if it does, and what others returned before."""
    found = [item for item in list(_kept_values(frame).items()) if type(item[0]) is str]
    own: List[Tuple[str, Any]] = []
    if leaving is not None and found:
        own = [item for item in found if item[0].rpartition(".")[2] == leaving.name][-1:]
    others = [item for item in found if not any(item is mine for mine in own)]
    if RAISING_LOOKS_LIKE_RETURNING:
        others = [item for item in others if item[1] is not None]
    return (own if leaving is not None and leaving.how != "raise" else []), others


def _kept_values(frame: Any) -> Dict[str, Any]:
    """Return what debugpy keeps with a frame. A class body may have any mapping for its locals: that is not asked."""
    kept = (raw.plain_variables(frame.f_locals) or {}).get(KEPT_VARIABLE)
    return kept if type(kept) is dict else {}


def forget_returned() -> None:
    """Forget what was returned when the program goes on: it is not part of the next step."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if py_db is None:
        return
    running = sys._current_frames()
    for thread in list(py_db.threads_suspended_single_notification._suspended_thread_id_to_thread.values()):
        # The program's innermost frames keep it; those with which the debugger waits come before them.
        stack = list(islice(outward_frames(running.get(thread.ident)), _DEEPEST_STACK + _MOST_CALLERS))
        first = next((place for place, frame in enumerate(stack) if _is_debugger_frame(frame)), _DEEPEST_STACK)
        while first < min(len(stack), _DEEPEST_STACK) and _is_debugger_frame(stack[first]):
            first += 1
        for frame in stack[first : first + _MOST_CALLERS]:
            _kept_values(frame).clear()


def _is_debugger_frame(frame: FrameType) -> bool:
    return is_debugger_file(frame.f_code.co_filename)
