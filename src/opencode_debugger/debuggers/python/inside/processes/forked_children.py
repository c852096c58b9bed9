"""Lets go of forked children: they inherit the debugger's tracing without its threads, and would wait for ever."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Any

from .. import full_speed, recording


def install() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=let_go)


def let_go() -> None:
    import pydevd_tracing
    from _pydevd_bundle import pydevd_constants

    pydevd_tracing.restore_sys_set_trace_func()  # pydevd's own would warn of being used
    sys.settrace(None)
    threading.settrace(None)
    full_speed.end_session()
    recording.leave_fork()
    py_db: Any = pydevd_constants.get_global_debugger()
    if py_db is not None:
        pydevd_constants.set_global_debugger(None)
        py_db.pydb_disposed = True
        sock = getattr(py_db.writer, "sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                os.close(sock.detach())  # only this process' copy: the parent's conversation goes on

