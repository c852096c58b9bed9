"""Repairs steps that an exception cuts short.

From Python 3.12 on pydevd uses sys.monitoring, and there it forgets a step over or out when an exception leaves the
frame: the program runs away. Here such a step goes on to wherever the exception is handled.
"""

from __future__ import annotations

import threading
from typing import Any

from . import pydevd_parts


def follow_exception(frame: Any) -> bool:
    """Let the step of this frame, which an exception is leaving, go on; return False if there is none."""
    from _pydevd_bundle import pydevd_comm_constants as commands

    goes_on = {
        commands.CMD_STEP_OVER: commands.CMD_STEP_INTO,
        commands.CMD_STEP_RETURN: commands.CMD_STEP_INTO,
        commands.CMD_STEP_OVER_MY_CODE: commands.CMD_STEP_INTO_MY_CODE,
        commands.CMD_STEP_RETURN_MY_CODE: commands.CMD_STEP_INTO_MY_CODE,
    }
    ident = threading.get_ident()
    info = getattr(threading._active.get(ident), "additional_info", None)  # type: ignore[attr-defined]
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if info is None or info.pydev_step_cmd not in goes_on or info.pydev_step_stop is not frame or py_db is None:
        return False
    info.pydev_step_cmd = goes_on[info.pydev_step_cmd]
    info.pydev_step_stop = None
    info.update_stepping_info()
    py_db.set_trace_for_frame_and_parents(ident, frame.f_back)
    return True
