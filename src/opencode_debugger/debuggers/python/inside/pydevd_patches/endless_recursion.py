"""Repairs what endless recursion shows. The debugger's own calls need some depth too: they fail first, in the program's
name.

What is raised then has the debugger's frames at its end. And up to Python 3.11 the interpreter no longer tells it
about a thread in which it has failed, so that an exception which nothing catches would not stop the program.
"""

from __future__ import annotations

import sys
from typing import Any

from ..breakpoints.exception_stops import with_trace
from ..frames import is_foreign_file
from ..python_versions import monitoring

_COMPILED = "_pydevd_bundle/"
"""The folder in which debugpy's compiled parts say they are."""


def install() -> None:
    import pydevd
    from _pydevd_bundle import pydevd_breakpoints

    original = pydevd_breakpoints.stop_on_unhandled_exception

    def stop_on_unhandled_exception(py_db: Any, thread: Any, info: Any, arg: Any) -> None:
        remove_debugger_frames(with_trace(arg[1], arg[2]))
        original(py_db, thread, info, arg)

    places = [pydevd_breakpoints, pydevd]
    if monitoring is not None:
        places.append(sys.modules[pydevd.pydevd_sys_monitoring.start_monitoring.__module__])
    for place in places:
        place.stop_on_unhandled_exception = stop_on_unhandled_exception


def remove_debugger_frames(error: Any) -> None:
    """Take the debugger out of an exception that its own calls have caused."""
    known = set()
    while isinstance(error, BaseException) and id(error) not in known:
        known.add(id(error))
        if isinstance(error, RecursionError):
            _cut_traceback(error.__traceback__)
            while error.__context__ is not None and _is_debugger_trace(error.__context__.__traceback__):
                error.__context__ = error.__context__.__context__
        error = error.__cause__ or error.__context__


def _cut_traceback(trace: Any) -> None:
    """Cut behind the last frame of the program; what is before the first one is hidden elsewhere."""
    while trace is not None and _is_debugger_trace(trace):
        trace = trace.tb_next
    while trace is not None and trace.tb_next is not None:
        if _is_debugger_trace(trace.tb_next):
            trace.tb_next = None
        trace = trace.tb_next


def _is_debugger_trace(trace: Any) -> bool:
    if trace is None:
        return False
    name = trace.tb_frame.f_code.co_filename
    return is_foreign_file(name) or name.startswith(_COMPILED)
