"""Lets what a step over or out calls run at full speed: the step is about one frame.

While only such a step is under way, pydevd is told of nothing that happens in other frames, but of what the frame's own
calls return. When the frame ends before the step does, pydevd has to see everything again.
"""

from __future__ import annotations

from types import CodeType, FunctionType, MethodType
from typing import Any, List

from ..pydevd_patches import pydevd_parts
from ..python_versions import monitoring
from ..values import raw
from .shared_tool import SharedTool

_MADE_BY = ("__new__", "__init__")


class SteppingFrame:
    """The frame of the one step that is under way, if that is a step over or out."""

    def __init__(self, tool: SharedTool) -> None:
        self._tool = tool
        self._code: Any = None
        self._command = 0
        self.frame: Any = None
        self.events = 0
        """that the step needs everywhere"""

    def begin(self, info: Any) -> None:
        commands = pydevd_parts.commands
        over = (commands.CMD_STEP_OVER, commands.CMD_STEP_OVER_MY_CODE)
        out = (commands.CMD_STEP_RETURN, commands.CMD_STEP_RETURN_MY_CODE)
        frame = info.pydev_step_stop
        if info.pydev_step_cmd not in (*over, *out) or frame is None:
            return
        self.events = monitoring.events.PY_UNWIND
        if info.pydev_use_scoped_step_frame:
            return
        self.frame, self._code, self._command = frame, frame.f_code, info.pydev_step_cmd
        if info.pydev_step_cmd in over:
            self.events |= monitoring.events.PY_START
            self._add_own(monitoring.events.CALL)
        self._add_own(monitoring.events.PY_RETURN)

    def is_step_of(self, info: Any) -> bool:
        """Tell whether a thread makes the same step again, in the same frame."""
        return self.frame is not None and info.pydev_step_stop is self.frame and info.pydev_step_cmd == self._command

    def _add_own(self, events: int) -> None:
        known = self._tool.own_local.get(id(self._code))
        self._tool.set_own_local(self._code, (known[1] if known else 0) | events)

    def forget_frame(self) -> None:
        """Tell pydevd of all frames again; the step goes on."""
        self.frame = None
        code, self._code = self._code, None
        known = self._tool.own_local.get(id(code)) if code is not None else None
        if known is not None:
            self._tool.set_own_local(code, known[1] & ~(monitoring.events.CALL | monitoring.events.PY_RETURN))

    def forget(self) -> None:
        self.events = 0
        self.forget_frame()

    def note_called(self, code: CodeType, frame: Any) -> None:
        if frame.f_back is self.frame:
            self._show_return(code)

    def note_callable(self, function: object) -> None:
        """Have what the line calls by itself show its value when it returns."""
        for code in _codes_of(function):
            self._show_return(code)

    def _show_return(self, code: CodeType) -> None:
        known = self._tool.pydevd_local.get(id(code))
        events = known[1] if known else 0
        if not events & monitoring.events.PY_RETURN:
            self._tool.set_pydevd_local(code, events | monitoring.events.PY_RETURN)


def _codes_of(function: Any) -> List[CodeType]:
    """Return the code that runs when this is called, without asking the program."""
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is FunctionType:
        return [function.__code__]
    kind = function if raw.is_a(function, type) else type(function)
    found = []
    for name in _MADE_BY if kind is function else ("__call__",):
        for base in raw.class_mro(kind):
            inner = type.__dict__["__dict__"].__get__(base).get(name)
            if type(inner) is staticmethod:
                inner = inner.__func__
            if type(inner) is FunctionType:
                found.append(inner.__code__)
            if inner is not None:
                break
    return found
