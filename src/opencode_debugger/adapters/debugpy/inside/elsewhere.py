"""Looks into frames in which nothing can run: of a thread that is busy in a call, of a task that waits for its turn.

debugpy lists such a thread's frames and then refuses to evaluate in them. The work is done on a thread of its own, for
debugpy's command thread, which asked for it, must never be held up.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Dict, Iterable, List

from . import of_pydevd, tasks

KEPT: Dict[Any, List[Any]] = {}
"""Replies by thread, and with them their references; debugpy keeps only those of its own evaluations."""
looked_into: Dict[int, Any] = {}
"""The frame that a thread of ours looks into, by that thread's ident."""


def keep(thread_id: Any, reply: Any) -> None:
    KEPT.setdefault(thread_id, []).append(reply)


def forget(thread_id: Any, kept: Iterable[Any]) -> None:
    """What was said about a thread that goes on, or (None) about all but those that are kept."""
    for known in [thread_id] if thread_id is not None else set(KEPT).difference(kept):
        KEPT.pop(known, None)


def find_frame(dap_id: int) -> Any:
    wanted = of_pydevd.BaseSchema._dap_id_to_obj_id.get(dap_id)
    for top in sys._current_frames().values():
        frame: Any = top
        while frame is not None:
            if id(frame) == wanted:
                return frame
            frame = frame.f_back
    return next((frame for *_, frames in tasks.pending() for frame in frames if id(frame) == wanted), None)


def run(work: Callable[[], Any]) -> None:
    thread: Any = threading.Thread(target=work, name="look elsewhere", daemon=True)
    thread.pydev_do_not_trace = True
    thread.is_pydev_daemon_thread = True
    thread.start()
