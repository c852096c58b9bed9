"""Stops the program on exceptions that nothing catches, where they leave it: raising and catching costs nothing.

The main thread's leave through our launcher, or through `sys.excepthook` in a program that was attached to; those of
threads where the threading module takes them; those of functions that C calls, such as atexit's, where Python prints
them. pydevd would look at every frame that an exception leaves, to see whether there is another below.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Dict

from ..frames import is_foreign_file
from ..processes.spawning import hidden_from_debugger
from ..pydevd_patches import pydevd_parts
from ..pydevd_patches.endless_recursion import remove_debugger_frames
from ..python_versions import FORGETS_AFTER_RECURSION, monitoring

is_used = monitoring is not None
"""Whether these stops are ours; else pydevd makes them, but for endless recursion."""
runs_main = False
"""The program's first frame is called by our launcher."""
_BOTTOM = frozenset(("_bootstrap", "_bootstrap_inner", "run"))
"""Functions of the threading module that run a thread."""
_hooks: Dict[str, Any] = {}
"""Hooks of sys that ours stand in for, by name."""


def install() -> None:
    make = threading._make_invoke_excepthook  # type: ignore[attr-defined]
    threading._make_invoke_excepthook = hidden_from_debugger(lambda: _heard(make()))  # type: ignore[attr-defined]
    for thread in threading.enumerate():
        if "_invoke_excepthook" in thread.__dict__:
            thread._invoke_excepthook = _heard(thread._invoke_excepthook)  # type: ignore[attr-defined]


def follow_breakpoints(py_db: Any) -> None:
    """Have the hooks that pydevd's breakpoints of exceptions need now."""
    _replace_hooks(is_used and bool(py_db.break_on_uncaught_exceptions))


def end_session() -> None:
    _replace_hooks(False)


def leave_to_us(*args: Any) -> None:
    """Do nothing in place of pydevd: exceptions that nothing catches are noticed where they leave."""


def _heard(invoke: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return what calls a thread's excepthook, with a stop before it."""

    def invoke_excepthook(thread: Any) -> None:
        stop_in_thread(sys.exc_info()[1])
        invoke(thread)

    return hidden_from_debugger(invoke_excepthook)


def stop_in_thread(error: Any) -> None:
    if is_used and error is not None and not isinstance(error, SystemExit):
        _stop_on(error, error.__traceback__)


def stop_in_main(error: BaseException) -> None:
    """Stop on an exception that has reached our launcher."""
    remove_debugger_frames(error)
    if is_used or FORGETS_AFTER_RECURSION:
        _stop_on(error, error.__traceback__)


def _stop_on(error: BaseException, trace: Any) -> None:
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if py_db is None or py_db.pydb_disposed or not py_db.break_on_uncaught_exceptions:
        return
    while trace is not None and _is_below_program(trace.tb_frame.f_code):
        trace = trace.tb_next
    if trace is not None:
        py_db.trigger_exception_handler((type(error), error, trace))


def _is_below_program(code: Any) -> bool:
    if code.co_filename == threading.__file__:
        return code.co_name in _BOTTOM
    return is_foreign_file(code.co_filename)


# Hooks of sys, which are there only while somebody wants such stops.


def _replace_hooks(are_wanted: bool) -> None:
    stand_ins = {"unraisablehook": _unraisablehook} if runs_main else {**_STAND_INS}
    for name, stand_in in stand_ins.items() if are_wanted else ():
        if name not in _hooks:
            _hooks[name] = getattr(sys, name)
            setattr(sys, name, stand_in)
    for name in list(_hooks) if not are_wanted else ():
        original = _hooks.pop(name)
        if getattr(sys, name) is _STAND_INS[name]:
            setattr(sys, name, original)


def _excepthook(kind: Any, error: Any, trace: Any) -> Any:
    stop_in_thread(error)
    return _original("excepthook")(kind, error, trace)


def _unraisablehook(unraisable: Any) -> Any:
    stop_if_outermost(unraisable)
    return _original("unraisablehook")(unraisable)


def stop_if_outermost(unraisable: Any) -> None:
    """Stop if no other function of the program was under way: else it goes on, as after `__del__`."""
    error, trace = unraisable.exc_value, unraisable.exc_traceback
    caller = trace.tb_frame.f_back if trace is not None else None
    if is_used and error is not None and not isinstance(error, SystemExit) and caller is None:
        _stop_on(error, trace)


def _original(name: str) -> Any:
    return _hooks.get(name) or getattr(sys, "__%s__" % name)


_excepthook = hidden_from_debugger(_excepthook)
_unraisablehook = hidden_from_debugger(_unraisablehook)
_STAND_INS: Dict[str, Any] = {"excepthook": _excepthook, "unraisablehook": _unraisablehook}
