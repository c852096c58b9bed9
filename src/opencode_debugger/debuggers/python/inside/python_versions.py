"""Differences between the Pythons that programs run on (3.8 and newer): one row each, with what it means here.

A difference that can be found out by looking is found out by looking; the others are told by the version. The launchers
that every Python must understand (launch/child_debugpy_launcher.py, launch/below/sitecustomize.py) and the code that is
injected before this package is loaded (attach/injected.py) decide for themselves.
"""

from __future__ import annotations

import _thread
import builtins
import os
import sys
import threading
from types import CodeType
from typing import Any, Optional

VERSION = sys.version_info[:2]


# Up to 3.8.


def subscript_index(node: Any) -> Any:
    """Return the index of an `ast.Subscript`: up to 3.8 it has a node of its own around it."""
    return node.slice.value if type(node.slice).__name__ == "Index" else node.slice


# From 3.9 on.

HAS_ABSOLUTE_MAIN_FILE = VERSION >= (3, 9)
"""`__main__.__file__` is an absolute path; before, it is as the command line has it."""

# From 3.11 on.

FORK_EXEC_USER = 19 if VERSION >= (3, 11) else 18
"""The place of the user among the arguments of `_posixsubprocess.fork_exec`; 3.8 has none."""
EXCEPTION_GROUP: Any = getattr(builtins, "BaseExceptionGroup", None)
"""The class of exceptions that are made of others; None before 3.11."""
HAS_POSITIONS = hasattr(CodeType, "co_positions")
"""Code knows in which columns the text of each instruction is; before, a call is told by its name only."""
STDLIB_FOLDER: str = getattr(sys, "_stdlib_dir", None) or os.path.dirname(os.__file__)
"""Python knows the folder of its library; before, it is that of one of its modules."""


def stored_qualname(code: Any) -> Optional[str]:
    """Return the qualified name that code has; None before 3.11, where only its function knows."""
    return getattr(code, "co_qualname", None)


# From 3.12 on.

monitoring: Any = getattr(sys, "monitoring", None)
"""pydevd watches the program by `sys.monitoring`; before, by a trace function, and this is None."""
RAISING_LOOKS_LIKE_RETURNING = monitoring is None
"""A trace function is told of a function that raises as of one that returns None."""
FORGETS_AFTER_RECURSION = monitoring is None
"""The interpreter ends the tracing of a thread in which the trace function itself ran out of stack."""
FORK_WARNS_OF_THREADS = VERSION >= (3, 12)
"""Forking a process with several threads gives a warning, and the debugger's threads count."""
ORDERED_DICT_SHOWS_DICT = VERSION >= (3, 12)
"""The repr of an OrderedDict has a dict in it; before, a list of pairs."""
STAND_IN_THREAD: Any = getattr(threading, "_DeleteDummyThreadOnDel", None)
"""Takes threads that Python did not start off the list of threads when they end; None before 3.12."""
TASK_REGISTERS = ("_all_tasks", "_scheduled_tasks")
"""Names under which asyncio keeps its tasks: up to 3.11 the first, from 3.12 on the second."""

# From 3.13 on.

FRAME_LOCALS = type((lambda: sys._getframe().f_locals)())
"""The class of `f_locals` of a function's frame: a dict up to 3.12, then a view that writes through."""
THREAD_HANDLE: Any = getattr(_thread, "_ThreadHandle", None)
"""The class of `Thread._handle`, which knows whether the thread has ended; None before 3.13."""
JUMPS_ARE_LINES = VERSION >= (3, 13)
"""pydevd takes the events of lines for all there is to see; a loop on one line has none."""
NEEDS_START_EVENTS = VERSION >= (3, 13)
"""A function that begins and goes on on one line has an event for the line only if its start has one, too."""
SHOWS_LINES_OF_CODE = VERSION >= (3, 13)
"""Tracebacks show the lines of a program that was given by `-c`."""

# From 3.14 on.

ANNOTATIONS_RUN_CODE = VERSION >= (3, 14)
"""Annotations are computed when they are asked for."""
MAIN_HAS_ANNOTATIONS = VERSION < (3, 14)
"""`__main__` starts with an empty `__annotations__`."""
TASKS_ARE_IN_C = VERSION >= (3, 14)
"""asyncio's own tasks are in a list that only asyncio can read."""
