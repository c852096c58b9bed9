"""Breakpoints of Python 3.12 and newer: events only on lines that have one, and pydevd's only while somebody steps.

Whether to stop is decided here, at the event; pydevd is woken for the stop itself. Its own events are there from a stop
until every thread runs freely again.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, SimpleNamespace
from typing import Any, Dict

from ..breakpoints import exception_stops, hit_decisions
from ..frames import running_frames
from ..pydevd_patches import cut_short_steps, pydevd_parts
from ..python_versions import JUMPS_ARE_LINES, monitoring
from ..rpc.event_sending import send_event
from ..stepping import multi_step
from . import busiest_line, leaving_exceptions, shared_tool, slow_code
from .line_spots import Spot
from .long_calls import SteppingFrame
from .shared_tool import relays_events
from .thread_stops import is_to_halt, is_watched, runs_freely, stop_thread, thread_infos, unwatched_threads
from .watched_lines import WatchedLines

_EVENTS = monitoring.events
_DISABLE = monitoring.DISABLE
_ENTRIES = _EVENTS.PY_START | _EVENTS.PY_RESUME | _EVENTS.PY_THROW
_BEGINNINGS = _EVENTS.PY_START | _EVENTS.PY_RESUME
_EXCEPTIONS = _EVENTS.RAISE | _EVENTS.PY_UNWIND
_getframe = sys._getframe

tool = shared_tool.SharedTool()
stepping = SteppingFrame(tool)
_lines = WatchedLines(tool)
_spots = _lines.spots
_searching = 0
"""our events that find code with breakpoints"""
_pydevd_events: Any = None
"""the module of pydevd that handles events"""


class HiddenBreakpoints(dict):  # type: ignore[type-arg]
    """The breakpoints as pydevd keeps them; where it handles events, it looks into them by these two and finds none."""

    def get(self, key: Any, default: Any = None) -> Any:
        return default

    def values(self) -> Any:
        return ()


def install() -> None:
    global _pydevd_events
    import pydevd

    _pydevd_events = sys.modules[pydevd.pydevd_sys_monitoring.start_monitoring.__module__]
    if not tool.acquire(_callbacks()):
        leaving_exceptions.is_used = False
        return
    _patch_debugger(pydevd)
    _pydevd_events.monitor = shared_tool.PydevdMonitoring(tool, _kept_from_pydevd)
    if _pydevd_events.__name__.endswith("_cython"):  # where it is compiled, only what it finds by name can be replaced
        _pydevd_events.sys = SimpleNamespace(_getframe=shared_tool.innermost_event_frame, monitoring=monitoring)
    else:
        _pydevd_events._getframe = shared_tool.event_frame
    _pydevd_events.stop_on_unhandled_exception = leaving_exceptions.leave_to_us
    known = getattr(_pydevd_events, "_code_to_func_code_info_cache", {})
    tool.take_over(list(known) + [frame.f_code for frame in running_frames()])
    debugger = pydevd.get_global_debugger()
    if debugger is not None:  # one that was there before us: it does not see its breakpoints any more
        debugger.breakpoints = debugger.__dict__["breakpoints"]
        debugger.on_breakpoints_changed()


class PutOff(threading.local):
    """Of the thread that sets the breakpoints of a file."""

    is_on = is_due = False


_put_off = PutOff()


def _patch_debugger(pydevd: Any) -> None:
    from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor as processor

    changed, wait = pydevd.PyDB.on_breakpoints_changed, pydevd.PyDB.do_wait_suspend
    suspend = pydevd.PyDB.set_suspend
    trigger = pydevd.PyDB.trigger_exception_handler
    set_breakpoints = processor.on_setbreakpoints_request

    def on_breakpoints_changed(self: Any, removed: bool = False) -> None:
        if _put_off.is_on:
            _put_off.is_due = True
        else:
            changed(self, removed)
            leaving_exceptions.follow_breakpoints(self)
            refresh_breakpoints(self)

    def on_setbreakpoints_request(self: Any, py_db: Any, request: Any) -> object:
        """Look at the program once, not once for each of thousands of breakpoints."""
        _put_off.is_on, _put_off.is_due = True, False
        try:
            return set_breakpoints(self, py_db, request)
        finally:
            _put_off.is_on = False
            if _put_off.is_due:
                py_db.on_breakpoints_changed()

    def set_suspend(self: Any, thread: Any, stop_reason: int, *args: Any, **options: Any) -> None:
        if stepping.frame is not None and multi_step.find_put_off(thread, stop_reason) is None:
            _end_unseen_calls()  # somebody else is to halt: that is seen in other frames
        suspend(self, thread, stop_reason, *args, **options)

    def do_wait_suspend(self: Any, thread: Any, frame: Any, *args: Any, **options: Any) -> None:
        wait(self, thread, frame, *args, **options)
        follow_resume(thread)

    def trigger_exception_handler(self: Any, *args: Any, **options: Any) -> None:
        ident = threading.get_ident()
        unwatched_threads.add(ident)
        tool.drop_quick_callback()
        try:
            trigger(self, *args, **options)
        finally:
            unwatched_threads.discard(ident)

    kind: Any = pydevd.PyDB
    kind.breakpoints = property(_get_breakpoints, _set_breakpoints)  # each of its objects has them itself
    pydevd_parts.replace_methods(kind, on_breakpoints_changed, set_suspend, do_wait_suspend, trigger_exception_handler)
    pydevd_parts.replace_methods(processor, on_setbreakpoints_request)


def _get_breakpoints(py_db: Any) -> Any:
    return py_db.__dict__["breakpoints"]


def _set_breakpoints(py_db: Any, by_file: Any) -> None:
    py_db.__dict__["breakpoints"] = HiddenBreakpoints(by_file)


def begin_session() -> None:
    if not tool.acquire(_callbacks()):
        slow_code.note_slow("", "", "The program uses all tools of sys.monitoring itself")


def end_session() -> None:
    global _searching
    with _lines.lock:
        stepping.forget()
        tool.release()
        _searching = 0
        _lines.forget_all()
        unwatched_threads.clear()


def _callbacks() -> Dict[int, Any]:
    return {
        _EVENTS.PY_START: on_start,
        _EVENTS.PY_RESUME: on_resume,
        _EVENTS.PY_THROW: on_throw,
        _EVENTS.LINE: on_line,
        _EVENTS.JUMP: on_jump,
        _EVENTS.PY_RETURN: on_return,
        _EVENTS.CALL: on_call,
        _EVENTS.RAISE: on_raise,
        _EVENTS.PY_UNWIND: on_unwind,
    }


# Which code has breakpoints.


def refresh_breakpoints(py_db: Any) -> None:
    """Watch the lines that have breakpoints now, in code that runs, too."""
    global _searching
    with _lines.lock:
        tool.drop_quick_callback()
        has_breakpoints = _lines.replace_all(py_db)
        _searching = _ENTRIES if has_breakpoints else 0
        _apply_own_events()
        _note_slow_parts(py_db)
        if has_breakpoints and tool.id >= 0:
            monitoring.restart_events()
            _lines.look_at_running()


def _note_slow_parts(py_db: Any) -> None:
    slow_code.forget_slow()
    if py_db.break_on_caught_exceptions or py_db.break_on_user_uncaught_exceptions:
        slow_code.note_slow("", "", slow_code.RAISED)


def _apply_own_events() -> None:
    tool.set_own_events(_searching | stepping.events)


# What happens at an event. The interpreter makes no events for what is called here.


@relays_events
def on_start(code: CodeType, offset: int) -> object:
    if _searching:
        _lines.look_at(code, _getframe(1))
    if stepping.frame is not None:
        stepping.note_called(code, _getframe(1))
    told = tool.tell_pydevd(_EVENTS.PY_START, code, offset) if tool.pydevd_events else _DISABLE
    return None if id(code) in _lines.kept_starts else told


@relays_events
def on_resume(code: CodeType, offset: int) -> object:
    if _searching:
        _lines.look_at(code, _getframe(1))
    return tool.tell_pydevd(_EVENTS.PY_RESUME, code, offset) if tool.pydevd_events else _DISABLE


def on_throw(code: CodeType, offset: int, error: BaseException) -> None:
    if _searching:
        _lines.look_at(code, _getframe(1))


@relays_events
def on_line(code: CodeType, line: int) -> object:
    return _arrive(code, line, _getframe(1))


@relays_events
def _arrive(code: CodeType, line: int, frame: Any) -> object:
    spot = _spots.get(line)
    while spot is not None and spot.code is not code:
        spot = spot.next
    if spot is None:
        return _tell_of_line(code, line, frame) if tool.pydevd_local else _DISABLE
    spot.arrivals += 1
    if spot.arrivals == busiest_line.ENOUGH_ARRIVALS:
        _favour_spot(spot, line, frame)
    is_plain = not (unwatched_threads or spot.is_in_library)
    ids = spot.ids_to_stop(frame) if is_plain or is_watched() else None
    if ids:
        stop_thread(spot.breakpoint, ids, frame)
    elif tool.pydevd_local:
        _tell_of_line(code, line, frame)
    return None


def _favour_spot(spot: Spot, line: int, frame: Any) -> None:
    """Make the callback of line events the one that suits this breakpoint best."""
    rule = hit_decisions.rules.get(spot.number)
    spot.arrivals = 0  # if that is not possible now, it may be later
    if rule is None or rule.log is not None or spot.is_in_library or tool.pydevd_local or unwatched_threads:
        return

    def stop(frame: Any) -> None:
        stop_thread(spot.breakpoint, [spot.breakpoint.breakpoint_id], frame)

    def fail(frame: Any, error: Exception) -> None:
        hit_decisions.report_failure(spot.number, error, send_event)
        stop(frame)

    def count(frame: Any) -> None:
        if hit_decisions.count_hit(rule, spot.number, frame, send_event):
            stop(frame)

    calls: Dict[str, Any] = {"arrive": _arrive, "stop": stop, "fail": fail, "count": count, "getframe": _getframe}
    callback = busiest_line.make_callback(spot, rule, line, frame, calls)
    with _lines.lock:
        if callback is not None and _lines.spot_at(spot.code, line) is spot:
            tool.use_quick_callback(callback)
            if unwatched_threads:  # one may have just begun
                tool.drop_quick_callback()


@relays_events
def _tell_of_line(code: CodeType, line: int, frame: Any) -> object:
    if stepping.frame is not None and stepping.frame is not frame:
        return None  # it is deeper than the frame of the step
    return tool.tell_pydevd(_EVENTS.LINE, code, line)


@relays_events
def on_jump(code: CodeType, start: int, target: int) -> object:
    if target > start:
        return _DISABLE
    spot = _lines.spot_of_loop(code, start, target)
    frame = _getframe(1)
    if spot is not None and is_watched():
        ids = spot.ids_to_stop(frame)
        if ids:
            stop_thread(spot.breakpoint, ids, frame)
            return None
    told: object = _DISABLE
    if tool.pydevd_local and (stepping.frame is None or stepping.frame is frame):
        if JUMPS_ARE_LINES and is_to_halt():  # pydevd does not ask for jumps there, and would halt at no other event
            tool.tell_pydevd(_EVENTS.LINE, code, frame.f_lineno)
            return None
        told = tool.tell_pydevd(_EVENTS.JUMP, code, start, target)
    return told if spot is None else None


@relays_events
def on_return(code: CodeType, offset: int, value: object) -> object:
    frame = _getframe(1)
    is_deeper = stepping.frame is not None and stepping.frame is not frame
    if is_deeper and stepping.frame is not frame.f_back:
        return None
    told = tool.tell_pydevd(_EVENTS.PY_RETURN, code, offset, value)
    if stepping.frame is frame:
        _end_unseen_calls()
    return told


def on_call(code: CodeType, offset: int, function: object, first: object) -> object:
    if stepping.frame is None:
        return _DISABLE
    if stepping.frame is _getframe(1):
        stepping.note_callable(function)
    return None


@relays_events
def on_raise(code: CodeType, offset: int, error: BaseException) -> None:
    if exception_stops.concerns_raised(type(error)):
        tool.tell_pydevd(_EVENTS.RAISE, code, offset, error)


@relays_events
def on_unwind(code: CodeType, offset: int, error: BaseException) -> None:
    frame = _getframe(1)
    if stepping.events and cut_short_steps.follow_exception(frame):
        _end_unseen_calls()
    if exception_stops.concerns_raised(type(error)):
        tool.tell_pydevd(_EVENTS.PY_UNWIND, code, offset, error)


# Going on.


def follow_resume(thread: Any) -> None:
    """Let pydevd see no more than it needs when a thread has gone on."""
    if tool.id < 0:
        return
    with pydevd_parts.suspend_threads_lock:
        busy = [info for info in thread_infos() if not runs_freely(info)]
        if not busy:
            stepping.forget()
            _apply_own_events()
            _pydevd_events.update_monitor_events()
            tool.forget_pydevd_local()
            return
        is_alone = len(busy) == 1 and busy[0].pydev_state == pydevd_parts.STATE_RUN
        if is_alone and stepping.is_step_of(busy[0]):
            return  # the next of several steps, for which everything is as it has to be
        stepping.forget()
        if is_alone:
            stepping.begin(busy[0])
        _apply_own_events()
        _pydevd_events.update_monitor_events(True)


def _end_unseen_calls() -> None:
    """Let pydevd see every call again, if the step is not over: its frame is."""
    if stepping.frame is None:
        return
    with pydevd_parts.suspend_threads_lock:
        is_over = all(runs_freely(info) for info in thread_infos())
        stepping.forget_frame()
        _apply_own_events()
        if not is_over:
            _pydevd_events.update_monitor_events(True)


def _kept_from_pydevd() -> int:
    """Return the events that pydevd asks for and does not need."""
    py_db = pydevd_parts.pydevd.get_global_debugger()
    if py_db is None:
        return 0
    sees_raised = py_db.break_on_caught_exceptions or py_db.break_on_user_uncaught_exceptions
    kept = 0 if sees_raised or py_db.has_plugin_exception_breaks else _EXCEPTIONS
    return kept | (_BEGINNINGS if stepping.frame is not None else 0)
