"""Repairs breakpoints that pydevd passes over.

A thread that is halted because another one stopped does not look whether the line on which it halts has a breakpoint,
and runs over it when it goes on. Here that is a stop of its own, as if it had come there first.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, Tuple

_HERE = (0, 0)
_settled: Dict[int, Tuple[int, int]] = {}
"""Places where a condition was found false while others stopped, by thread, so that it is not asked twice."""


def install() -> None:
    import pydevd
    from _pydevd_bundle.pydevd_comm_constants import CMD_SET_BREAK, CMD_THREAD_SUSPEND
    from _pydevd_bundle.pydevd_constants import STATE_SUSPEND
    from pydevd_file_utils import get_abs_path_real_path_and_base_from_frame

    original = pydevd.PyDB.do_wait_suspend
    evaluate = pydevd.PyDB.handle_breakpoint_condition

    def handle_breakpoint_condition(self: Any, info: Any, breakpoint: Any, frame: Any) -> object:
        is_hit = evaluate(self, info, breakpoint, frame)
        if not is_hit and info.pydev_state == STATE_SUSPEND:
            _settled[threading.get_ident()] = _place_of(frame)
        return is_hit

    def do_wait_suspend(self: Any, thread: Any, frame: Any, event: str, *args: Any, **kwargs: Any) -> None:
        settled = _settled.pop(threading.get_ident(), None)
        if event == "line" and thread.stop_reason == CMD_THREAD_SUSPEND and settled not in (_HERE, _place_of(frame)):
            in_file = self.breakpoints and self.breakpoints.get(get_abs_path_real_path_and_base_from_frame(frame)[1])
            breakpoint = in_file.get(frame.f_lineno) if in_file else None
            if breakpoint is not None and _is_hit(self, thread, breakpoint, frame):
                self.set_suspend(thread, CMD_SET_BREAK, suspend_other_threads=breakpoint.suspend_policy == "ALL")
                thread.additional_info.hit_breakpoint_ids = [breakpoint.breakpoint_id]
        original(self, thread, frame, event, *args, **kwargs)

    pydevd.PyDB.handle_breakpoint_condition = handle_breakpoint_condition
    pydevd.PyDB.do_wait_suspend = do_wait_suspend


def settle_here() -> None:
    """Note that the breakpoint of the line on which this thread halts next has been looked at."""
    _settled[threading.get_ident()] = _HERE


def forget_all() -> None:
    _settled.clear()


def _place_of(frame: Any) -> Tuple[int, int]:
    return id(frame), frame.f_lasti


def _is_hit(py_db: Any, thread: Any, breakpoint: Any, frame: Any) -> bool:
    if breakpoint.is_logpoint:
        return False
    if not breakpoint.has_condition:
        return True
    is_hit = bool(py_db.handle_breakpoint_condition(thread.additional_info, breakpoint, frame))
    _settled.pop(threading.get_ident(), None)
    return is_hit
