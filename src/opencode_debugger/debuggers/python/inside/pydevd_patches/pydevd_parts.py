"""Holds the parts of the debugger that read-only calls use, imported before the program can replace anything.

Even an import of what is loaded already calls `builtins.__import__`, which a program may have replaced. And this
cannot be done where those modules are loaded: they are tested without a debugger.
"""

from __future__ import annotations

import os
from types import CodeType
from typing import Any, FrozenSet, Tuple, cast

pydevd: Any = None
BaseSchema: Any = None
"""Knows threads and frames by their numbers in messages."""
FramesList: Any = None
NetCommand: Any = None
"""A message to the runner."""
get_thread_id: Any = None
commands: Any = None
"""The numbers of messages, and of the reasons of stops and steps."""
step_reasons: FrozenSet[int] = frozenset()
"""Those of them that say that a step is done."""
file_utils: Any = None
"""Knows files by the names that code has for them."""
tracing: Any = None
"""Sets trace functions, in this thread and in others."""
FOLDER = ""
"""The folder of debugpy."""
STATE_RUN: Any = None
"""The state of a thread that is not halted and not about to be."""
suspend_threads_lock: Any = None
"""Is held by whoever halts threads or lets them go."""


def known_paths(code: CodeType) -> Tuple[str, str, str]:
    """Return a file's path as the program names it, then as pydevd knows it, then its name."""
    return cast("Tuple[str, str, str]", file_utils.get_abs_path_real_path_and_base_from_file(code.co_filename))


def replace_methods(kind: Any, *functions: Any) -> None:
    """Have these functions take the place of a class's methods of the same names."""
    for function in functions:
        setattr(kind, function.__name__, function)


def hide_functions(*functions: Any) -> None:
    """Hide functions that run on the program's threads from steps and breakpoints, as pydevd's own files are."""
    from _pydevd_bundle import pydevd_utils

    for function in functions:
        function.__code__ = function.__code__.replace(co_filename=pydevd_utils.__file__)


def install() -> None:
    global pydevd, BaseSchema, FramesList, get_thread_id, commands, file_utils, tracing, FOLDER, STATE_RUN
    global suspend_threads_lock, NetCommand, step_reasons
    import debugpy
    import pydevd as loaded
    import pydevd_file_utils
    import pydevd_tracing
    from _pydevd_bundle import (
        pydevd_comm_constants,
        pydevd_constants,
        pydevd_frame_utils,
        pydevd_net_command,
        pydevd_thread_lifecycle,
    )
    from _pydevd_bundle._debug_adapter import pydevd_base_schema

    pydevd, FOLDER = loaded, os.path.dirname(debugpy.__file__)
    commands, file_utils, tracing = pydevd_comm_constants, pydevd_file_utils, pydevd_tracing
    names = ("OVER", "INTO", "RETURN", "OVER_MY_CODE", "INTO_MY_CODE", "RETURN_MY_CODE", "INTO_COROUTINE")
    step_reasons = frozenset(getattr(commands, "CMD_STEP_" + name) for name in names)
    NetCommand = pydevd_net_command.NetCommand
    BaseSchema, FramesList = pydevd_base_schema.BaseSchema, pydevd_frame_utils.FramesList
    get_thread_id, STATE_RUN = pydevd_constants.get_thread_id, pydevd_constants.STATE_RUN
    suspend_threads_lock = pydevd_thread_lifecycle.suspend_threads_lock
