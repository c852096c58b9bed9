"""Lets go of forked children: they inherit the debugger's tracing without its threads, and would wait for ever."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any


def install() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=let_go)


def let_go() -> None:
    import pydevd_tracing
    from _pydevd_bundle import pydevd_constants

    pydevd_tracing.restore_sys_set_trace_func()  # its own would warn of being used
    sys.settrace(None)
    threading.settrace(None)
    _stop_monitoring(getattr(sys, "monitoring", None))
    py_db: Any = pydevd_constants.get_global_debugger()
    if py_db is not None:
        pydevd_constants.set_global_debugger(None)
        py_db.pydb_disposed = True
        _close_quietly(py_db)


def _stop_monitoring(monitoring: Any) -> None:
    if monitoring is None:
        return
    for tool in range(6):
        if monitoring.get_tool(tool) in ("pydevd", "opencode-debugger"):
            for event in _single_events(monitoring.events):
                monitoring.register_callback(tool, event, None)
            monitoring.set_events(tool, 0)


def _single_events(events: Any) -> Any:
    values = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, int)}
    return sorted(value for value in values if value and not value & (value - 1))


def _close_quietly(py_db: Any) -> None:
    """Only this process' copy of the socket; the parent's conversation goes on."""
    sock = getattr(py_db.writer, "sock", None)
    try:
        if sock is not None:
            os.close(sock.detach())
    except OSError:
        pass
