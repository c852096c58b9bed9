"""Steps that go on by themselves: so many times, until an expression is true, or into one call of the line.

pydevd stops a thread after a step in two calls: set_suspend, then do_wait_suspend. For a thread on a journey the first
is put off until the second has looked whether the journey is over; if not, the next step begins at once, and nobody
hears of the stop in between. Thousands of steps take the time that a few would take one by one.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any, Dict, Optional

from . import targets
from .breakpoints import value as value_of
from .interrupts import Interrupted, guard, interrupt
from .repr import describe_error

MOST_ON_ONE_LINE = 10000
ERROR_LIMIT = 500
KNOWN = 100
_COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
_MADE_BY_CALL = frozenset(("__init__", "__new__", "__call__"))
_RESUMABLE = 0x20 | 0x80 | 0x200

_underway: Dict[int, Journey] = {}
"""by thread"""
_known: Dict[int, Journey] = {}
"""by token, until somebody has asked how it ended"""


class Journey:
    """Steps of one thread, all of the same kind."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.steps = 0
        self.is_met = False
        self.error: Optional[str] = None
        self.put_off: Any = None
        self.thread: Any = None

    def next_command(self, frame: FrameType, command: int, commands: Any) -> Optional[int]:
        """The step to go on with, or None where the journey ends."""
        self.steps += 1
        return None if self.arrived(frame) or self.steps >= self.most else command

    def arrived(self, frame: FrameType) -> bool:
        return False

    def report(self) -> Dict[str, Any]:
        return {"steps": self.steps, "met": self.is_met, "error": self.error}


class Until(Journey):
    """Until an expression is true; a name that does not exist yet makes it false."""

    def __init__(self, most: int, expression: CodeType) -> None:
        super().__init__(most)
        self.expression = expression

    def arrived(self, frame: FrameType) -> bool:
        with guard() as running:
            value, error = running.call(lambda: bool(value_of(self.expression, frame)))
            try:
                if isinstance(error, Interrupted):
                    self.error = "the expression took too long and was interrupted"
                elif error is not None and not isinstance(error, NameError):
                    self.error = describe_error(error, ERROR_LIMIT)
                self.is_met = error is None and bool(value)
                return self.is_met or self.error is not None
            finally:
                error = None


class IntoCall(Journey):
    """Into the wanted call of a line: into whatever the line calls, and out again if it is not that."""

    def __init__(self, origin: FrameType, target: targets.Target, first: int, last: int) -> None:
        super().__init__(MOST_ON_ONE_LINE)
        self.origin = origin
        self.target = target
        self.first, self.last = first, last

    def next_command(self, frame: FrameType, command: int, commands: Any) -> Optional[int]:
        self.steps += 1
        my_code = command == commands.CMD_STEP_INTO_MY_CODE
        into = commands.CMD_STEP_INTO_MY_CODE if my_code else commands.CMD_STEP_INTO
        out = commands.CMD_STEP_RETURN_MY_CODE if my_code else commands.CMD_STEP_RETURN
        if self.steps >= self.most:
            return None
        if self._is_part(frame):
            is_here = frame is not self.origin or self.first <= frame.f_lineno <= self.last
            return into if is_here else None
        if frame.f_back is not None and self._is_part(frame.f_back):
            self.is_met = self._is_wanted(frame, frame.f_back)
            return None if self.is_met else out
        return out if self._is_above(frame) else None

    def _is_part(self, frame: FrameType) -> bool:
        """The line's own frame, or that of a comprehension in it."""
        found: Optional[FrameType] = frame
        while found is not None and found.f_code.co_name in _COMPREHENSIONS:
            found = found.f_back
        return found is self.origin

    def _is_above(self, frame: FrameType) -> bool:
        found: Optional[FrameType] = frame
        while found is not None:
            if found is self.origin:
                return True
            found = found.f_back
        return False

    def _is_wanted(self, frame: FrameType, caller: FrameType) -> bool:
        code = frame.f_code
        ending = targets.end_of_instruction(caller)
        if ending is not None:
            if ending == self.target.end:
                return True
            # A generator or coroutine runs later, when something else asks it for a value.
            return bool(code.co_flags & _RESUMABLE) and code.co_name == self.target.name
        if code.co_name in _MADE_BY_CALL and code.co_varnames:
            first = frame.f_locals.get(code.co_varnames[0])
            made = first if isinstance(first, type) else type(first)
            return made.__name__ == self.target.name
        if code.co_name != self.target.name:
            return False
        self.target.earlier -= 1
        return self.target.earlier < 0


class Visits:
    """The line that the next run, and only that, is to stop at."""

    def __init__(self) -> None:
        self.planned = 0
        self.current = 0

    def plan(self, number: int) -> None:
        self.planned = number

    def resumed(self) -> None:
        self.current, self.planned = self.planned, 0


visits = Visits()


