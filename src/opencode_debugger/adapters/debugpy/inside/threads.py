"""Which threads there are, whether they are halted, and where they are: read without halting anything."""

from __future__ import annotations

import _thread
import sys
import threading
from itertools import islice
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import of_pydevd, raw
from .interrupts import is_quiet
from .texts import encodable

LONGEST_STACK = 1000
OWN_WITHIN = 30
_HANDLE: Any = getattr(_thread, "_ThreadHandle", None)
"""a class of the program may have something else of that name"""
HIDDEN = 200
"""Frames of the debugger and of libraries that may be above and among those that are shown."""


def from_dap(thread: int) -> Any:
    """debugpy's own id of a thread by the number that it goes by in messages."""
    return of_pydevd.BaseSchema._dap_id_to_obj_id.get(thread)


def to_dap(thread_id: Any) -> int:
    number: int = of_pydevd.BaseSchema._translate_id_to_dap(thread_id)
    return number


def listed(stops: Any) -> List[Dict[str, Any]]:
    """Every thread of the program, as debugpy numbers and names them."""
    py_db = of_pydevd.pydevd.get_global_debugger()
    halted = py_db.threads_suspended_single_notification._suspended_thread_id_to_thread
    running = sys._current_frames()
    rows = []
    for thread in of_the_program():
        if not _is_alive(thread) or raw.read(thread, "pydev_do_not_trace"):
            continue
        thread_id = id_of(stops, thread)
        py_db.notify_thread_created(thread_id, thread)
        top, own = _top_and_own(py_db, _visible(py_db, thread_id, running.get(raw.read(thread, "_ident")), OWN_WITHIN))
        rows.append(
            {
                "id": to_dap(thread_id),
                "name": name(thread),
                "halted": thread_id in halted or thread_id in stops.blocked,
                "marked": stops.is_marked(thread),
                "top": top,
                "own": own,
            }
        )
    return rows


def stack(stops: Any, dap_id: int) -> List[Dict[str, Any]]:
    """Of a thread that may be running: where it was at this moment."""
    wanted = from_dap(dap_id)
    for thread in of_the_program():
        if id_of(stops, thread) == wanted:
            top = sys._current_frames().get(raw.read(thread, "_ident"))
            return _frames(of_pydevd.pydevd.get_global_debugger(), wanted, top, LONGEST_STACK)
    return []


def of_the_program() -> List[Any]:
    """Threads that are not the debugger's. What a class of the program makes of them is not asked, here and below."""
    return [thread for thread in threading.enumerate() if not raw.read(thread, "is_pydev_daemon_thread")]


def _is_alive(thread: Any) -> bool:
    handle = raw.read(thread, "_handle")  # from Python 3.13 on
    if type(handle) is _HANDLE:
        return not handle.is_done()
    return raw.read(thread, "_is_stopped", False) is False


def id_of(stops: Any, thread: Any) -> Any:
    known = raw.read(thread, "__pydevd_id__") if is_quiet() else None
    return known or stops.thread_id(thread)


def name(thread: Any) -> str:
    found = raw.read(thread, "_name")
    return encodable(found) if type(found) is str else ""


def _frames(py_db: Any, thread_id: Any, top: Any, most: int) -> List[Dict[str, Any]]:
    return [told for _, told in islice(_visible(py_db, thread_id, top, most), most)]


def _top_and_own(py_db: Any, visible: Iterator[Tuple[Any, Dict[str, Any]]]) -> Tuple[Any, Optional[Dict[str, Any]]]:
    """Where a thread is, and if that is in a library, the program's own line that called it."""
    top = None
    for frame, told in islice(visible, OWN_WITHIN):
        if py_db.in_project_scope(frame):
            return top or told, told if top else None
        top = top or told
    return top, None


def _visible(py_db: Any, thread_id: Any, top: Any, most: int) -> Iterator[Tuple[Any, Dict[str, Any]]]:
    """As DAP describes frames, but without ids: nobody can evaluate in them."""
    frames = py_db.suspended_frames_manager.get_frames_list(thread_id)
    if frames is None:
        frames = of_pydevd.FramesList()
        while top is not None and len(frames) < most + HIDDEN:
            frames.append(top)
            top = top.f_back
    for info in py_db.cmd_factory._iter_visible_frames_info(py_db, frames):
        frame, name, original, path, line = info[1:6]
        if py_db.is_files_filter_enabled and py_db.apply_files_filter(frame, original, False):
            continue
        yield frame, {"name": name, "source": {"path": encodable(path)}, "line": line, "column": 1}
