"""Gives pydevd and us one tool of sys.monitoring (Python 3.12 and newer), so that each event is handled once.

pydevd is given a stand-in for `sys.monitoring`, which keeps what it asks for beside what we ask for. The interpreter
knows one tool, which has the events of both. What happens at an event is decided by us first; pydevd hears of it only
where it asked to. With a tool each, a line at which we stopped would be told to pydevd once more when the program goes
on from there, and that would end the step that begins there.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Callable, Dict, List, Optional, Tuple, TypeVar

from ..frames import is_debugger_file
from ..python_versions import monitoring

TOOL_NAME = "opencode-debugger"
PYDEVD_NAME = "pydevd"
TOOL_IDS = (4, 3, 0, 5, 2, 1)
"""Tools that we may use, the preferred one first."""

Callback = Callable[..., object]
LocalEvents = Dict[int, Tuple[CodeType, int]]
"""events by the id of a code object, which is kept so that the id stays its own"""
_relaying: Dict[int, CodeType] = {}
"""the code through which events come to pydevd, by id"""
Relaying = TypeVar("Relaying", bound=Callable[..., object])


def relays_events(function: Relaying) -> Relaying:
    """Mark a function that stands between the interpreter and pydevd."""
    _relaying[id(function.__code__)] = function.__code__
    return function


def relays_no_more(function: Relaying) -> None:
    _relaying.pop(id(function.__code__), None)


class SharedTool:
    """The one tool that the interpreter knows."""

    def __init__(self) -> None:
        self.id = -1
        self.own_events = self.pydevd_events = 0
        self.kept_from_pydevd = 0
        """events that pydevd asks for everywhere and is not given"""
        self.own_local: LocalEvents = {}
        self.pydevd_local: LocalEvents = {}
        self.pydevd_callbacks: Dict[int, Callback] = {}
        self.is_used_by_pydevd = False
        self._callbacks: Dict[int, Callback] = {}
        self._quick_callback: Optional[Callback] = None
        """the callback of line events that takes the place of the common one, while pydevd asks for no code's events"""
        self.lock = threading.RLock()

    def acquire(self, callbacks: Dict[int, Callback]) -> bool:
        """Take a tool for a session; return False if the program uses all of them itself."""
        if self.id >= 0:
            return True
        free = [tool for tool in TOOL_IDS if monitoring.get_tool(tool) is None]
        if not free:
            return False
        self.id, self._callbacks = free[0], callbacks
        monitoring.use_tool_id(self.id, TOOL_NAME)
        for event, callback in callbacks.items():
            monitoring.register_callback(self.id, event, callback)
        self._apply_events()
        return True

    def release(self) -> None:
        """Take every event off the program, and give the tool back."""
        with self.lock:
            self.drop_quick_callback()
            tool, self.id = self.id, -1
            codes = [code for code, _ in (*self.own_local.values(), *self.pydevd_local.values())]
            self.own_events = self.pydevd_events = self.kept_from_pydevd = 0
            self.own_local.clear()
            self.pydevd_local.clear()
            self.pydevd_callbacks.clear()
            self.is_used_by_pydevd = False
            if tool < 0 or monitoring.get_tool(tool) != TOOL_NAME:
                return
            monitoring.set_events(tool, 0)
            for code in codes:
                monitoring.set_local_events(tool, code, 0)
            _remove_callbacks(tool)
            monitoring.free_tool_id(tool)

    def fall_silent(self) -> None:
        """Have nothing called any more."""
        if self.id >= 0 and monitoring.get_tool(self.id) == TOOL_NAME:
            monitoring.set_events(self.id, 0)
            _remove_callbacks(self.id)

    # Line events.

    def use_quick_callback(self, callback: Callback) -> None:
        """Have line events handled by a callback that does not think of pydevd, unless pydevd asks for some."""
        with self.lock:
            self.drop_quick_callback()
            if self.id >= 0 and not self.pydevd_local:
                self._quick_callback = relays_events(callback)
                monitoring.register_callback(self.id, monitoring.events.LINE, callback)

    def drop_quick_callback(self) -> None:
        with self.lock:
            dropped, self._quick_callback = self._quick_callback, None
            if dropped is not None:
                monitoring.register_callback(self.id, monitoring.events.LINE, self._callbacks[monitoring.events.LINE])
                relays_no_more(dropped)

    # Events everywhere.

    def set_own_events(self, events: int) -> None:
        with self.lock:
            shared = events & ~self.own_events & self._given_to_pydevd()
            self.own_events = events
            self._apply_events(shared)

    def set_pydevd_events(self, events: int, kept_back: int) -> None:
        with self.lock:
            before = self._given_to_pydevd()
            self.pydevd_events, self.kept_from_pydevd = events, kept_back
            self._apply_events(self._given_to_pydevd() & ~before & self.own_events)

    def _given_to_pydevd(self) -> int:
        return self.pydevd_events & ~self.kept_from_pydevd

    def _apply_events(self, shared: int = 0) -> None:
        """Tell the interpreter. `shared` are new to one and may be switched off in places by the other."""
        if self.id < 0:
            return
        monitoring.set_events(self.id, self.own_events | self._given_to_pydevd())
        if shared:
            monitoring.restart_events()

    # Events in one piece of code.

    def set_own_local(self, code: CodeType, events: int) -> None:
        with self.lock:
            self._set_local(code, self.own_local, self.pydevd_local, events)

    def set_pydevd_local(self, code: CodeType, events: int) -> None:
        with self.lock:
            if events:
                self.drop_quick_callback()
            self._set_local(code, self.pydevd_local, self.own_local, events)

    def _set_local(self, code: CodeType, mine: LocalEvents, other: LocalEvents, events: int) -> None:
        key = id(code)
        theirs = other[key][1] if key in other else 0
        before = mine[key][1] if key in mine else 0
        if events:
            mine[key] = (code, events)
        else:
            mine.pop(key, None)
        if self.id < 0 or before == events:
            return
        shared = events & ~before & theirs
        if shared:  # the other may have switched them off in places: taken away and set again they are everywhere
            monitoring.set_local_events(self.id, code, (before | theirs) & ~shared)
        monitoring.set_local_events(self.id, code, events | theirs)

    def forget_pydevd_local(self) -> None:
        """Take away what pydevd has asked for in single pieces of code."""
        with self.lock:
            for code, _ in list(self.pydevd_local.values()):
                self._set_local(code, self.pydevd_local, self.own_local, 0)

    # What pydevd is told.

    @relays_events
    def tell_pydevd(self, event: int, code: CodeType, *details: object) -> object:
        """Hand an event to pydevd, if it has asked for it there."""
        callback = self.pydevd_callbacks.get(event)
        if callback is None or is_debugger_file(code.co_filename):  # pydevd does not know ours for what they are
            return monitoring.DISABLE
        if not event & self._given_to_pydevd():
            found = self.pydevd_local.get(id(code))
            if found is None or not event & found[1]:
                return monitoring.DISABLE
        return callback(code, *details)

    def take_over(self, codes: List[CodeType]) -> None:
        """Make what pydevd has asked the interpreter for itself a part of this tool."""
        pydevd_tool = monitoring.DEBUGGER_ID
        if monitoring.get_tool(pydevd_tool) != PYDEVD_NAME:
            return
        self.is_used_by_pydevd = True
        self.pydevd_events = monitoring.get_events(pydevd_tool)
        monitoring.set_events(pydevd_tool, 0)
        for event in single_events():
            known = monitoring.register_callback(pydevd_tool, event, None)
            if known is not None:
                self.pydevd_callbacks[event] = known
        for code in codes:
            events = monitoring.get_local_events(pydevd_tool, code)
            if events:
                monitoring.set_local_events(pydevd_tool, code, 0)
                self.set_pydevd_local(code, events)
        monitoring.free_tool_id(pydevd_tool)


