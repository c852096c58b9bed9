"""Stops a thread at a breakpoint that was decided by us, from inside an event of the interpreter."""

from __future__ import annotations

import threading
from typing import Any, List, Set

from ..frames import is_debugger_thread, outward_frames
from ..pydevd_patches import pydevd_parts

unwatched_threads: Set[int] = set()
"""Threads that evaluate something for the debugger outside of an event."""


def stop_thread(breakpoint: Any, ids: List[int], frame: Any) -> None:
    """Have pydevd stop this thread at a line, and return when it is let go."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if py_db is None or py_db.pydb_disposed:
        return
    thread: Any = threading._active.get(threading.get_ident())  # type: ignore[attr-defined]
    if thread is None:
        if _is_beginning(frame):
            return
        thread = threading.current_thread()
    info = py_db.set_additional_thread_info(thread)
    info.hit_breakpoint_ids = ids
    all_threads = breakpoint.suspend_policy == "ALL"
    py_db.set_suspend(
        thread, pydevd_parts.commands.CMD_SET_BREAK, suspend_other_threads=all_threads, suspend_requested=True
    )
    info.trace_suspend_type = "sys_monitor"
    py_db.do_wait_suspend(thread, frame, "line", None)


def _is_beginning(frame: Any) -> bool:
    """Tell whether a thread of the threading module is not in its list yet: to ask for it would make a second one."""
    *_, last = outward_frames(frame)
    return bool(last.f_code.co_filename == threading.__file__)


def is_watched() -> bool:
    """Tell whether this thread stops at breakpoints: the debugger uses the standard library too."""
    ident = threading.get_ident()
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if ident in unwatched_threads or py_db is None or not py_db.ready_to_run:
        return False
    thread: Any = threading._active.get(ident)  # type: ignore[attr-defined]
    return not is_debugger_thread(thread)


def is_to_halt() -> bool:
    """Tell whether somebody has asked this thread to halt."""
    thread: Any = threading._active.get(threading.get_ident())  # type: ignore[attr-defined]
    info = getattr(thread, "additional_info", None)
    return info is not None and bool(info.pydev_state != pydevd_parts.STATE_RUN)


def thread_infos() -> List[Any]:
    """Return what pydevd keeps of each thread that there is."""
    threads = list(threading._active.values())  # type: ignore[attr-defined]
    infos = [getattr(thread, "additional_info", None) for thread in threads]
    return [info for info in infos if info is not None]


def runs_freely(info: Any) -> bool:
    """Tell whether a thread neither steps nor is halted, nor about to be."""
    return bool(info.pydev_step_cmd == -1 and info.pydev_state == pydevd_parts.STATE_RUN)
