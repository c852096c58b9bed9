"""Traces threads only while somebody asks for it, up to Python 3.11: a stop, a step, code without tests, a recording.

Threads have one trace function, ours, and only then. It hands what happens to pydevd's, whose own functions of frames
are wrapped, so that all of them end as soon as every thread runs freely again. A trace function of the program's own is
put back.
"""

from __future__ import annotations

import opcode
import sys
import threading
from types import CodeType
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from ..frames import RESUMABLE, is_debugger_file, is_debugger_thread, outward_frames, running_frames
from ..pydevd_patches import pydevd_parts
from . import code_assembly, line_tests
from .code_replacement import CodeReplacement
from .leaving_exceptions import leave_to_us

_SUSPENDED = 2
"""The state of a thread that is halted or about to be."""
_NOT_STEPPING = -1
_STEPS_OVER = frozenset((108, 109, 159, 160))
"""Commands of pydevd: steps over and out, of all code or of the program's own."""
_YIELD, _YIELD_FROM = opcode.opmap["YIELD_VALUE"], opcode.opmap.get("YIELD_FROM", 255)
_STARTS = frozenset(opcode.opmap[name] for name in ("RESUME", "RETURN_GENERATOR") if name in opcode.opmap)
"""What the frame of a generator or coroutine that begins is at, from 3.11 on."""
_MOST_KEPT = 1000
"""Pieces of code of which is kept where lines begin."""
_ident = threading.get_ident


class FrameRecorder(NamedTuple):
    """What a recording wants to be told, beside pydevd."""

    watch: Callable[[Any], None]
    """Gives a frame a trace function of the recording, if it is recorded and its thread traced."""
    hear: Callable[[Any, str, Any], bool]
    """Is told of an event of a frame; returns False when it wants no more lines of it."""