class PydevdMonitoring:
    """Stands in for `sys.monitoring` in pydevd. It uses one tool, which it names by a number that is not looked at."""

    def __init__(self, tool: SharedTool, kept_back: Callable[[], int]) -> None:
        self._tool = tool
        self._kept_back = kept_back
        self.events, self.DISABLE, self.MISSING = monitoring.events, monitoring.DISABLE, monitoring.MISSING
        self.DEBUGGER_ID = monitoring.DEBUGGER_ID

    def get_tool(self, tool: int) -> Optional[str]:
        return PYDEVD_NAME if self._tool.is_used_by_pydevd else None

    def use_tool_id(self, tool: int, name: str) -> None:
        self._tool.is_used_by_pydevd = True

    def free_tool_id(self, tool: int) -> None:
        self._tool.is_used_by_pydevd = False

    def register_callback(self, tool: int, event: int, callback: Optional[Callback]) -> Optional[Callback]:
        before = self._tool.pydevd_callbacks.pop(event, None)
        if callback is not None:
            self._tool.pydevd_callbacks[event] = callback
        return before

    def get_events(self, tool: int) -> int:
        return self._tool.pydevd_events

    def set_events(self, tool: int, events: int) -> None:
        self._tool.set_pydevd_events(events, self._kept_back())

    def get_local_events(self, tool: int, code: CodeType) -> int:
        found = self._tool.pydevd_local.get(id(code))
        return found[1] if found is not None else 0

    def set_local_events(self, tool: int, code: CodeType, events: int) -> None:
        self._tool.set_pydevd_local(code, events)

    def restart_events(self) -> None:
        monitoring.restart_events()


def _remove_callbacks(tool: int) -> None:
    for event in single_events():
        monitoring.register_callback(tool, event, None)


def single_events() -> List[int]:
    """Return the events that there are, each of one bit."""
    values = {value for name, value in vars(monitoring.events).items() if name.isupper() and isinstance(value, int)}
    return sorted(value for value in values if value and not value & (value - 1))


def event_frame(depth: int = 0) -> Optional[FrameType]:
    """Stand in for sys._getframe in pydevd: count only frames that would be there if pydevd were called directly."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if id(frame.f_code) not in _relaying:
            if not depth:
                return frame
            depth -= 1
        frame = frame.f_back
    raise ValueError("call stack is not deep enough")


@relays_events
def innermost_event_frame(depth: int = 0) -> Optional[FrameType]:
    """Stand in for it where pydevd is compiled: its own functions have no frames there, and the depth means nothing."""
    return event_frame()
