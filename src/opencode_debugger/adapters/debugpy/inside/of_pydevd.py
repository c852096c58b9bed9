"""What calls for those who may only read use of the debugger, imported before the program can have a say in it.

Even an import of what is loaded already calls `builtins.__import__`, which a program may have replaced. And this
cannot be done where those modules are loaded: they are tested without a debugger.
"""

from __future__ import annotations

import os
from typing import Any

pydevd: Any = None
BaseSchema: Any = None
"""knows threads and frames by their numbers in messages"""
FramesList: Any = None
get_thread_id: Any = None
CAUGHT: Any = None
"""the reason for a stop at an exception that somebody may handle"""
FOLDER = ""
"""of debugpy"""


def install() -> None:
    global pydevd, BaseSchema, FramesList, get_thread_id, CAUGHT, FOLDER
    import debugpy
    import pydevd as loaded
    from _pydevd_bundle import pydevd_comm_constants, pydevd_constants, pydevd_frame_utils
    from _pydevd_bundle._debug_adapter import pydevd_base_schema

    pydevd, FOLDER = loaded, os.path.dirname(debugpy.__file__)
    BaseSchema, FramesList = pydevd_base_schema.BaseSchema, pydevd_frame_utils.FramesList
    get_thread_id, CAUGHT = pydevd_constants.get_thread_id, pydevd_comm_constants.CMD_STEP_CAUGHT_EXCEPTION
