"""Leaves a program that goes on without its debugger as it was before: not traced, at its own speed.

pydevd only stops listening: its trace functions stay in place in every thread, and slow the program down for good.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Set

from .. import full_speed, recording
from ..breakpoints import hit_decisions
from ..python_versions import STAND_IN_THREAD
from ..rpc.event_sending import send_event
from ..stepping import multi_step
from . import joining, spawning


def install() -> None:
    import pydevd

    dispose = pydevd.PyDB.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(self: Any, *args: Any, **kwargs: Any) -> None:
        was_disposed, thread = self.pydb_disposed, threading.current_thread()
        is_own = getattr(thread, "is_pydev_daemon_thread", False)
        if is_own and thread.daemon and not self.has_user_threads_alive():
            # The program ends, and the interpreter waits for pydevd's last thread, which comes here, too, but not for
            # this one: a thread that this one starts now would find the interpreter taken apart, and crash.
            return
        if not was_disposed:  # what has been counted, after the last line of the program
            if hit_decisions.rules:
                send_event("hits", {"hits": hit_decisions.hit_counts()})
            if joining.child_facts:
                send_event("exiting", {"code": joining.exit_code})
            send_event("journeys", {"journeys": multi_step.report_all()})
        dispose(self, *args, **kwargs)
        # A thread of pydevd's own noticed that the connection is gone, or that only what `atexit` runs is left.
        if not was_disposed and is_own:
            stop_tracing()

    pydevd.PyDB.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads
    _end_stand_ins_quietly(STAND_IN_THREAD)


def _end_stand_ins_quietly(stand_in: Any) -> None:
    """Replace a method that fails when the program ends before a thread of ours.

    From Python 3.12 on, what stands in for such a thread looks for a lock that is gone by then."""
    if stand_in is None:
        return

    def __del__(self: Any, lock: Any = threading._active_limbo_lock, active: Any = threading._active) -> None:  # type: ignore[attr-defined]
        with lock:
            if active.get(self._tident) is self._dummy_thread:
                active.pop(self._tident, None)

    __del__.__code__ = __del__.__code__.replace(co_filename=threading.__file__)
    stand_in.__del__ = __del__


def stop_tracing() -> None:
    import pydevd
    import pydevd_tracing
    from _pydev_bundle import pydev_monkey

    recording.leave()
    spawning.STATE.config = None  # what it starts from now on is started as it is
    pydev_monkey.undo_patch_thread_modules()
    pydevd_tracing.restore_sys_set_trace_func()
    hook = sys.__dict__.pop("_ocdb_breakpointhook", None)
    if hook is not None:
        sys.breakpointhook = hook
    if pydevd.PYDEVD_USE_SYS_MONITORING:
        pydevd.pydevd_sys_monitoring.stop_monitoring(all_threads=True)
    else:
        threading.settrace(None)
        _traced.update(sys._current_frames())
        _end_with_next_call(set(_traced))
    full_speed.end_session()


_traced: Set[int] = set()
"""Threads whose tracing ends with their next call, which they have not made yet."""


def _end_with_next_call(threads: Set[int]) -> None:
    """End the tracing of threads at their next call: that can be done from inside only."""
    import pydevd_tracing

    pydevd_tracing.set_trace_to_threads(_last_call, threads, create_dummy_thread=False)


def _last_call(frame: Any, event: str, arg: Any) -> None:
    sys.settrace(None)
    _traced.discard(threading.get_ident())
    if frame.f_back is None:
        # A thread that is being started has the number of the one that starts it, up to its first call: this was
        # meant for that one.
        _end_with_next_call(set(_traced))
