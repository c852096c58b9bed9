"""Finds the frame of the program that a call looks into, and its names.

In some nothing can run: those of a thread that is busy in a call, of a task that waits its turn. debugpy lists them and
then refuses to evaluate in them. The work is done on a thread of its own, for debugpy's command thread, which asked for
it, must never be held up.
"""

from __future__ import annotations

import sys
import threading
from itertools import chain
from types import FrameType
from typing import Any, Callable, Dict, Iterable, List, Optional

from ..frames import outward_frames, running_frames
from ..pydevd_patches import pydevd_parts
from ..threads import asyncio_tasks
from ..values import raw
from .interrupts import guard, is_quiet

kept_replies: Dict[Any, List[Any]] = {}
"""Replies by thread, and with them their references; debugpy keeps only those of its own evaluations."""
frames_looked_into: Dict[int, FrameType] = {}
"""The frame that a thread of ours looks into, by that thread's ident."""


def asked_frame() -> FrameType:
    """Return the frame that debugpy was asked to evaluate in."""
    found = frames_looked_into.get(threading.get_ident())
    if found is None:
        here = outward_frames(sys._getframe(1))
        found = next(frame for frame in here if frame.f_code.co_name == "evaluate_expression").f_locals["frame"]
    return found


def asked_names() -> Dict[str, Any]:
    """Return globals and locals in one, as debugpy made it; what changes here it writes back to the frame."""
    found = frames_looked_into.get(threading.get_ident())
    if found is not None or is_quiet():
        return names_in_frame(found or asked_frame())
    here = outward_frames(sys._getframe(1))
    return next(frame for frame in here if frame.f_code.co_filename == "<string>").f_globals


def names_in_frame(frame: Any) -> Dict[str, Any]:
    pairs = chain(frame_variables(frame.f_globals).items(), frame_variables(frame.f_locals).items())
    return {name: value for name, value in pairs if type(name) is str}


def frame_variables(namespace: Any) -> Dict[Any, Any]:
    """Return a snapshot of a frame's variables. A class body may have any mapping for them, which runs code."""
    found = raw.plain_variables(namespace)
    if found is not None:
        return dict(found)
    with guard() as running:
        return running.attempt(dict, namespace) or {}


def find_frame(dap_id: int) -> Optional[FrameType]:
    wanted = pydevd_parts.BaseSchema._dap_id_to_obj_id.get(dap_id)
    waiting = (frame for *_, frames in asyncio_tasks.pending_tasks() for frame in frames)
    return next((frame for frame in chain(running_frames(), waiting) if id(frame) == wanted), None)


def run_on_own_thread(work: Callable[[], Any], name: str = "look elsewhere") -> None:
    """Run something of the debugger's own beside the program: no stop halts it."""
    thread: Any = threading.Thread(target=work, name=name, daemon=True)
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True
    thread.start()


def forget_replies(thread_id: Any, kept: Iterable[Any]) -> None:
    """Forget what was said about a thread that goes on, or (None) about all but those that are kept."""
    for known in [thread_id] if thread_id is not None else set(kept_replies).difference(kept):
        kept_replies.pop(known, None)
