"""Endless recursion. The debugger's own calls need some depth too: they fail first, in the program's name.

What is raised then has the debugger's frames at its end. And up to Python 3.11 the interpreter no longer tells it
about a thread in which it has failed, so that an exception which nothing catches would not stop the program.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from .raised import with_trace
from .returned import is_debugger_file

_LAUNCHER = "debugpy_launcher.py"
_COMPILED = "_pydevd_bundle/"
"""Where debugpy's compiled parts say they are."""


def install() -> None:
    import pydevd
    from _pydevd_bundle import pydevd_breakpoints

    original = pydevd_breakpoints.stop_on_unhandled_exception

    def stop_on_unhandled_exception(py_db: Any, thread: Any, info: Any, arg: Any) -> None:
        clean(with_trace(arg[1], arg[2]))
        original(py_db, thread, info, arg)

    places = [pydevd_breakpoints, pydevd]
    if sys.version_info >= (3, 12):
        places.append(sys.modules[pydevd.pydevd_sys_monitoring.start_monitoring.__module__])
    for place in places:
        place.stop_on_unhandled_exception = stop_on_unhandled_exception


def uncaught(error: BaseException) -> None:
    """Of the main thread: stops after all, if the debugger has not heard of it."""
    import pydevd
    from _pydevd_bundle.pydevd_additional_thread_info import set_additional_thread_info

    clean(error)
    py_db = pydevd.get_global_debugger()
    if sys.version_info >= (3, 12) or py_db is None or py_db.pydb_disposed:
        return
    thread = threading.current_thread()
    arg = (type(error), error, error.__traceback__)
    py_db.stop_on_unhandled_exception(py_db, thread, set_additional_thread_info(thread), arg)


def clean(error: Any) -> None:
    """Takes the debugger out of an exception that its own calls have caused."""
    known = set()
    while isinstance(error, BaseException) and id(error) not in known:
        known.add(id(error))
        if isinstance(error, RecursionError):
            _cut(error.__traceback__)
            while error.__context__ is not None and _is_debuggers(error.__context__.__traceback__):
                error.__context__ = error.__context__.__context__
        error = error.__cause__ or error.__context__


def _cut(trace: Any) -> None:
    """Behind the last frame of the program; what is before the first one is for others to hide."""
    while trace is not None and _is_debuggers(trace):
        trace = trace.tb_next
    while trace is not None and trace.tb_next is not None:
        if _is_debuggers(trace.tb_next):
            trace.tb_next = None
        trace = trace.tb_next


def _is_debuggers(trace: Any) -> bool:
    if trace is None:
        return False
    name = trace.tb_frame.f_code.co_filename
    return is_debugger_file(name) or name.endswith(_LAUNCHER) or name.startswith(_COMPILED)
