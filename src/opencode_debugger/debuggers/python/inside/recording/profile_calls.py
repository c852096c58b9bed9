"""Hears of calls by a profile function, up to Python 3.11, beside the trace function, which is the debugger's.

A profile function is not told of exceptions and lines. For those, all threads are traced, and each frame of a recorded
function has a trace function of its own, or the debugger's, which hands them on (see full_speed/thread_tracing.py).
"""

from __future__ import annotations

import opcode
import sys
import threading
from typing import Any, Callable, Dict, Tuple

from ..frames import RESUMABLE, running_frames
from ..full_speed.rewriting_way import tracing
from ..full_speed.thread_tracing import BothTracers, FrameRecorder, is_at_start, is_ours, is_suspended
from .open_calls import CallFollowing, OpenCalls, take_running
from .recorded_functions import RecordedFunction

RETURN = opcode.opmap["RETURN_VALUE"]
NO_ERROR = (None, None, 0)
UNKNOWN_ERROR = Exception("not known: the program has taken the trace function away")


class ProfileCalls:
    def __init__(self, calls: OpenCalls, following: CallFollowing) -> None:
        self._calls = calls
        self._following = following
        self._is_on = False
        self._errors: Dict[int, Tuple[Any, RecordedFunction, int]] = {}
        """by the id of the frame, the last exception in a call that has not ended, its function, and its line there"""
        self._on_event, self._recorder, self._unwatch = self._make_callbacks()

    def start(self) -> None:
        self._is_on = True
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        take_running(self._calls)
        tracing.begin_recording(self._recorder, self._begin_in_thread)

    def stop(self) -> None:
        """End it: in other threads with their next event."""
        self._is_on = False
        tracing.recorder = None
        for frame in running_frames():
            self._unwatch(frame)
        if getattr(threading, "_profile_hook", None) is self._on_event:
            threading.setprofile(None)
        if sys.getprofile() is self._on_event:
            sys.setprofile(None)

    def rest(self, function: RecordedFunction) -> None:
        """Record no more calls of a function. Its events come as before, and nothing is done with them."""
        self._calls.functions.known[id(function.code)] = None
        for place, (_, failed, _) in list(self._errors.items()):
            if failed is function:
                self._errors.pop(place, None)

    def wake(self, function: RecordedFunction) -> None:
        self._calls.functions.known[id(function.code)] = function

    def _begin_in_thread(self, frame: Any, event: str, arg: Any) -> Any:
        """Set the profile function in a thread at its next call, and give the trace function back."""
        if self._is_on and sys.getprofile() is None:
            sys.setprofile(self._on_event)
        tracing.trace_this()
        return tracing.on_call(frame, event, arg)

    def _make_callbacks(self) -> Tuple[Any, FrameRecorder, Callable[[Any], None]]:
        begin, end, fail, suspend, resume, catch, _, reach_line = self._following
        functions, suspended, find = self._calls.functions.known, self._calls.suspended, self._calls.functions.find
        open_calls, begun_before = self._calls.open, self._calls.begun_before
        own, errors, gettrace = self, self._errors, sys.gettrace

        def on_event(frame: Any, event: str, arg: Any) -> None:
            if event == "call":
                try:
                    function = functions[id(frame.f_code)]
                except KeyError:
                    function = find(frame)
                if function is None:
                    return
                if not own._is_on:
                    sys.setprofile(None)
                    return
                if not function.flags & RESUMABLE or is_at_start(frame):
                    begin(function, frame)
                else:
                    resume(frame)
                if gettrace() is not None:
                    watch(frame)
            elif event == "return":
                function = functions.get(id(frame.f_code))
                if function is not None:
                    leave(function, frame, arg)

        def watch(frame: Any) -> None:
            """Hear of exceptions and lines in this frame."""
            function = functions.get(id(frame.f_code))
            if function is None or id(frame) in suspended:
                return
            current = frame.f_trace
            if current is None:
                frame.f_trace_lines = function.changes is not None
                frame.f_trace = on_frame_event
            elif current is not on_frame_event and type(current) is not BothTracers and not is_ours(current):
                frame.f_trace = BothTracers(hear, current)

        def unwatch(frame: Any) -> None:
            """Leave a frame as if it had not been recorded."""
            if frame.f_trace is on_frame_event:
                frame.f_trace = None
                frame.f_trace_lines = True
            elif type(frame.f_trace) is BothTracers:
                frame.f_trace = frame.f_trace.inner

        def on_frame_event(frame: Any, event: str, arg: Any) -> Any:
            if not hear(frame, event, arg):
                frame.f_trace_lines = False
            return on_frame_event

        def hear(frame: Any, event: str, arg: Any) -> bool:
            function = functions.get(id(frame.f_code))
            if function is None or not own._is_on:
                return False
            if event == "exception":
                if errors.get(id(frame), NO_ERROR)[0] is not arg[1]:
                    note_caught(frame)
                errors[id(frame)] = (arg[1], function, frame.f_lineno)
            elif event == "line":
                return reach_line(function, frame, frame.f_lineno)
            return True

        def note_caught(frame: Any) -> None:
            """Tell of the exception before: the function went on, so that it was handled there."""
            error, _, line = errors.pop(id(frame), NO_ERROR)
            if isinstance(error, BaseException):
                catch(frame, error, line)

        def leave(function: RecordedFunction, frame: Any, value: Any) -> None:
            goes_on = function.flags & RESUMABLE and is_suspended(frame)
            has_returned = frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == RETURN
            if (value is not None and not goes_on) or has_returned:
                note_caught(frame)
                end(frame, value)
            elif goes_on:
                suspend(frame, value)
                unwatch(frame)  # untraced, it would say up to 3.9 that it is where it was
            else:
                error, _, line = errors.pop(id(frame), NO_ERROR)
                if isinstance(error, BaseException):
                    fail(function, frame, error, line)
                elif frame in open_calls or id(frame) in begun_before:
                    fail(function, frame, UNKNOWN_ERROR, frame.f_lineno)

        return on_event, FrameRecorder(watch, hear), unwatch
