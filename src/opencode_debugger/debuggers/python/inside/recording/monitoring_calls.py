"""Hears of calls by `sys.monitoring`, from Python 3.12 on, and of nothing outside of the recorded functions.

Two tools are used: one sees each code object once, when it is first entered, and finds out whether it is recorded; the
other one has events in recorded functions alone, so that everything else runs at its own speed.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any, Dict

from ..frames import RESUMABLE
from ..python_versions import monitoring
from ..values import raw
from .open_calls import CallFollowing, OpenCalls, take_running
from .recorded_functions import RecordedFunction

TOOL_NAMES = ("opencode-debugger-find", "opencode-debugger-record")
TOOL_IDS = (3, 5, 4, 2, 1, 0)
"""Tools that we may use, the preferred one first."""
FAILURES_PER_REST = 20
"""exceptions that are recorded of a function that rests"""


class MonitoringCalls:
    def __init__(self, calls: OpenCalls, following: CallFollowing) -> None:
        self._calls = calls
        self._following = following
        self._finder = self._recorder = -1
        self._without_lines: Dict[int, RecordedFunction] = {}
        """functions of which a call has had too many lines, by the id of their code"""

    def start(self) -> None:
        """Raise RuntimeError if the program uses the tools itself."""
        free = [tool for tool in TOOL_IDS if monitoring.get_tool(tool) is None][:2]
        if len(free) < 2:
            raise RuntimeError("The program uses the tools of sys.monitoring itself")
        self._finder, self._recorder = free
        for tool, name in zip(free, TOOL_NAMES):
            monitoring.use_tool_id(tool, name)
        events = monitoring.events
        monitoring.register_callback(self._finder, events.PY_START, self._find)
        for event, callback in self._make_callbacks().items():
            monitoring.register_callback(self._recorder, event, callback)
        monitoring.set_events(self._finder, events.PY_START)
        # These are never in one piece of code alone; they cost something where an exception is raised.
        raised = events.PY_UNWIND | events.PY_THROW | events.EXCEPTION_HANDLED | events.RERAISE
        monitoring.set_events(self._recorder, raised)
        monitoring.restart_events()
        for function in take_running(self._calls):
            self.wake(function)

    def stop(self) -> None:
        for tool, name in zip((self._finder, self._recorder), TOOL_NAMES):
            if tool < 0 or monitoring.get_tool(tool) != name:
                continue
            monitoring.set_events(tool, 0)
            for function in self._calls.functions.recorded if tool == self._recorder else ():
                monitoring.set_local_events(tool, function.code, 0)
            for event in (monitoring.events.PY_START, *self._make_callbacks()):
                monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)
        self._finder = self._recorder = -1

    def rest(self, function: RecordedFunction) -> None:
        """Record no more calls of a function."""
        if self._recorder >= 0:
            monitoring.set_local_events(self._recorder, function.code, 0)

    def wake(self, function: RecordedFunction) -> None:
        if self._recorder >= 0:
            monitoring.set_local_events(self._recorder, function.code, self._events_of(function))

    def _events_of(self, function: RecordedFunction) -> int:
        events = monitoring.events
        wanted: int = events.PY_START | events.PY_RETURN
        if function.flags & RESUMABLE:
            wanted |= events.PY_YIELD | events.PY_RESUME
        if function.changes is not None:
            wanted |= events.LINE
        return wanted

    def _find(self, code: CodeType, offset: int) -> object:
        known = self._calls.functions.known
        try:
            if id(code) not in known:
                frame = sys._getframe(1)
                function = self._calls.functions.find(frame)
                if function is not None:
                    self.wake(function)
                    self._following.begin(function, frame)  # the other tool is not told of this start any more
        except Exception:
            self._calls.failures += 1
        return monitoring.DISABLE

    def _make_callbacks(self) -> Dict[int, Any]:
        begin, end, fail, suspend, resume, catch, pass_on, reach_line = self._following
        known, getframe, without_lines = self._calls.functions.known, sys._getframe, self._without_lines
        handled_now: Any = getattr(sys, "exception", None)

        def on_start(code: CodeType, offset: int) -> None:
            function = known.get(id(code))
            if function is not None:
                if without_lines and id(code) in without_lines:
                    self.wake(without_lines.pop(id(code)))
                begin(function, getframe(1))

        def on_return(code: CodeType, offset: int, value: object) -> None:
            end(getframe(1), value)

        def on_yield(code: CodeType, offset: int, value: object) -> None:
            suspend(getframe(1), value)

        def on_resume(code: CodeType, offset: int) -> None:
            resume(getframe(1))

        def on_throw(code: CodeType, offset: int, error: BaseException) -> None:
            if known.get(id(code)) is not None:
                resume(getframe(1))

        def on_unwind(code: CodeType, offset: int, error: BaseException) -> None:
            function = known.get(id(code))
            if function is None or (function.wake_latest and function.unseen_failures >= FAILURES_PER_REST):
                return
            frame = getframe(1)
            fail(function, frame, error, raised_line(frame, error))

        def on_handled(code: CodeType, offset: int, error: BaseException) -> None:
            function = known.get(id(code))
            # While it is being handled, another handler only passes on what the first one raises again.
            if function is not None and not function.wake_latest and handled_now() is not error:
                frame = getframe(1)
                catch(frame, error, raised_line(frame, error))

        def on_reraise(code: CodeType, offset: int, error: BaseException) -> None:
            function = known.get(id(code))
            if function is not None and not function.wake_latest:
                pass_on(getframe(1), error)

        def on_line(code: CodeType, line: int) -> None:
            function = known.get(id(code))
            if function is not None and not reach_line(function, getframe(1), line):
                without_lines[id(code)] = function  # the next call is looked at again
                if self._recorder >= 0:
                    wanted = self._events_of(function) & ~monitoring.events.LINE
                    monitoring.set_local_events(self._recorder, code, wanted)

        events = monitoring.events
        return {
            events.PY_START: on_start, events.PY_RETURN: on_return, events.PY_UNWIND: on_unwind,
            events.PY_YIELD: on_yield, events.PY_RESUME: on_resume, events.PY_THROW: on_throw,
            events.EXCEPTION_HANDLED: on_handled, events.RERAISE: on_reraise, events.LINE: on_line,
        }  # fmt: skip


def raised_line(frame: FrameType, error: BaseException) -> int:
    """Return the line of a frame from which an exception came; it may be at a handler meanwhile."""
    traceback = raw.exception_traceback(error)
    return traceback.tb_lineno if traceback is not None and traceback.tb_frame is frame else frame.f_lineno
