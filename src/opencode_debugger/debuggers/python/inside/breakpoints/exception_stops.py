"""Decides on which exceptions the program stops, by the names of their classes and by conditions.

pydevd resolves names when it is told of them, which fails for classes that are not there yet; here it only hears "all
of them". As it comes, it also stops in every frame that a raised exception passes, and on those that libraries raise
and handle among themselves: dozens of stops before a program that imports argparse has begun. Here it stops once for
each, where it first reaches code of the program's own.
"""

from __future__ import annotations

import threading
from traceback import walk_tb
from types import TracebackType
from typing import Any, Dict, List, Optional, Tuple
from weakref import WeakKeyDictionary

from ..frames import outward_frames
from ..pydevd_patches import pydevd_parts
from ..rpc.event_sending import send_event
from ..values import raw
from . import failing_tests, hit_decisions
from .function_names import class_name

_PYDEVD_TABLES = {
    "raised": "break_on_caught_exceptions",
    "uncaught": "break_on_uncaught_exceptions",
    "user_unhandled": "break_on_user_uncaught_exceptions",
}
"""The tables in which pydevd keeps exception breakpoints, by mode."""
TEST_FAILURE = "test_failure"
"""A filter of ours: pydevd knows nothing of tests."""


class ExceptionRule:
    def __init__(self, number: int, filters: List[str], exceptions: List[str], condition: Optional[str]) -> None:
        self.number = number
        self.filters = frozenset(filters)
        self.names = [name.split(".") for name in exceptions]
        self.condition = compile(condition.strip(), "<condition>", "eval") if condition else None
        self._known: WeakKeyDictionary[type, bool] = WeakKeyDictionary()

    @property
    def means_all(self) -> bool:
        return not self.names and self.condition is None

    def means_class(self, kind: type) -> bool:
        """Tell whether a name is that of the class or of a base: its last part, or as much as is given."""
        if not self.names:
            return True
        known = self._known.get(kind)
        if known is None:
            bases = [".".join(class_name(base)).split(".") for base in raw.class_mro(kind)]
            known = any(full[-len(name) :] == name for full in bases for name in self.names)
            self._known[kind] = known
        return known


_rules: List[ExceptionRule] = []
_raised_by_thread: Dict[int, Any] = {}
"""The exception that pydevd is about to ask about, its traceback, and whether it only passes on."""
_hits_by_thread: Dict[Tuple[int, str], List[int]] = {}
"""The rules for which a thread stops, by thread and filter."""


def install() -> None:
    import pydevd

    original = pydevd.PyDB.exclude_exception_by_filter

    def exclude_exception_by_filter(self: Any, exception_breakpoint: Any, trace: Any) -> bool:
        if original(self, exception_breakpoint, trace):
            return True
        if not any(exception_breakpoint is known for known in self.break_on_caught_exceptions.values()):
            return False
        if trace is None or not _is_program_frame(self, trace.tb_frame):
            return True
        return any(_is_program_frame(self, frame) for frame, _ in walk_tb(trace.tb_next))  # it stopped there already

    pydevd.PyDB.exclude_exception_by_filter = exclude_exception_by_filter


def _is_program_frame(py_db: Any, frame: Any) -> bool:
    return frame.f_code.co_filename == "<string>" or bool(py_db.in_project_scope(frame))


def _is_no_crash(exception: Any) -> bool:
    """Answer for every exit, with whatever words it is made."""
    return True


def define_rules(rules: List[Dict[str, Any]]) -> None:
    """Stop on what these rules say from now on, and on nothing else."""
    from _pydevd_bundle.pydevd_breakpoints import ExceptionBreakpoint

    py_db = pydevd_parts.pydevd.get_global_debugger()
    py_db.ignore_system_exit_code = _is_no_crash
    _rules[:] = [ExceptionRule(**rule) for rule in rules]
    _filter_by_class(py_db, not all(rule.means_all for rule in _rules))
    _watch_raised_values(py_db, any(_needs_decision(mode) for mode in ("raised", "user_unhandled")))
    for mode, table in _PYDEVD_TABLES.items():
        condition = "__import__('_ocdb').stops_on_exception(%r)" % mode if _needs_decision(mode) else None
        flags = *(mode == each for each in _PYDEVD_TABLES), False, bool(py_db.get_use_libraries_filter())
        catch_all = ExceptionBreakpoint("BaseException", condition, None, *flags)
        setattr(py_db, table, {"BaseException": catch_all} if _rules_for(mode) else {})
    py_db.on_breakpoints_changed()
    failing_tests.watch_frameworks(_test_failed if _rules_for(TEST_FAILURE) else None)


def _test_failed(error: BaseException) -> None:
    """Stop where the exception was raised: all its frames are still there, only nothing runs in them any more."""
    py_db, trace = pydevd_parts.pydevd.get_global_debugger(), raw.exception_traceback(error)
    if py_db is None or py_db.pydb_disposed or trace is None:
        return
    trace = _without_generators(trace)
    *_, (last, _) = walk_tb(trace)
    hits = _matching_rules(TEST_FAILURE, error, last)
    if hits:
        _hits_by_thread[threading.get_ident(), TEST_FAILURE] = hits
        py_db.trigger_exception_handler((type(error), error, trace), as_uncaught=False)


