"""Lists threads, whether they are halted, and where they are, without halting anything."""

from __future__ import annotations

import sys
import threading
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

from ..frames import outward_frames
from ..pydevd_patches import pydevd_parts
from ..python_versions import THREAD_HANDLE
from ..rpc.interrupts import is_quiet
from ..values import raw
from ..values.atom_texts import encodable

if TYPE_CHECKING:
    from ....rows import FrameRow, ThreadRow

    Visible = Iterator[Tuple[FrameType, FrameRow]]

LONGEST_STACK = 1000
OWN_WITHIN = 30
MOST_HIDDEN = 200
"""Frames of the debugger and of libraries that may be above and among those that are shown."""


def from_dap(thread: int) -> object:
    """Return debugpy's own id of a thread by the number that it goes by in messages."""
    return pydevd_parts.BaseSchema._dap_id_to_obj_id.get(thread)


def to_dap(thread_id: Any) -> int:
    return int(pydevd_parts.BaseSchema._translate_id_to_dap(thread_id))


def list_threads(stops: Any) -> List[ThreadRow]:
    """Return every thread of the program, as debugpy numbers and names them."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    halted = py_db.threads_suspended_single_notification._suspended_thread_id_to_thread
    running = sys._current_frames()
    rows: List[ThreadRow] = []
    for thread in program_threads():
        if not _is_alive(thread) or raw.read_attribute(thread, "pydev_do_not_trace"):
            continue
        thread_id = thread_id_of(stops, thread)
        py_db.notify_thread_created(thread_id, thread)
        frame = running.get(raw.read_attribute(thread, "_ident"))
        top, own = _top_and_own(py_db, _visible_frames(py_db, thread_id, frame, OWN_WITHIN))
        row: ThreadRow = {"id": to_dap(thread_id), "name": thread_name(thread), "top": top, "own": own}
        row["halted"] = thread_id in halted or thread_id in stops.blocked
        row["marked"] = stops.is_marked(thread)
        rows.append(row)
    return rows


def list_frames(stops: Any, dap_id: int) -> List[FrameRow]:
    """Return the frames of a thread that may be running: where it was at this moment."""
    py_db, wanted = pydevd_parts.pydevd.get_global_debugger(), from_dap(dap_id)
    for thread in program_threads():
        if thread_id_of(stops, thread) == wanted:
            top = sys._current_frames().get(raw.read_attribute(thread, "_ident"))
            return [row for _, row in islice(_visible_frames(py_db, wanted, top, LONGEST_STACK), LONGEST_STACK)]
    return []


def program_threads() -> List[Any]:
    """Return the threads that are not the debugger's.

    Their classes may be the program's, and are not asked, here and below."""
    return [thread for thread in threading.enumerate() if not raw.read_attribute(thread, "is_pydev_daemon_thread")]


def _is_alive(thread: Any) -> bool:
    handle = raw.read_attribute(thread, "_handle")
    if type(handle) is THREAD_HANDLE:  # a class of the program may have something else of that name
        return not handle.is_done()
    return raw.read_attribute(thread, "_is_stopped", False) is False


def thread_id_of(stops: Any, thread: Any) -> object:
    known = raw.read_attribute(thread, "__pydevd_id__") if is_quiet() else None
    return known or stops.thread_id(thread)


def thread_name(thread: Any) -> str:
    found = raw.read_attribute(thread, "_name")
    return encodable(found) if type(found) is str else ""


def _top_and_own(py_db: Any, visible: Visible) -> Tuple[Optional[FrameRow], Optional[FrameRow]]:
    """Return where a thread is, and if that is in a library, the program's own line that called it."""
    top: Optional[FrameRow] = None
    for frame, told in islice(visible, OWN_WITHIN):
        if py_db.in_project_scope(frame):
            return top or told, told if top else None
        top = top or told
    return top, None


def _visible_frames(py_db: Any, thread_id: object, top: Optional[FrameType], most: int) -> Visible:
    """Yield frames as DAP describes them, but without ids: nobody can evaluate in them."""
    frames = py_db.suspended_frames_manager.get_frames_list(thread_id)
    if frames is None:
        frames = pydevd_parts.FramesList()
        for frame in islice(outward_frames(top), most + MOST_HIDDEN):
            frames.append(frame)
    for info in py_db.cmd_factory._iter_visible_frames_info(py_db, frames):
        frame, name, original, path, line = info[1:6]
        if py_db.is_files_filter_enabled and py_db.apply_files_filter(frame, original, False):
            continue
        yield frame, {"name": name, "source": {"path": encodable(path)}, "line": line, "column": 1}
