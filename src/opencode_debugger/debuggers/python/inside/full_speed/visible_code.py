"""Shows the program the code of its functions as the compiler made it, while some of it has tests.

What reads `__code__` finds no tests there: pickling by value, marshal, caches that hash it, compilers such as numba.
Code that the program gives to a function gets its tests. Frames have the code that they run.
"""

from __future__ import annotations

import ctypes
import gc
from types import CodeType, FunctionType
from typing import Any, Callable, Dict

from ..original_code import CODE_OF_FUNCTION, read_code, write_code
from ..processes.spawning import hidden_from_debugger

Convert = Callable[[CodeType], CodeType]


def show_compiled(as_compiled: Convert, prepare: Convert) -> None:
    """Answer `function.__code__` with `as_compiled(code)`, and give functions `prepare(code)` from now on."""

    def get_code(function: Any) -> CodeType:
        return as_compiled(read_code(function))

    def set_code(function: Any, code: Any) -> None:
        write_code(function, prepare(code) if type(code) is CodeType else code)

    _replace_descriptor(property(hidden_from_debugger(get_code), hidden_from_debugger(set_code)))


def show_all() -> None:
    """Answer as Python does."""
    _replace_descriptor(CODE_OF_FUNCTION)


def _replace_descriptor(new: Any) -> None:
    names: Dict[str, Any] = gc.get_referents(FunctionType.__dict__)[0]
    names["__code__"] = new
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(FunctionType))
