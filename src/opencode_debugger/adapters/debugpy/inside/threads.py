"""Which threads there are, whether they are halted, and where they are: read without halting anything."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .texts import encodable

LONGEST_STACK = 1000
OWN_WITHIN = 30
HIDDEN = 200
"""Frames of the debugger and of libraries that may be above and among those that are shown."""


def from_dap(thread: int) -> Any:
    """debugpy's own id of a thread by the number that it goes by in messages."""
    from _pydevd_bundle._debug_adapter.pydevd_base_schema import BaseSchema

    return BaseSchema._dap_id_to_obj_id.get(thread)


def listed(stops: Any) -> List[Dict[str, Any]]:
    """Every thread of the program, as debugpy numbers and names them."""
    import pydevd
    from _pydev_bundle.pydev_is_thread_alive import is_thread_alive
    from _pydevd_bundle._debug_adapter.pydevd_base_schema import BaseSchema
    from _pydevd_bundle.pydevd_utils import get_non_pydevd_threads

    py_db = pydevd.get_global_debugger()
    running = sys._current_frames()
    rows = []
    for thread in get_non_pydevd_threads():
        if not is_thread_alive(thread) or getattr(thread, "pydev_do_not_trace", None):
            continue
        thread_id = stops.thread_id(thread)
        py_db.notify_thread_created(thread_id, thread)
        top, own = _top_and_own(py_db, _visible(py_db, thread_id, running.get(thread.ident), OWN_WITHIN))
        rows.append(
            {
                "id": BaseSchema._translate_id_to_dap(thread_id),
                "name": encodable(thread.name),
                "halted": thread_id in py_db.threads_suspended_single_notification._suspended_thread_id_to_thread,
                "marked": stops.is_marked(thread),
                "top": top,
                "own": own,
            }
        )
    return rows


def stack(stops: Any, dap_id: int) -> List[Dict[str, Any]]:
    """Of a thread that may be running: where it was at this moment."""
    import pydevd
    from _pydevd_bundle.pydevd_utils import get_non_pydevd_threads

    wanted = from_dap(dap_id)
    for thread in get_non_pydevd_threads():
        if stops.thread_id(thread) == wanted:
            top = sys._current_frames().get(thread.ident)
            return _frames(pydevd.get_global_debugger(), wanted, top, LONGEST_STACK)
    return []


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
    from _pydevd_bundle.pydevd_frame_utils import FramesList

    frames = py_db.suspended_frames_manager.get_frames_list(thread_id)
    if frames is None:
        frames = FramesList()
        while top is not None and len(frames) < most + HIDDEN:
            frames.append(top)
            top = top.f_back
    for info in py_db.cmd_factory._iter_visible_frames_info(py_db, frames):
        frame, name, original, path, line = info[1:6]
        if py_db.is_files_filter_enabled and py_db.apply_files_filter(frame, original, False):
            continue
        yield frame, {"name": name, "source": {"path": encodable(path)}, "line": line, "column": 1}