class ThreadTracing:
    """Which threads are traced, and why."""

    def __init__(self, replacement: CodeReplacement) -> None:
        self.replacement = replacement
        self.is_busy = False
        """Some thread is halted, is to halt, or steps."""
        self.is_always = False
        """Every line or exception is asked for."""
        self.py_db: Any = None
        self._dispatch: Any = None
        """pydevd's own trace function"""
        self._traced: Set[int] = set()
        self._foreign: Dict[int, ForeignTracing] = {}
        """Trace functions of the program's own, by thread, that ours stand in for."""
        self._nothing: Any = None
        """What pydevd's functions return for a frame that it does not want to hear of."""
        self.recorder: Optional[FrameRecorder] = None
        """The recording that is made: all threads are traced, but for those that the program traces itself."""
        self._beginnings: Dict[int, Tuple[CodeType, FrozenSet[int]]] = {}
        """By id of code: the bytes at which lines begin."""

    def adopt(self, py_db: Any) -> None:
        """Stand in for the trace function of this debugger."""
        if self.py_db is not py_db:
            from _pydevd_bundle.pydevd_constants import NO_FTRACE

            self._nothing = NO_FTRACE
            self.py_db, self._dispatch = py_db, py_db.trace_dispatch
            py_db.trace_dispatch = self.on_frame_event
            py_db.stop_on_unhandled_exception = leave_to_us
            self.forget_all()

    def is_wanted(self) -> bool:
        """Tell whether the debugger itself has something to be traced."""
        return self.is_busy or self.is_always or self.replacement.has_outdated

    # Beginning.

    def be_busy(self, py_db: Any) -> None:
        """Trace all threads, until they run freely again."""
        self.adopt(py_db)
        self.is_busy = True
        self.trace_all()

    def trace_this(self) -> None:
        current = sys.gettrace() or line_tests.paused_tracers.pop(_ident(), None)
        if current != self._function():
            if current is not None and is_foreign(current):
                self._foreign[_ident()] = ForeignTracing(current, sys._getframe(1))
            pydevd_parts.tracing.SetTrace(self._function())
        self._traced.add(_ident())

    def _function(self) -> Any:
        return self._dispatch if self.is_always else self.on_call

    def set_always(self, is_always: bool) -> None:
        """Let pydevd trace everything as it does by itself, or no more."""
        if is_always == self.is_always:
            return
        self.is_always = is_always
        self.py_db.trace_dispatch = self._dispatch if is_always else self.on_frame_event
        self._traced.clear()
        self.trace_all()
        if not is_always:  # what pydevd has given to frames ends with their next event
            for frame in running_frames():
                if frame.f_trace is not None and not is_foreign(frame.f_trace):
                    self._follow(frame, FrameTracer(self))

    def trace_all(self, function: Any = None) -> None:
        """Trace all threads that are not; `function` is called first in them."""
        if not self.py_db.ready_to_run:
            return  # pydevd enables tracing itself when the runner has let the program go

        hidden = list(getattr(self.py_db, "created_pydb_daemon_threads", ()))
        own = {each.ident for each in (*threading.enumerate(), *hidden) if is_debugger_thread(each)}
        idents = [ident for ident in sys._current_frames() if ident not in own and ident not in self._traced]
        self._traced.update(idents)
        if idents:
            first = function or self._function()
            pydevd_parts.tracing.set_trace_to_threads(first, thread_idents=idents, create_dummy_thread=False)

    def trace_outdated(self) -> None:
        """Trace what has breakpoints without tests."""
        if not self.replacement.has_outdated:
            return
        self.trace_all()
        for ident, top in list(sys._current_frames().items()):
            if ident in self._traced:
                for frame in outward_frames(top):
                    if not is_ours(frame.f_trace) and self.replacement.is_outdated(frame.f_code):
                        self._follow(frame, FrameTracer(self))

    def wake(self, frame: Any) -> None:
        """Have the next event of this frame told to pydevd."""
        threading.current_thread()  # pydevd looks for it among those that are known
        self.trace_this()
        own = frame.f_trace if frame.f_trace is not None and is_foreign(frame.f_trace) else None
        frame.f_trace = None  # so that up to 3.9 the line is looked up when it is set
        self._follow(frame, FrameTracer(self, None, own, is_repeated=True))

    def _follow(self, frame: Any, tracer: Any) -> None:
        frame.f_trace_lines = True  # a recording may have no use for them
        frame.f_trace = tracer

    def follow_parents(self, frame: Any) -> None:
        """Have lines told of frames that pydevd has given its function to, and what is recorded of them."""
        for each in outward_frames(frame):
            if each.f_trace is not None:
                each.f_trace_lines = True
                if self.recorder is not None:
                    self.recorder.watch(each)

    # Recording.

    def begin_recording(self, recorder: FrameRecorder, begin: Any) -> None:
        """Trace all threads for a recording; `begin` is called first in the others."""
        self.recorder = recorder
        py_db = pydevd_parts.pydevd.get_global_debugger()
        if py_db is None:
            return
        self.adopt(py_db)
        self._traced.clear()
        if not is_debugger_thread(threading._active.get(_ident())):  # type: ignore[attr-defined]
            self.trace_for_recording()
        self.trace_all(begin)

    def trace_for_recording(self) -> None:
        """Trace this thread, unless the program does so itself."""
        current = sys.gettrace()
        if current is None or not is_foreign(current):
            self.trace_this()

    def _stays_traced(self, ident: int) -> bool:
        return self.recorder is not None and ident not in self._foreign

    # Ending.

    def follow_resume(self, frame: Any) -> None:
        """Go on as fast as before, if every thread runs freely."""
        with pydevd_parts.suspend_threads_lock:
            if not all(_is_free(each) for each in list(threading._active.values())):  # type: ignore[attr-defined]
                return
            self.is_busy = False
        if not self.is_wanted():
            self.end_this(frame)

    def end_this(self, frame: Any) -> None:
        """End the tracing of this thread, whose innermost frame this is."""
        ident, current = _ident(), sys.gettrace()
        if self._stays_traced(ident):
            return
        self._traced.discard(ident)
        if current is not None and is_foreign(current):
            return  # the program's own is back already
        foreign = self._foreign.pop(ident, None)
        for each in outward_frames(frame):
            # Up to 3.9 a frame with a trace function says that it is in the line that was traced last.
            if each.f_trace is not None and (foreign is None or is_ours(each.f_trace)):
                self.release(each)
        if foreign is None:
            line_tests.set_tracer(None)
        else:
            foreign.put_back()

    def release(self, frame: Any, own: Any = None) -> None:
        """Leave a frame to the program's own trace function, or to the recording."""
        frame.f_trace = own
        if self.recorder is not None:
            self.recorder.watch(frame)

    def forget_all(self) -> None:
        self.is_busy = self.is_always = False
        self._traced.clear()
        self._foreign.clear()
        self._beginnings.clear()

    def begin_thread(self) -> None:
        """Begin with a thread that has just started."""
        self._traced.discard(_ident())
        self._foreign.pop(_ident(), None)
        if self.is_wanted():
            self.trace_this()
        elif self.recorder is not None:
            self.trace_for_recording()

    # Events.

    def on_call(self, frame: Any, event: str, arg: Any) -> Any:
        """Hear of every call in a thread that is traced."""
        if self.recorder is not None and not self._foreign and not self.is_wanted():
            return None  # the recording sees to its frames itself
        code = frame.f_code
        if is_debugger_file(code.co_filename) or line_tests.is_deciding():
            return None
        self.replacement.renew_functions_of(frame)
        if self.is_busy or self.is_always:
            is_passed = self._is_passed_by_step(frame) and not self.replacement.is_outdated(code)
            return None if is_passed else self.tell_pydevd(frame, event, arg)
        if not self.replacement.has_outdated:
            if not self._stays_traced(_ident()) and not line_tests.is_awaited():
                self.end_this(frame)
            return None
        return self.tell_pydevd(frame, event, arg) if self.replacement.is_outdated(code) else None

    def _is_passed_by_step(self, frame: Any) -> bool:
        """Tell whether a frame is deeper than what the thread steps over or out of: tests see to its breakpoints."""
        thread = threading._active.get(_ident())  # type: ignore[attr-defined]
        info = getattr(thread, "additional_info", None)
        if info is None or info.pydev_state == _SUSPENDED or self.is_always:
            return False
        command, end = info.pydev_step_cmd, info.pydev_step_stop
        if command == _NOT_STEPPING:
            return True
        return command in _STEPS_OVER and end is not None and end is not frame and end is not frame.f_back

    def on_frame_event(self, frame: Any, event: str, arg: Any) -> Any:
        """Stand in for pydevd's trace function, where that gives it to a frame."""
        return FrameTracer(self)(frame, event, arg)

    def is_interested_in(self, frame: Any) -> bool:
        if self.is_busy or self.is_always or line_tests.is_awaited():
            return True
        return self.replacement.has_outdated and self.replacement.is_outdated(frame.f_code)

    def is_beginning(self, frame: Any) -> bool:
        """Tell whether a line begins at this event of one.

        Up to 3.9 whatever stands in front of what was last traced in a frame counts as a jump back. Where tracing was
        off meanwhile, that is also the middle of a line: of one that has called something, or of a test.
        """
        if not code_assembly.TELLS_STARTS:
            return True
        code = frame.f_code
        known = self._beginnings.get(id(code))
        if known is None:
            if len(self._beginnings) >= _MOST_KEPT:
                self._beginnings.clear()
            known = self._beginnings[id(code)] = (code, code_assembly.find_beginnings(code))
        return frame.f_lasti in known[1]

    def tell_pydevd(self, frame: Any, event: str, arg: Any) -> Any:
        found = self.thread_tracer()(frame, event, arg)
        if found is None or found is self._nothing:
            frame.f_trace = None
            return None
        return FrameTracer(self, found)

    def thread_tracer(self) -> Any:
        """Return pydevd's trace function of this thread."""
        thread = threading._active.get(_ident())  # type: ignore[attr-defined]
        tracer = getattr(getattr(thread, "additional_info", None), "thread_tracer", None)
        return tracer if tracer is not None and tracer._args[0] is self.py_db else self._dispatch

    def end_frame(self, frame: Any) -> None:
        """Forget a frame without tests that has ended."""
        if self.replacement.is_known(frame) and not is_suspended(frame):
            self.replacement.forget_frame(frame)

    def stop_here(self, frame: Any, breakpoint: Any, ids: List[int]) -> None:
        """Stop inside of the test, where the program has taken the events away."""
        py_db, thread = self.py_db, threading.current_thread()
        if py_db is None or py_db.pydb_disposed:
            return
        info = py_db.set_additional_thread_info(thread)
        info.is_tracing += 1
        try:
            all_threads = breakpoint.suspend_policy == "ALL"
            py_db.set_suspend(thread, pydevd_parts.commands.CMD_SET_BREAK, suspend_other_threads=all_threads)
            info.hit_breakpoint_ids = ids
            py_db.do_wait_suspend(thread, frame, "call", None)
        finally:
            info.is_tracing -= 1


