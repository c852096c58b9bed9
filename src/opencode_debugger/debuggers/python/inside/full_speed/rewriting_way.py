"""Breakpoints of Python 3.8 to 3.11: code calls us where they are, and threads are traced only for stops and steps."""

from __future__ import annotations

import gc
import sys
import threading
from types import CodeType
from typing import Any, Callable, Dict, List

from ..breakpoints import function_breakpoints
from ..pydevd_patches import pydevd_parts
from . import leaving_exceptions, line_tests, slow_code, visible_code
from .code_replacement import CodeReplacement, are_loaded
from .line_spots import BreakpointFiles, rule_number
from .thread_tracing import ThreadTracing

_files = BreakpointFiles()
replacement = CodeReplacement(_files)
tracing = ThreadTracing(replacement)
_quiet = threading.local()
_pending: List[Any] = []
"""The debugger whose breakpoints have changed, while a request that changes several is handled."""
_requests = 0
_has_breakpoints = False
_is_listening = False
_applied: Any = None
"""What the code was last given tests for; the same again changes nothing."""
_was_used = False
"""An earlier session has ended: this is a forked child, or a program that was left, and its main module runs."""


def install() -> None:
    import pydevd
    from _pydevd_bundle.pydevd_api import PyDevdAPI
    from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor

    line_tests.wake, line_tests.stop_here = tracing.wake, tracing.stop_here
    line_tests.thread_tracing = tracing
    line_tests.set_tracer = pydevd_parts.tracing.TracingFunctionHolder._original_tracing or sys.settrace
    function_breakpoints.prepare_executed = prepare_executed
    leaving_exceptions.is_used = True
    _patch_debugger(pydevd)
    _patch_stops(pydevd)
    _patch_settrace(pydevd)
    _patch_requests(PyDevJsonCommandProcessor)
    entry = PyDevdAPI.stop_on_entry

    def stop_on_entry(self: Any) -> None:
        entry(self)
        tracing.be_busy(pydevd.get_global_debugger())

    PyDevdAPI.stop_on_entry = stop_on_entry
    _patch_loaders()


def begin_session() -> None:
    tracing.forget_all()


def end_session() -> None:
    """Give the program its code back, and trace nothing any more."""
    global _has_breakpoints, _was_used, _applied
    _has_breakpoints, _was_used, _applied = False, True, None
    _files.forget_all(None)
    replacement.lock = threading.RLock()  # in a forked child a thread may hold it that is no more
    replacement.undo()
    visible_code.show_all()
    tracing.forget_all()
    line_tests.notes.clear()
    line_tests.waiting_threads.clear()


# Breakpoints.


def _patch_requests(processor: Any) -> None:
    """Take the changes of a request together: pydevd removes all breakpoints of a file, then sets each of them."""
    set_breakpoints = processor.on_setbreakpoints_request

    def on_setbreakpoints_request(self: Any, py_db: Any, request: Any) -> object:
        global _requests
        _requests += 1
        try:
            return set_breakpoints(self, py_db, request)
        finally:
            _requests -= 1
            if _pending and not _requests:
                refresh_breakpoints(_pending.pop())
                _pending.clear()

    pydevd_parts.replace_methods(processor, on_setbreakpoints_request)


def change_breakpoints(py_db: Any) -> None:
    if _requests:
        _pending.append(py_db)
    else:
        refresh_breakpoints(py_db)


def refresh_breakpoints(py_db: Any) -> None:
    """Test for the breakpoints that there are now, in code that runs, too."""
    global _has_breakpoints, _applied
    with replacement.lock:
        tracing.adopt(py_db)
        by_file = {file: dict(by_line) for file, by_line in py_db.breakpoints.items() if by_line}
        is_begun = py_db.ready_to_run or are_loaded(by_file, leaving_exceptions.runs_main and not _was_used)
        filters = (py_db.is_files_filter_enabled, py_db.dont_trace_external_files)
        reason = _why_always(py_db, by_file)
        if _applied == (by_file, is_begun, filters, reason):
            return
        _applied = (by_file, is_begun, filters, reason)
        _has_breakpoints = bool(by_file)
        slow_code.forget_slow()
        _files.forget_all(py_db)
        if by_file:
            _listen_for_code()
            visible_code.show_compiled(replacement.as_compiled, prepare_code)
        replacement.apply(bool(by_file) and is_begun)
        if not by_file:
            visible_code.show_all()
        if reason:
            slow_code.note_slow("", "", reason)
        tracing.set_always(bool(reason))
        tracing.trace_outdated()


def _why_always(py_db: Any, by_file: Dict[str, Any]) -> str:
    """Return why pydevd is to trace everything by itself, or nothing."""
    asks = ("break_on_caught_exceptions", "break_on_user_uncaught_exceptions")
    plugins = ("has_plugin_exception_breaks", "has_plugin_line_breaks")
    if any(getattr(py_db, name) for name in (*asks, *plugins)):
        return slow_code.RAISED
    if by_file and gc.get_freeze_count():
        return "Lines are traced: the program has hidden its functions from the garbage collector (gc.freeze)"
    return ""


def prepare_code(code: CodeType) -> CodeType:
    """Return what is to run instead of code that is about to."""
    if not _has_breakpoints:
        return code
    with line_tests.Unseen():
        return replacement.prepare(code)


def _patch_loaders() -> None:
    """Have modules run with tests: they are asked for their code just before."""
    import importlib._bootstrap_external as external

    def wrap(loader: Any) -> None:
        original = loader.get_code

        def get_code(self: Any, fullname: str) -> Any:
            code = original(self, fullname)
            return code if code is None else prepare_code(code)

        get_code.__code__ = get_code.__code__.replace(co_filename=original.__code__.co_filename)
        get_code.__qualname__ = original.__qualname__
        loader.get_code = get_code

    for loader in (external.SourceLoader, external.SourcelessFileLoader):
        wrap(loader)


