"""Finds threads that are blocked in a call, such as one that waits for a lock: they execute nothing until it returns.

Two looks tell it: in between, such a thread has neither come further nor been run by the system. One that is busy in a
call (or waits for its turn) has.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..values import raw

Look = Tuple[int, int, Optional[str]]
"""frame, instruction in it, and the system's status of the thread"""
STATUS_LINES = ("State:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:")
RUNNABLE = "R ("
"""The state of a thread that works, or would if it were its turn."""

_last_looks: Dict[int, Look] = {}


def threads_at_rest(threads: Iterable[Any]) -> List[Any]:
    """Return the threads that have not moved since the last call."""
    running = sys._current_frames()
    looks: Dict[int, Look] = {}
    found = []
    for thread in threads:
        ident = raw.read_attribute(thread, "_ident")
        frame = running.get(ident)
        if frame is not None:
            system = _system_status(raw.read_attribute(thread, "_native_id"))
            looks[ident] = (id(frame), frame.f_lasti, system)
            if _last_looks.get(ident) == looks[ident] and RUNNABLE not in (system or ""):
                found.append(thread)
    _last_looks.clear()
    _last_looks.update(looks)
    return found


def _system_status(native_id: Any) -> Optional[str]:
    """Return a thread's state and how often the system has switched to and from it, where that is told (Linux)."""
    try:
        with open("/proc/self/task/%d/status" % native_id) as status:
            return "".join(line for line in status if line.startswith(STATUS_LINES))
    except (OSError, TypeError):
        return None