class ForeignTracing:
    """The program's own trace function of a thread, with those of its frames."""

    def __init__(self, function: Any, frame: Any) -> None:
        self._function = function
        self._of_frames = [
            (each, each.f_trace)
            for each in outward_frames(frame)
            if each.f_trace is not None and is_foreign(each.f_trace)
        ]

    def put_back(self) -> None:
        for frame, function in self._of_frames:
            frame.f_trace = function
        line_tests.set_tracer(self._function)


class FrameTracer:
    """The trace function of a frame: pydevd's, as long as somebody is interested."""

    __slots__ = ("_inner", "_is_repeated", "_own", "_tracing")

    def __init__(
        self, tracing: ThreadTracing, inner: Any = None, own: Any = None, is_repeated: bool = False
    ) -> None:
        self._tracing, self._inner = tracing, inner
        self._own = own
        """The program's own of this frame, which it gets back."""
        self._is_repeated = is_repeated
        """Whoever heard of the frame before has heard of the line that comes first."""

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        tracing = self._tracing
        if line_tests.is_deciding() or is_debugger_file(frame.f_code.co_filename):
            return self
        is_known, self._is_repeated = self._is_repeated and event == "line", False
        if event == "line" and not tracing.is_beginning(frame):
            return self
        if tracing.recorder is not None and not is_known:
            tracing.recorder.hear(frame, event, arg)
        if not tracing.is_interested_in(frame):
            return self._end(frame)
        inner = self._inner or tracing.thread_tracer()
        found = inner(frame, event, arg)
        if event == "return":
            tracing.end_frame(frame)
        if found is tracing._nothing or not tracing.is_interested_in(frame):
            return self._end(frame)
        if found is not None:
            self._inner = found
        return self

    def _end(self, frame: Any) -> Optional[Any]:
        self._tracing.release(frame, self._own)
        if not self._tracing.is_wanted():
            self._tracing.end_this(frame)
        return None


