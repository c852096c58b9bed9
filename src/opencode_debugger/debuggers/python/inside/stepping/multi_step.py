"""Makes steps that go on by themselves: so many times, until an expression is true, or into one call of the line.

pydevd stops a thread after a step in two calls: set_suspend, then do_wait_suspend. For a thread with a multi-step the
first is put off until the second has looked whether that is over; if not, the next step begins at once, and nobody
hears of the stop in between. Thousands of steps take the time that a few would take one by one.
"""

from __future__ import annotations

import sys
import threading
from inspect import CO_COROUTINE
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Dict, Optional

from ..breakpoints.hit_decisions import evaluate_in_scope
from ..frames import RESUMABLE, outward_frames
from ..pydevd_patches import pydevd_parts
from ..rpc.interrupts import Interrupted, guard, interrupt_thread
from ..values.bounded_repr import describe_error
from . import line_calls

if TYPE_CHECKING:
    from ....rows import JourneyRow

MOST_ON_ONE_LINE = 10000
ERROR_LIMIT = 500
MOST_KNOWN = 100
_COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
_MADE_BY_CALL = frozenset(("__init__", "__new__", "__call__"))

_underway: Dict[int, MultiStep] = {}
"""Multi-steps that are under way, by thread."""
_known: Dict[int, MultiStep] = {}
"""Multi-steps by token, until the relay has asked how they ended."""


class MultiStep:
    """Steps of one thread, all of the same kind."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.steps = 0
        self.is_met = False
        self.error: Optional[str] = None
        self.put_off: Any = None
        self.thread: Any = None

    def next_command(self, frame: FrameType, command: int, commands: Any) -> Optional[int]:
        """Return the step to go on with, or None where it ends."""
        self.steps += 1
        return None if self.has_arrived(frame) or self.steps >= self.most else command

    def has_arrived(self, frame: FrameType) -> bool:
        return False

    def as_row(self) -> JourneyRow:
        return {"steps": self.steps, "met": self.is_met, "error": self.error}


class StepUntil(MultiStep):
    """Steps until an expression is true; a missing name makes it false, and is told if it was missing at every step."""

    def __init__(self, most: int, expression: CodeType) -> None:
        super().__init__(most)
        self.expression = expression
        self.had_all_names = False
        self.missing_name: Optional[str] = None

    def has_arrived(self, frame: FrameType) -> bool:
        with guard() as running:
            value, error = running.call(lambda: bool(evaluate_in_scope(self.expression, frame)))
            try:
                if isinstance(error, Interrupted):
                    self.error = "the expression took too long and was interrupted"
                elif isinstance(error, NameError):
                    self.missing_name = self.missing_name or describe_error(error, ERROR_LIMIT)
                elif error is not None:
                    self.error = describe_error(error, ERROR_LIMIT)
                self.had_all_names = self.had_all_names or error is None
                self.is_met = error is None and bool(value)
                return self.is_met or self.error is not None
            finally:
                error = None

    def as_row(self) -> JourneyRow:
        error = self.error if self.had_all_names else self.error or self.missing_name
        return {**super().as_row(), "error": error}


class StepIntoCall(MultiStep):
    """Steps into the wanted call of a line: into whatever the line calls, and out again if it is not that."""

    def __init__(self, origin: FrameType, target: line_calls.StepTarget, first: int, last: int) -> None:
        super().__init__(MOST_ON_ONE_LINE)
        self.origin = origin
        self.target = target
        self.first, self.last = first, last

    def next_command(self, frame: FrameType, command: int, commands: Any) -> Optional[int]:
        self.steps += 1
        into, out = commands.CMD_STEP_INTO, commands.CMD_STEP_RETURN
        if command == commands.CMD_STEP_INTO_MY_CODE:
            into, out = commands.CMD_STEP_INTO_MY_CODE, commands.CMD_STEP_RETURN_MY_CODE
        if self.steps >= self.most:
            return None
        if self._is_part(frame):
            return into if frame is not self.origin or self.first <= frame.f_lineno <= self.last else None
        if frame.f_back is not None and self._is_part(frame.f_back):
            self.is_met = self._is_wanted(frame, frame.f_back)
            return None if self.is_met else out
        return out if self.origin in outward_frames(frame) else None

    def _is_part(self, frame: FrameType) -> bool:
        """Tell whether it is the line's own frame, or that of a comprehension in it."""
        outside = (each for each in outward_frames(frame) if each.f_code.co_name not in _COMPREHENSIONS)
        return next(outside, None) is self.origin

    def _is_wanted(self, frame: FrameType, caller: FrameType) -> bool:
        code = frame.f_code
        ending = line_calls.end_of_instruction(caller)
        if ending is not None:
            if ending == self.target.end:
                return True
            # A generator or coroutine runs later, when something else asks it for a value.
            return bool(code.co_flags & RESUMABLE) and code.co_name == self.target.name
        if code.co_name in _MADE_BY_CALL and code.co_varnames:
            first = frame.f_locals.get(code.co_varnames[0])
            made = first if isinstance(first, type) else type(first)
            return made.__name__ == self.target.name
        if code.co_name != self.target.name:
            return False
        self.target.earlier -= 1
        return self.target.earlier < 0


