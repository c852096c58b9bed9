"""On which exceptions the program stops: decided here, by their classes' names and by conditions.

pydevd resolves names when it is told of them, which fails for classes that are not there yet; here it only hears "all
of them". As it comes, it also stops in every frame that a raised exception passes, and on those that libraries raise
and handle among themselves: dozens of stops before a program that imports argparse has begun. Here it stops once for
each, where it first reaches code of the program's own.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Optional, Tuple
from weakref import WeakKeyDictionary

from . import breakpoints, failing_tests, of_pydevd, raw
from .names import class_name, mro

MODES = ("raised", "uncaught", "user_unhandled")
_TABLES = {
    "raised": "break_on_caught_exceptions",
    "uncaught": "break_on_uncaught_exceptions",
    "user_unhandled": "break_on_user_uncaught_exceptions",
}
"""where pydevd keeps them"""
TEST_FAILURE = "test_failure"
"""A filter of ours: pydevd knows nothing of tests."""

Send = Callable[[str, Dict[str, Any]], None]


class Rule:
    def __init__(self, number: int, filters: List[str], exceptions: List[str], condition: Optional[str]) -> None:
        self.number = number
        self.filters = frozenset(filters)
        self.names = [name.split(".") for name in exceptions]
        self.condition = compile(condition.strip(), "<condition>", "eval") if condition else None
        self._known: WeakKeyDictionary[type, bool] = WeakKeyDictionary()

    @property
    def means_all(self) -> bool:
        return not self.names and self.condition is None

    def means(self, kind: type) -> bool:
        """Whether one of the names is that of the class or of a base: its last part, or as much as is given."""
        if not self.names:
            return True
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = any(_is_named(base, self.names) for base in mro(kind))
        return known


def _is_named(kind: type, names: List[List[str]]) -> bool:
    full = ".".join(class_name(kind)).split(".")
    return any(full[-len(name) :] == name for name in names)


_rules: List[Rule] = []
_raising: Dict[int, Any] = {}
"""by thread: the exception that pydevd is about to ask about, its traceback, and whether it only passes on"""
_hits: Dict[Tuple[int, str], List[int]] = {}
"""by thread and filter: the rules for which it stops"""


def install() -> None:
    import pydevd

    original = pydevd.PyDB.exclude_exception_by_filter

    def exclude_exception_by_filter(self: Any, exception_breakpoint: Any, trace: Any) -> bool:
        if original(self, exception_breakpoint, trace):
            return True
        if not any(exception_breakpoint is known for known in self.break_on_caught_exceptions.values()):
            return False
        if trace is None or not _is_own(self, trace.tb_frame):
            return True
        inner = trace.tb_next
        while inner is not None:
            if _is_own(self, inner.tb_frame):
                return True  # it stopped there already
            inner = inner.tb_next
        return False

    pydevd.PyDB.exclude_exception_by_filter = exclude_exception_by_filter


def _is_own(py_db: Any, frame: Any) -> bool:
    return frame.f_code.co_filename == "<string>" or bool(py_db.in_project_scope(frame))


def define(rules: List[Dict[str, Any]], send: Send) -> None:
    """From now on these and no others."""
    import pydevd

    py_db = pydevd.get_global_debugger()
    py_db.ignore_system_exit_code = lambda exception: True  # an exit is no crash, with whatever words it is made
    _rules[:] = [Rule(**rule) for rule in rules]
    _ask_for_types(py_db, not all(rule.means_all for rule in _rules))
    _ask_for_values(py_db, any(_decides(mode) for mode in ("raised", "user_unhandled")))
    for mode, table in _TABLES.items():
        known = {"BaseException": _breakpoint(py_db, mode)} if _of(mode) else {}
        setattr(py_db, table, known)
    py_db.on_breakpoints_changed()
    failing_tests.watch((lambda error: _test_failed(error, send)) if _of(TEST_FAILURE) else None)


def _test_failed(error: BaseException, send: Send) -> None:
    """Stops where it was raised: its frames are all still there, only nothing runs in them any more."""
    import pydevd

    py_db, trace = pydevd.get_global_debugger(), raw.exception_traceback(error)
    if py_db is None or py_db.pydb_disposed or trace is None:
        return
    trace = last = _from_program(trace)
    while last.tb_next is not None:
        last = last.tb_next
    rules = [rule for rule in _of(TEST_FAILURE) if rule.means(type(error))]
    hits = [rule.number for rule in rules if _holds(rule, error, last.tb_frame, send)]
    if hits:
        _hits[threading.get_ident(), TEST_FAILURE] = hits
        py_db.trigger_exception_handler((type(error), error, trace), as_uncaught=False)


def _from_program(trace: Any) -> Any:
    """Without the generators into which the exception was thrown (`with self.subTest()`): whoever threw it, and so is
    below them on the stack, comes again behind them."""
    first = trace
    while trace is not None:
        inner, caller = trace.tb_next, trace.tb_frame.f_back
        while inner is not None and caller is not None and caller is not inner.tb_frame:
            caller = caller.f_back
        if inner is not None and caller is not None:
            first = inner
        trace = inner
    return first


def _comes_back(trace: Any) -> bool:
    """Whether it was thrown into a generator (`with managed():`) by code that it came from, and goes back there."""
    raisers, inner, caller = set(), trace.tb_next, trace.tb_frame.f_back
    while inner is not None:
        raisers.add(inner.tb_frame)
        inner = inner.tb_next
    while caller is not None and caller not in raisers:
        caller = caller.f_back
    return caller is not None


def at_stop() -> Tuple[Optional[BaseException], Any]:
    """The exception that this thread has stopped on, with its traceback, as pydevd was told of it."""
    py_db = of_pydevd.pydevd.get_global_debugger()
    frames = py_db.suspended_frames_manager.get_frames_list(raw.read(threading.current_thread(), "__pydevd_id__"))
    return (None, None) if frames is None else (frames.exc_desc, frames.trace_obj)


def _of(mode: str) -> List[Rule]:
    return [rule for rule in _rules if mode in rule.filters]


def _decides(mode: str) -> bool:
    """Whether there is more to decide than that there is an exception, or to remember about it."""
    rules = _of(mode)
    return bool(rules) and (mode == "user_unhandled" or not all(rule.means_all for rule in rules))


def _breakpoint(py_db: Any, mode: str) -> Any:
    from _pydevd_bundle.pydevd_breakpoints import ExceptionBreakpoint

    condition = "__import__('_ocdb').stops_on_exception(%r)" % mode if _decides(mode) else None
    flags = [mode == each for each in MODES]
    return ExceptionBreakpoint("BaseException", condition, None, *flags, False, bool(py_db.get_use_libraries_filter()))


def _ask_for_types(py_db: Any, is_needed: bool) -> None:
    """Exceptions of other classes are let pass before anything else is looked at."""
    from _pydevd_bundle.pydevd_breakpoints import get_exception_breakpoint

    def of_a_type(kind: Any, known: Any) -> Any:
        found = get_exception_breakpoint(kind, known)
        if found is None:
            return None
        mode = next(mode for mode, table in _TABLES.items() if found in getattr(py_db, table).values())
        return found if any(rule.means(kind) for rule in _of(mode)) else None

    py_db.get_exception_breakpoint = of_a_type if is_needed else get_exception_breakpoint


def _ask_for_values(py_db: Any, is_needed: bool) -> None:
    """pydevd tells only its plugins which exception it is, before it asks whether to stop."""
    if not is_needed:
        if py_db.plugin is not None:
            py_db.plugin.__dict__.pop("exception_break", None)
        return
    plugin = py_db.get_plugin_lazy_init()
    original = type(plugin).exception_break

    def exception_break(py_db: Any, frame: Any, thread: Any, arg: Any, is_unwind: bool = False) -> Any:
        if any(rule.means(arg[0]) for rule in _rules):
            _raising[threading.get_ident()] = (with_trace(*arg[1:]), arg[2], is_unwind)
        return original(plugin, py_db, frame, thread, arg, is_unwind)

    plugin.exception_break = exception_break


def stops(mode: str, scope: Any, send: Send) -> bool:
    """`scope` is the frame in which pydevd evaluates the condition; that of uncaught ones has the exception."""
    thread = threading.get_ident()
    if mode == "uncaught":
        _, error, trace = scope.f_locals["__exception__"]
        passes_on = False
    else:
        error, trace, passes_on = _raising.pop(thread, (None, None, True))
    if error is None or (mode == "raised" and passes_on) or (mode == "user_unhandled" and _comes_back(trace)):
        return False
    hits = [rule.number for rule in _of(mode) if rule.means(type(error)) and _holds(rule, error, scope, send)]
    if hits:
        _hits[thread, mode] = hits
    return bool(hits)


def _holds(rule: Rule, error: BaseException, scope: Any, send: Send) -> bool:
    """A condition that fails stops the program, and says so."""
    if rule.condition is None:
        return True
    try:
        return bool(breakpoints.value(rule.condition, scope, {"exc": error, "exception": error}))
    except Exception as problem:
        send("condition_error", {"number": rule.number, "error": breakpoints.describe(problem), "of_exception": True})
        return True


def hit_rules(is_caught: bool) -> Tuple[str, List[int]]:
    """For which filter and rules this thread stopped."""
    thread = threading.get_ident()
    for mode in ("raised", "user_unhandled") if is_caught else (TEST_FAILURE, "uncaught"):
        if (thread, mode) in _hits:
            return mode, _hits.pop((thread, mode))
    mode = "raised" if is_caught else "uncaught"
    return mode, [rule.number for rule in _of(mode) if rule.means_all]


def forget() -> None:
    _raising.clear()
    _hits.clear()


def with_trace(error: Any, trace: Any) -> Any:
    """Before Python 3.12 an exception does not have its traceback until somebody handles it."""
    if raw.is_a(error, BaseException) and raw.exception_traceback(error) is None:
        BaseException.with_traceback(error, trace)
    return error
