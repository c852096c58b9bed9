"""Threads that are blocked in a call, such as one that waits for a lock: they execute nothing until it returns.

Two looks tell it: in between, such a thread has neither come further nor been run by the system. One that is busy in a
call (or waits for its turn) has.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, List, Optional, Tuple

from . import raw

Look = Tuple[int, int, Optional[str]]
"""frame, instruction in it, and how the system has the thread"""
TOLD = ("State:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:")
RUNNABLE = "R ("
"""it works, or would if it were its turn"""

_before: Dict[int, Look] = {}


def at_rest(threads: Iterable[Any]) -> List[Any]:
    """Those that have not moved since the last call."""
    running = sys._current_frames()
    looks: Dict[int, Look] = {}
    found = []
    for thread in threads:
        ident = raw.read(thread, "_ident")
        frame = running.get(ident)
        if frame is not None:
            system = _system(raw.read(thread, "_native_id"))
            looks[ident] = (id(frame), frame.f_lasti, system)
            if _before.get(ident) == looks[ident] and RUNNABLE not in (system or ""):
                found.append(thread)
    _before.clear()
    _before.update(looks)
    return found


def _system(native_id: Any) -> Optional[str]:
    """Its state, and how often the system has switched to and from it, where that is told (Linux)."""
    try:
        with open("/proc/self/task/%d/status" % native_id) as status:
            return "".join(line for line in status if line.startswith(TOLD))
    except (OSError, TypeError):
        return None