class BothTracers:
    """The trace function of a frame that is recorded, and traced by the program itself or by pydevd alone."""

    __slots__ = ("_hear", "inner")

    def __init__(self, hear: Callable[[Any, str, Any], bool], inner: Any) -> None:
        self._hear, self.inner = hear, inner

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        self._hear(frame, event, arg)
        self.inner = self.inner(frame, event, arg) or self.inner
        return self


def is_suspended(frame: Any) -> bool:
    """Tell whether a frame that returns is that of a generator or coroutine, and goes on later."""
    if not frame.f_code.co_flags & RESUMABLE or frame.f_lasti < 0:
        return False
    data, at = frame.f_code.co_code, frame.f_lasti
    return data[at] == _YIELD or _YIELD_FROM in data[at + 2 : at + 3]  # of the latter it stands in front


def is_at_start(frame: Any) -> bool:
    """Tell whether a frame that is entered begins; that of a generator or coroutine may go on."""
    at = frame.f_lasti
    if at < 0:
        return True
    data = frame.f_code.co_code
    return data[at] in _STARTS and not data[at + 1]


def is_ours(function: Any) -> bool:
    return isinstance(function, FrameTracer) or getattr(function, "__self__", None).__class__ is ThreadTracing


def is_foreign(function: Any) -> bool:
    """Tell whether a trace function is the program's own, neither pydevd's nor ours."""
    function = function.inner if isinstance(function, BothTracers) else function
    module = getattr(function, "__module__", None) or type(function).__module__
    return not is_ours(function) and not str(module).startswith(("_pydevd", "pydevd", "_ocdb"))


def _is_free(thread: Any) -> bool:
    info = getattr(thread, "additional_info", None)
    return info is None or bool(info.pydev_step_cmd == _NOT_STEPPING and info.pydev_state != _SUSPENDED)
