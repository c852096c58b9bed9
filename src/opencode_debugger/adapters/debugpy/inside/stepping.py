"""Mends steps that an exception cuts short.

From Python 3.12 on pydevd uses sys.monitoring, and there it forgets a step over or out when an exception leaves the
frame: the program runs away. Here such a step goes on to wherever the exception is handled.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Dict

NAME = "opencode-debugger"
TOOLS = (4, 3)
"""Of sys.monitoring, the one to use first."""


def install() -> None:
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    import pydevd
    from _pydevd_bundle import pydevd_comm_constants as commands

    goes_on: Dict[int, int] = {
        commands.CMD_STEP_OVER: commands.CMD_STEP_INTO,
        commands.CMD_STEP_RETURN: commands.CMD_STEP_INTO,
        commands.CMD_STEP_OVER_MY_CODE: commands.CMD_STEP_INTO_MY_CODE,
        commands.CMD_STEP_RETURN_MY_CODE: commands.CMD_STEP_INTO_MY_CODE,
    }

    def on_unwind(code: Any, offset: int, error: BaseException) -> None:
        thread = threading._active.get(threading.get_ident())  # type: ignore[attr-defined]
        info = getattr(thread, "additional_info", None)
        if info is None or info.pydev_step_cmd not in goes_on:
            return
        frame = sys._getframe(1)
        py_db = pydevd.get_global_debugger()
        if info.pydev_step_stop is frame and py_db is not None:
            info.pydev_step_cmd = goes_on[info.pydev_step_cmd]
            info.pydev_step_stop = None
            info.update_stepping_info()
            py_db.set_trace_for_frame_and_parents(threading.get_ident(), frame.f_back)

    for tool in TOOLS:
        if monitoring.get_tool(tool) in (None, NAME):
            uninstall()
            monitoring.use_tool_id(tool, NAME)
            monitoring.register_callback(tool, monitoring.events.PY_UNWIND, on_unwind)
            monitoring.set_events(tool, monitoring.events.PY_UNWIND)
            return


def uninstall() -> None:
    monitoring: Any = getattr(sys, "monitoring", None)
    for tool in TOOLS if monitoring is not None else ():
        if monitoring.get_tool(tool) == NAME:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, monitoring.events.PY_UNWIND, None)
            monitoring.free_tool_id(tool)