def set_out(frame: FrameType, token: int, journey: Journey) -> bool:
    """For the next step of the frame's thread."""
    ident = _thread_of(frame)
    if ident is None:
        return False
    journey.thread = threading._active.get(ident)  # type: ignore[attr-defined]
    while len(_known) >= KNOWN:
        del _known[next(iter(_known))]
    _known[token] = _underway[ident] = journey
    return True


def _of(thread: Any) -> Optional[Journey]:
    """Numbers of threads are used again, the threads are not."""
    journey = _underway.get(thread.ident) if _underway else None
    return journey if journey is not None and journey.thread is thread else None


def report(token: int, end: bool) -> Dict[str, Any]:
    """How far it came; `end` makes it go no further, and then forgets it."""
    journey = _known.get(token)
    if journey is None:
        return {}
    if end:
        idents = [ident for ident, found in list(_underway.items()) if found is journey]
        for ident in idents:
            _underway.pop(ident, None)
            interrupt(ident)
        if not idents:
            del _known[token]
    return journey.report()


def reports() -> Dict[int, Dict[str, Any]]:
    return {token: journey.report() for token, journey in list(_known.items())}


def forget() -> None:
    """In a forked child: the journeys are the parent's."""
    _underway.clear()
    _known.clear()


def _thread_of(frame: FrameType) -> Optional[int]:
    for ident, top in sys._current_frames().items():
        found: Optional[FrameType] = top
        while found is not None:
            if found is frame:
                return ident
            found = found.f_back
    return None


_suspended = 0
"""pydevd's state of a thread that is to stop"""


def install() -> None:
    global _suspended
    import pydevd
    from _pydevd_bundle import pydevd_comm_constants as commands
    from _pydevd_bundle.pydevd_constants import STATE_SUSPEND

    _suspended = STATE_SUSPEND
    names = ("OVER", "INTO", "RETURN", "OVER_MY_CODE", "INTO_MY_CODE", "RETURN_MY_CODE", "INTO_COROUTINE")
    steps = frozenset(getattr(commands, "CMD_STEP_" + name) for name in names)
    suspend, wait = pydevd.PyDB.set_suspend, pydevd.PyDB.do_wait_suspend

    def set_suspend(self: Any, thread: Any, stop_reason: int, *args: Any, **options: Any) -> None:
        journey = _of(thread)
        if journey is not None and stop_reason in steps and thread.ident == threading.get_ident():
            journey.put_off = (stop_reason, args, options)
        else:
            suspend(self, thread, stop_reason, *args, **options)

    def do_wait_suspend(self: Any, thread: Any, frame: Any, event: Any, arg: Any, exception_type: Any = None) -> None:
        journey = _of(thread)
        if journey is not None:
            put_off, journey.put_off = journey.put_off, None
            if put_off is not None:
                if _goes_on(self, thread, frame, journey, commands):
                    return
                suspend(self, thread, put_off[0], *put_off[1], **put_off[2])
            _underway.pop(thread.ident, None)
        wait(self, thread, frame, event, arg, exception_type)

    pydevd.PyDB.set_suspend = set_suspend
    pydevd.PyDB.do_wait_suspend = do_wait_suspend


def _goes_on(py_db: Any, thread: Any, frame: Any, journey: Journey, commands: Any) -> bool:
    """Whether the next step has begun. A thread that is to stop for another reason stops here."""
    info = thread.additional_info
    if info.pydev_state == _suspended or py_db.pydb_disposed:
        return False
    command = journey.next_command(frame, info.pydev_original_step_cmd, commands)
    if command is None or _underway.get(thread.ident) is not journey:
        return False
    return _begin_step(py_db, thread, frame, command, commands)


def _begin_step(py_db: Any, thread: Any, frame: Any, command: int, commands: Any) -> bool:
    """What pydevd does when a stopped thread is told to step."""
    info = thread.additional_info
    info.trace_suspend_type = "trace"
    info.pydev_step_cmd = command
    info.step_in_initial_location = None
    stop: Any = None
    if command in (commands.CMD_STEP_INTO, commands.CMD_STEP_INTO_MY_CODE):
        info.step_in_initial_location = (frame, frame.f_lineno)
        if frame.f_code.co_flags & 0x80:  # a coroutine
            info.pydev_step_cmd = commands.CMD_STEP_INTO_COROUTINE
            stop = frame
    elif command in (commands.CMD_STEP_OVER, commands.CMD_STEP_OVER_MY_CODE):
        stop = frame
    else:
        stop = _frame_to_leave(py_db, frame, command == commands.CMD_STEP_RETURN_MY_CODE)
        if stop is None:
            return False
    info.pydev_step_stop = stop
    py_db.set_trace_for_frame_and_parents(thread.ident, frame)
    info.update_stepping_info()
    return True


def _frame_to_leave(py_db: Any, frame: Any, my_code: bool) -> Any:
    """The outermost one below which nothing is of the program's own; None if there is no caller."""
    back = frame.f_back
    if my_code or py_db.is_files_filter_enabled:
        while back is not None and py_db.apply_files_filter(back, back.f_code.co_filename, my_code):
            frame, back = back, back.f_back
    return None if back is None else frame