class LineVisits:
    """The line that the next run, and only that, is to stop at."""

    def __init__(self) -> None:
        self.planned = 0
        self.current = 0

    def plan_visit(self, number: int) -> None:
        self.planned = number

    def begin_run(self) -> None:
        self.current, self.planned = self.planned, 0


visits = LineVisits()


def begin_steps(frame: FrameType, token: int, multi_step: MultiStep) -> None:
    """Give the frame's thread a multi-step to begin with its next step."""
    running = sys._current_frames().items()
    ident = next((ident for ident, top in running if frame in outward_frames(top)), None)
    if ident is None:
        return
    multi_step.thread = threading._active.get(ident)  # type: ignore[attr-defined]
    while len(_known) >= MOST_KNOWN:
        del _known[next(iter(_known))]
    _known[token] = _underway[ident] = multi_step


def _steps_of(thread: Any) -> Optional[MultiStep]:
    """Return the multi-step of a thread, which is compared itself: its number may be used again by another."""
    multi_step = _underway.get(thread.ident) if _underway else None
    return multi_step if multi_step is not None and multi_step.thread is thread else None


def find_put_off(thread: Any, stop_reason: int) -> Optional[MultiStep]:
    """Return the multi-step that goes on where this thread is about to stop for this reason, or stops there later."""
    multi_step = _steps_of(thread)
    is_own_step = stop_reason in pydevd_parts.step_reasons and thread.ident == threading.get_ident()
    return multi_step if is_own_step else None


def report_steps(token: int, end: bool) -> JourneyRow:
    """Tell how far it came; `end` makes it go no further, and then forgets it."""
    multi_step = _known.get(token)
    if multi_step is None:
        return {}
    if end:
        idents = [ident for ident, found in list(_underway.items()) if found is multi_step]
        for ident in idents:
            _underway.pop(ident, None)
            interrupt_thread(ident)
        if not idents:
            del _known[token]
    return multi_step.as_row()


def report_all() -> Dict[int, JourneyRow]:
    return {token: multi_step.as_row() for token, multi_step in list(_known.items())}


def forget_all() -> None:
    """Forget the parent's multi-steps in a forked child."""
    _underway.clear()
    _known.clear()


def install() -> None:
    import pydevd
    from _pydevd_bundle import pydevd_comm_constants as commands
    from _pydevd_bundle.pydevd_constants import STATE_SUSPEND

    suspend, wait = pydevd.PyDB.set_suspend, pydevd.PyDB.do_wait_suspend

    def set_suspend(self: Any, thread: Any, stop_reason: int, *args: Any, **options: Any) -> None:
        multi_step = find_put_off(thread, stop_reason)
        if multi_step is not None:
            multi_step.put_off = (stop_reason, args, options)
        else:
            suspend(self, thread, stop_reason, *args, **options)

    def do_wait_suspend(self: Any, thread: Any, frame: Any, event: Any, arg: Any, exception_type: Any = None) -> None:
        multi_step = _steps_of(thread)
        if multi_step is not None:
            put_off, multi_step.put_off = multi_step.put_off, None
            if put_off is not None:
                # One that is to stop for another reason stops here.
                info = thread.additional_info
                may_go = info.pydev_state != STATE_SUSPEND and not self.pydb_disposed
                command = multi_step.next_command(frame, info.pydev_original_step_cmd, commands) if may_go else None
                is_next = command is not None and _underway.get(thread.ident) is multi_step
                if is_next and _begin_step(self, thread, frame, command, commands):
                    return
            _underway.pop(thread.ident, None)
            if put_off is not None:
                self.set_suspend(thread, put_off[0], *put_off[1], **put_off[2])
        wait(self, thread, frame, event, arg, exception_type)

    pydevd.PyDB.set_suspend = set_suspend
    pydevd.PyDB.do_wait_suspend = do_wait_suspend


def _begin_step(py_db: Any, thread: Any, frame: Any, command: Optional[int], commands: Any) -> bool:
    """Do what pydevd does when a stopped thread is told to step."""
    info = thread.additional_info
    info.trace_suspend_type = "trace"
    info.pydev_step_cmd = command
    info.step_in_initial_location = None
    stop: Optional[FrameType] = None
    if command in (commands.CMD_STEP_INTO, commands.CMD_STEP_INTO_MY_CODE):
        info.step_in_initial_location = (frame, frame.f_lineno)
        if frame.f_code.co_flags & CO_COROUTINE:
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


def _frame_to_leave(py_db: Any, frame: FrameType, my_code: bool) -> Optional[FrameType]:
    """Return the outermost frame below which nothing is of the program's own; None if there is no caller."""
    back = frame.f_back
    if my_code or py_db.is_files_filter_enabled:
        while back is not None and py_db.apply_files_filter(back, back.f_code.co_filename, my_code):
            frame, back = back, back.f_back
    return None if back is None else frame