def _listen_for_code() -> None:
    """Hear of code that is executed by anybody else. A hook cannot be taken away."""
    global _is_listening
    if not _is_listening:
        _is_listening = True
        sys.addaudithook(_on_audit_event)


def _on_audit_event(event: str, args: Any) -> None:
    if _has_breakpoints:
        if event == "exec":
            prepare_executed(args[0])
        elif event == "function.__new__":
            prepare_function(args[0])


def _quietly(prepare: Callable[[CodeType], None]) -> Callable[[Any], None]:
    """Return a function that is called with code, and never fails: whatever it is, the program's own code runs on."""

    def prepare_quietly(code: Any) -> None:
        if not _has_breakpoints or type(code) is not CodeType or getattr(_quiet, "now", False):
            return
        _quiet.now = True
        try:
            prepare(code)
        except Exception:
            pass
        finally:
            _quiet.now = False

    return prepare_quietly


@_quietly
def prepare_executed(code: CodeType) -> None:
    """Have code that somebody is about to execute tested inside, and traced itself if it has breakpoints."""
    if replacement.prepare_inside(code):
        replacement.watch(code)
        slow_code.note_slow(code.co_filename, code.co_name, "Its lines are traced: the program executes it itself")
        tracing.trace_this()


@_quietly
def prepare_function(code: CodeType) -> None:
    """Have a function that the program is about to make of code get its tests when it is first called."""
    if replacement.expect_function(code):
        tracing.trace_all()
        tracing.trace_this()


# pydevd.


def _patch_debugger(pydevd: Any) -> None:
    PyDB = pydevd.PyDB
    changed, follow = PyDB.on_breakpoints_changed, PyDB.set_trace_for_frame_and_parents
    patch, enable = PyDB.patch_threads, PyDB.enable_tracing

    def on_breakpoints_changed(self: Any, removed: bool = False) -> None:
        change_breakpoints(self)
        is_traced = tracing.is_busy or tracing.is_always
        changed(self, removed or not is_traced)  # if one was removed, it traces no more than before
        if not is_traced and self.ready_to_run:
            self._clear_caches()
        leaving_exceptions.follow_breakpoints(self)

    def enable_tracing(self: Any, thread_trace_func: Any = None, apply_to_all_threads: bool = False) -> None:
        tracing.adopt(self)
        if tracing.is_always:
            enable(self, thread_trace_func, apply_to_all_threads)
            return
        if thread_trace_func is None or apply_to_all_threads:
            tracing.begin_thread()
        if apply_to_all_threads and tracing.is_wanted():
            tracing.trace_all()

    def set_trace_for_frame_and_parents(self: Any, thread_ident: Any, frame: Any, **options: Any) -> None:
        if tracing.is_wanted():
            follow(self, thread_ident, frame, **options)
            tracing.follow_parents(frame)

    def patch_threads(self: Any) -> None:
        patch(self)
        threading._trace_hook = None  # type: ignore[attr-defined]  # new threads ask enable_tracing

    pydevd_parts.replace_methods(
        PyDB, on_breakpoints_changed, enable_tracing, set_trace_for_frame_and_parents, patch_threads
    )


def _patch_stops(pydevd: Any) -> None:
    PyDB = pydevd.PyDB
    suspend, wait, evaluate = PyDB.set_suspend, PyDB.do_wait_suspend, PyDB.handle_breakpoint_condition

    def set_suspend(self: Any, *args: Any, **options: Any) -> None:
        tracing.be_busy(self)
        suspend(self, *args, **options)

    def do_wait_suspend(self: Any, thread: Any, frame: Any, event: str, *args: Any, **options: Any) -> None:
        ident = threading.get_ident()
        line_tests.waiting_threads.add(ident)
        try:
            wait(self, thread, frame, event, *args, **options)
        finally:
            line_tests.waiting_threads.discard(ident)
        if event == "line":
            _note_decision(frame)
        tracing.follow_resume(frame)

    def handle_breakpoint_condition(self: Any, info: Any, breakpoint: Any, frame: Any) -> object:
        if line_tests.is_deciding() or not hasattr(breakpoint, "line"):  # that of exceptions has none
            return evaluate(self, info, breakpoint, frame)
        if line_tests.take_verdict(frame, breakpoint.line, rule_number(breakpoint)):
            return True
        is_hit = evaluate(self, info, breakpoint, frame)
        _note_decision(frame)
        return is_hit

    pydevd_parts.replace_methods(PyDB, set_suspend, do_wait_suspend, handle_breakpoint_condition)


def _note_decision(frame: Any) -> None:
    """Note that pydevd has decided; the test of this line comes next."""
    line = frame.f_lineno
    if replacement.has_test(frame.f_code, line):
        line_tests.note_decision(frame, line)
    else:
        line_tests.notes.pop(threading.get_ident(), None)


def _patch_settrace(pydevd: Any) -> None:
    """Have a call of breakpoint() traced: it begins as a step."""
    locked = pydevd._locked_settrace

    def _locked_settrace(*args: Any, **options: Any) -> None:
        py_db = pydevd.get_global_debugger()
        if py_db is not None and (args[4] if len(args) > 4 else options.get("suspend")):
            tracing.be_busy(py_db)
            tracing.trace_this()
        locked(*args, **options)

    pydevd._locked_settrace = _locked_settrace
