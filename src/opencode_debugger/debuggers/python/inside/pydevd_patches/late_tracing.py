"""Repairs that threads get trace functions while the interpreter ends (up to Python 3.11).

pydevd starts a thread for that. If the program's threads have ended meanwhile, the interpreter frees the state of that
thread before it has begun, and crashes; so it waits, and afterwards no thread is started any more.
"""

from __future__ import annotations

import atexit
from threading import RLock
from typing import Any

from . import pydevd_parts

PATIENCE = 5.0
"""Seconds after which the end waits no longer for a debugger that is stuck."""
_lock = RLock()
_is_ending = False


def install() -> None:
    import pydevd_tracing

    original = pydevd_tracing.set_trace_to_threads

    def set_trace_to_threads(*args: Any, **options: Any) -> object:
        has_lock = _lock.acquire(timeout=PATIENCE)  # in a forked child, a thread may have it that is no more
        try:
            return 0 if _is_ending else original(*args, **options)
        finally:
            if has_lock:
                _lock.release()

    pydevd_parts.hide_functions(set_trace_to_threads)
    pydevd_tracing.set_trace_to_threads = set_trace_to_threads
    atexit.register(_end_tracing)  # the first to be registered is the last to be called


def _end_tracing() -> None:
    global _is_ending
    has_lock = _lock.acquire(timeout=PATIENCE)
    _is_ending = True
    if has_lock:
        _lock.release()