def _without_generators(trace: TracebackType) -> TracebackType:
    """Return the trace without generators into which the exception was thrown (`with self.subTest()`).

    The frame that threw it is below them on the stack and comes again behind them."""
    first, inner = trace, trace.tb_next
    while inner is not None:
        if inner.tb_frame in outward_frames(trace.tb_frame.f_back):
            first = inner
        trace, inner = inner, inner.tb_next
    return first


def _returns_to_raiser(trace: Any) -> bool:
    """Tell whether code that it came from threw it into a generator (`with managed():`), to which it goes back."""
    raisers = {frame for frame, _ in walk_tb(trace.tb_next)}
    return any(caller in raisers for caller in outward_frames(trace.tb_frame.f_back))


def exception_at_stop() -> Tuple[Optional[BaseException], Any]:
    """Return the exception that this thread has stopped on and its traceback, as pydevd was told of them."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    thread_id = raw.read_attribute(threading.current_thread(), "__pydevd_id__")
    frames = py_db.suspended_frames_manager.get_frames_list(thread_id)
    return (None, None) if frames is None else (frames.exc_desc, frames.trace_obj)


def _rules_for(mode: str) -> List[ExceptionRule]:
    return [rule for rule in _rules if mode in rule.filters]


def concerns_raised(kind: type) -> bool:
    """Tell whether raising an exception of this class may stop the program, before anything catches it or not."""
    modes = ("raised", "user_unhandled")
    return any(rule.means_class(kind) for rule in _rules if not rule.filters.isdisjoint(modes))


def _needs_decision(mode: str) -> bool:
    """Tell whether these stops depend on more than that there is an exception, or have to be remembered."""
    rules = _rules_for(mode)
    return bool(rules) and (mode == "user_unhandled" or not all(rule.means_all for rule in rules))


def _filter_by_class(py_db: Any, is_needed: bool) -> None:
    """Let exceptions of other classes pass before anything else is looked at."""
    from _pydevd_bundle.pydevd_breakpoints import get_exception_breakpoint

    def of_a_type(kind: Any, known: Any) -> object:
        found = get_exception_breakpoint(kind, known)
        if found is None:
            return None
        mode = next(mode for mode, table in _PYDEVD_TABLES.items() if found in getattr(py_db, table).values())
        return found if any(rule.means_class(kind) for rule in _rules_for(mode)) else None

    py_db.get_exception_breakpoint = of_a_type if is_needed else get_exception_breakpoint


def _watch_raised_values(py_db: Any, is_needed: bool) -> None:
    """Note each exception that is raised: pydevd tells only its plugins which it is, before it asks whether to stop."""
    if not is_needed:
        if py_db.plugin is not None:
            py_db.plugin.__dict__.pop("exception_break", None)
        return
    plugin = py_db.get_plugin_lazy_init()
    original = type(plugin).exception_break

    def exception_break(py_db: Any, frame: Any, thread: Any, arg: Any, is_unwind: bool = False) -> object:
        if any(rule.means_class(arg[0]) for rule in _rules):
            _raised_by_thread[threading.get_ident()] = (with_trace(*arg[1:]), arg[2], is_unwind)
        return original(plugin, py_db, frame, thread, arg, is_unwind)

    plugin.exception_break = exception_break


def decide_stop(mode: str, scope: Any) -> bool:
    """Tell whether the program stops.

    `scope` is the frame in which pydevd evaluates the condition; for uncaught exceptions it has the exception."""
    thread = threading.get_ident()
    if mode == "uncaught":
        _, error, trace = scope.f_locals["__exception__"]
        passes_on = False
    else:
        error, trace, passes_on = _raised_by_thread.pop(thread, (None, None, True))
    if error is None or (mode == "raised" and passes_on) or (mode == "user_unhandled" and _returns_to_raiser(trace)):
        return False
    hits = _matching_rules(mode, error, scope)
    if hits:
        _hits_by_thread[thread, mode] = hits
    return bool(hits)


def _matching_rules(mode: str, error: BaseException, scope: Any) -> List[int]:
    rules = [rule for rule in _rules_for(mode) if rule.means_class(type(error))]
    return [rule.number for rule in rules if _condition_holds(rule, error, scope)]


def _condition_holds(rule: ExceptionRule, error: BaseException, scope: Any) -> bool:
    """Evaluate the condition of a rule. One that fails stops the program, and the relay is told."""
    if rule.condition is None:
        return True
    try:
        return bool(hit_decisions.evaluate_in_scope(rule.condition, scope, {"exc": error, "exception": error}))
    except Exception as problem:
        text = hit_decisions.error_text(problem)
        send_event("condition_error", {"number": rule.number, "error": text, "of_exception": True})
        return True


def hit_rules(is_caught: bool) -> Tuple[str, List[int]]:
    """Return the filter and the rules for which this thread stopped."""
    thread = threading.get_ident()
    for mode in ("raised", "user_unhandled") if is_caught else (TEST_FAILURE, "uncaught"):
        if (thread, mode) in _hits_by_thread:
            return mode, _hits_by_thread.pop((thread, mode))
    mode = "raised" if is_caught else "uncaught"
    return mode, [rule.number for rule in _rules_for(mode) if rule.means_all]


def forget_all() -> None:
    _raised_by_thread.clear()
    _hits_by_thread.clear()


def with_trace(error: Any, trace: Any) -> object:
    """Give an exception its traceback, which before Python 3.12 it does not have until something handles it."""
    if raw.is_a(error, BaseException) and raw.exception_traceback(error) is None:
        BaseException.with_traceback(error, trace)
    return error
