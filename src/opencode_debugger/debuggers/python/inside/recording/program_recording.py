"""Records what the program does, from its start to its end, and writes it as it goes.

Calls are collected in memory and written when there are enough, and four times a second. Where functions are called so
often that recording them takes most of the program's time, they rest for a while; that is told with the recording.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from ..python_versions import monitoring
from ..rpc.call_scope import run_on_own_thread
from .kept_values import SecretNames, ValueKeeper
from .open_calls import CallFollowing, OpenCalls
from .recorded_functions import RecordedFunction, RecordedFunctions
from .recorded_scope import RecordedScope
from .recording_file import FORMAT_VERSION, RecordingFile

way: Any
if monitoring is not None:
    from .monitoring_calls import MonitoringCalls as way
else:
    from .profile_calls import ProfileCalls as way

BATCH = 2_048
"""calls that are written at once"""
TICK = 0.25
"""seconds between looks at what is to be written, and at who has rested long enough"""
PATIENCE = 2.0
"""seconds to wait for somebody who is writing"""
GRACE = 0.1
"""seconds that recording may take before anything rests"""
SHARE = 0.25
"""of the time that recording may take after that"""
LEAST_SHARE = 0.01
"""of the calls: functions that are called less often than that do not rest"""
SHORTEST_REST, LONGEST_REST = 0.1, 2.0
"""seconds of processor time: on a busy machine the program needs longer for them"""
LATEST_WAKE = 10.0
"""seconds after which a function is recorded again, though the program may have waited"""
ROUNDS, PROBES = 8, 20
OWN_SHARE = 1.4
"""what a recorded call costs, times what our own functions take: the interpreter makes a frame, and calls them"""


class RecordingOptions:
    """How to record, as the relay asks for it."""

    def __init__(self, asked: Dict[str, Any]) -> None:
        self.asked = asked
        self.folder: str = asked["folder"]
        self.limit = int(asked["limit_mb"]) << 20
        self.is_complete = bool(asked["complete"])
        self.secrets = SecretNames(asked["secret_names"], asked["word_breaks"]).__getitem__
        self.scope = RecordedScope(asked["scope"], asked["lines"], only_lines=not asked["calls"])

    def shown(self) -> Dict[str, Any]:
        return {name: self.asked[name] for name in ("calls", "lines", "scope", "limit_mb", "complete")}


class ProgramRecording:
    """One recording of this process."""

    def __init__(self, options: RecordingOptions) -> None:
        self._options = options
        keeper = ValueKeeper(options.secrets)
        self._functions = RecordedFunctions(options.scope, options.secrets)
        self._calls = OpenCalls(self._functions, keeper, BATCH)
        self._following = self._calls.follow(self._write_full)
        self._way: Any = way(self._calls, self._following)
        self._writing = _thread.allocate_lock()
        self._over = _thread.allocate_lock()
        self._segment = 0
        self._functions_written = self._lanes_written = 0
        self._call_count = self._step_count = 0
        self._lost_calls = self._lost_steps = 0
        """that could not be written"""
        self._cost_of_byte = 0.0
        """seconds that it takes to record what is written as one byte"""
        self._spent = 0.0
        self._cpu_before = 0.0
        self.is_on = False
        self.problem: Optional[str] = None
        """why it has ended, if that was not asked for"""
        self._file = self._open_file()

    def _open_file(self) -> RecordingFile:
        place = 1
        while True:
            folder = os.path.join(self._options.folder, "%d-%d" % (os.getpid(), place))
            try:
                file = RecordingFile(folder, self._options.limit)
                break
            except FileExistsError:
                place += 1
        about = {"version": FORMAT_VERSION, "pid": os.getpid(), "ppid": os.getppid(), "cwd": os.getcwd()}
        about.update(python="%d.%d.%d" % sys.version_info[:3], argv=[str(each) for each in sys.argv])
        about.update(began=time.perf_counter(), wall=time.time(), options=self._options.shown())
        file.write_names("H", about)
        return file

    @property
    def folder(self) -> str:
        return self._file.folder

    # From its start to its end.

    def start(self) -> None:
        self._measure_cost()
        self._over.acquire()
        self._cpu_before = time.process_time()
        self.is_on = True
        try:
            self._way.start()
        except BaseException:
            self.is_on = False
            raise
        run_on_own_thread(self._tick, "recording")

    def stop(self, reason: str) -> None:
        """End the recording, and write what there is."""
        if not self.is_on:
            return
        self.is_on = False
        self._way.stop()
        if self._over.locked():
            self._over.release()
        self.write()
        self._calls.open.clear()  # and with them the frames
        totals = dict(self._totals(), reason=reason, at=time.perf_counter())
        totals["rested"] = [(each.number, each.rests) for each in self._functions.recorded if each.rests]
        try:
            self._file.write_names("Z", totals)
        except OSError as error:
            self.problem = "error: %s" % (error.strerror or error)

    def leave_fork(self) -> None:
        """Stop in a forked child, without a word: what is to be written is the parent's."""
        self.is_on = False
        self._way.stop()
        self._calls.open.clear()

    def describe(self) -> Dict[str, Any]:
        about: Dict[str, Any] = dict(self._totals(), recording=self.is_on, folder=self.folder, bytes=self._file.size)
        about.update(problem=self.problem, functions=len(self._functions.recorded), options=self._options.shown())
        about["rested"] = [each.name for each in self._functions.recorded if each.rests][:20]
        return about

    # Writing.

    def write(self) -> bool:
        """Write what there is; return False if somebody else is at it for too long."""
        if not self._writing.acquire(True, PATIENCE):
            return False
        try:
            self._write_now()
        finally:
            self._writing.release()
        return True

    def _write_now(self) -> None:
        """Write what there is. Nothing of Python's library is called, where a stop could halt whoever is at it."""
        calls, steps = self._calls.take_pieces(), self._calls.steps
        count, passed = sum(each.length for each in calls), steps[:]
        del steps[: len(passed)]
        is_open = self._calls.new_rows(self._segment)
        if not (count or passed or is_open) or self.problem is not None:
            self._lost_calls += count
            self._lost_steps += len(passed)
            return
        try:
            self._write_names()
            self._call_count += count
            self._step_count += len(passed)
            if self._file.write_calls(calls, passed, is_open, self._totals()):
                self._segment += 1
        except OSError as error:
            self.problem = "error: %s" % (error.strerror or error)
            self._lost_calls += count
            self._lost_steps += len(passed)
            self.is_on = False  # the tick ends it

    def _write_names(self) -> None:
        functions = self._functions.recorded[self._functions_written :]
        lanes = self._calls.lanes.rows[self._lanes_written :]
        if functions:
            self._file.write_names("F", [each.as_row() for each in functions])
            self._functions_written += len(functions)
        if lanes:
            self._file.write_names("T", lanes)
            self._lanes_written += len(lanes)

    def _totals(self) -> Dict[str, int]:
        file = self._file
        return {
            "calls": self._call_count,
            "steps": self._step_count,
            "dropped_calls": file.dropped_calls + self._lost_calls,
            "dropped_steps": file.dropped_steps + self._lost_steps,
            "failures": self._calls.failures,
        }

    def _write_full(self) -> None:
        """Write a batch on the thread that made it full, unless somebody else is at it."""
        if not self._writing.acquire(False):
            return
        try:
            size, began = sum(each.size for each in self._calls.pieces), time.thread_time()
            self._write_now()
            self._decide_rest(size * self._cost_of_byte + time.thread_time() - began)
        finally:
            self._writing.release()

    def _tick(self) -> None:
        sys.setprofile(None)
        while not self._over.acquire(True, TICK):
            if not self.is_on:
                self._way.stop()
                return
            self.write()
            self._wake_rested()

    # Resting.

    def _measure_cost(self) -> None:
        """Measure what it takes to record on this machine: what calls take goes with what is written of them."""
        calls = OpenCalls(self._functions, self._calls.keeper, BATCH)
        following = calls.follow(lambda: None)
        outer = sys._getframe()
        following.begin(RecordedFunction(0, outer.f_code, "", self._options.secrets), outer)
        seconds = _probe_cost(PROBES, following, self._options.secrets)
        (probed, *_) = calls.take_pieces()
        self._cost_of_byte = seconds * OWN_SHARE / (probed.size / probed.length)

    def _decide_rest(self, cost: float) -> None:
        """Let functions rest that are called so often that recording them takes most of the time."""
        now, counts = time.process_time(), self._calls.call_counts
        took, self._cpu_before = now - self._cpu_before, now
        self._spent += cost
        if not (self._options.is_complete or self._spent < GRACE or cost < SHARE * took):
            least = sum(counts.values()) * LEAST_SHARE
            busy = [number for number, count in counts.items() if count > least]
            functions = [self._functions.recorded[number - 1] for number in busy]
            self._let_rest([each for each in functions if each.changes is None and not each.wake_latest])
        counts.clear()

    def _wake_rested(self) -> None:
        computed, now = time.process_time(), time.perf_counter()
        resting = [each for each in self._functions.recorded if each.wake_latest]
        rested = [each for each in resting if each.wake_at <= computed or each.wake_latest <= now]
        self._calls.forget(rested)  # calls that began while it was put to rest
        for function in rested:
            function.wake_latest = 0.0
            self._way.wake(function)

    def _let_rest(self, functions: List[RecordedFunction]) -> None:
        for function in functions:
            function.rests, function.unseen_failures = function.rests + 1, 0
            rest = min(SHORTEST_REST * 2 ** min(function.rests - 1, 8), LONGEST_REST)
            function.wake_at, function.wake_latest = time.process_time() + rest, time.perf_counter() + LATEST_WAKE
            self._way.rest(function)
        self._calls.forget(functions)


def _probe_cost(probes: int, following: CallFollowing, is_secret: Callable[[str], bool]) -> float:
    """Return the seconds of a call of a function with one number, in the quickest round: others may use the machine."""
    frame = sys._getframe()
    probe = RecordedFunction(0, frame.f_code, "", is_secret)
    probe.argument_count, probe.has_closure = 1, True  # it has other variables, which a function that starts has not
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(probes):
            following.begin(probe, frame)
            following.end(frame, None)
        best = min(best, time.perf_counter() - began)
    return best / probes
