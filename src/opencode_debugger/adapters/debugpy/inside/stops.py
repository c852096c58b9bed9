"""Mends how pydevd reports stops when several threads stop at about the same time.

As it comes, a second thread that reaches its breakpoint while the first stop is being reported is either let go
without a word at the next continue, or keeps every thread halted with no stop reported at all. Here each stop of its
own is reported exactly once: one at a time, the next one in answer to the continue or step after it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable, List

_installed = False
_stops: List[Any] = []


def install(on_resume: Callable[[], None]) -> None:
    """Patches pydevd's classes and modules: works before and after the debugger object exists."""
    global _installed
    if not _installed:
        _installed = True
        _install(on_resume)


def renew() -> None:
    """In a forked child: what had stopped was the parent."""
    for stops in _stops:
        stops.outstanding, stops.letting_go, stops.waiting = False, False, []


def _install(on_resume: Callable[[], None]) -> None:
    import pydevd
    from _pydevd_bundle import pydevd_api, pydevd_net_command_factory_json, pydevd_thread_lifecycle

    # It would ask the exception for its text, which may wait for a halted thread; the relay asks when all is reported.
    pydevd_net_command_factory_json.build_exception_info_response = _no_exception_text
    api = pydevd_api.PyDevdAPI
    notifier = pydevd.ThreadsSuspendedSingleNotification
    stops = Stops(
        pydevd_thread_lifecycle, pydevd_net_command_factory_json.NetCommandFactoryJson._STEP_REASONS, on_resume
    )
    _stops.append(stops)
    notifier.on_thread_suspend = _as_method(stops.on_thread_suspend)
    notifier.on_thread_resume = _as_method(stops.on_thread_resume)
    notifier._notify_after_timeout = _as_method(stops.on_pause_timeout)
    pydevd_thread_lifecycle.mark_thread_suspended = stops.marking(pydevd_thread_lifecycle.mark_thread_suspended)
    api.request_step = stops.stepping(api.request_step, pydevd_api.internal_step_in_thread)
    api.request_resume_thread = stops.resuming(api.request_resume_thread, pydevd.get_global_debugger)
    api.request_disconnect = stops.disconnecting(api.request_disconnect)


def _no_exception_text(*args: Any, **kwargs: Any) -> Any:
    return SimpleNamespace(body=SimpleNamespace(exceptionId=None, description=None))


def _as_method(function: Callable[..., None]) -> Callable[..., None]:
    """A bound method put into a class would not be given the object it is called on."""

    def method(notifier: Any, *args: Any, **kwargs: Any) -> None:
        function(notifier, *args, **kwargs)

    return method


class Stops:
    """At most one reported stop is unanswered; the others wait their turn.

    The queue is used under the notifier's lock. pydevd's own lock keeps a resume and a thread that decides to stop
    (which halts all others) from happening at once.
    """

    def __init__(self, lifecycle: Any, step_reasons: Any, on_resume: Callable[[], None]) -> None:
        self.on_resume = on_resume
        self.lock = lifecycle.suspend_threads_lock
        self.side_effect = lifecycle.CMD_THREAD_SUSPEND
        self.suspended = lifecycle.STATE_SUSPEND
        self.threads = lifecycle.pydevd_utils.get_non_pydevd_threads
        self.thread_info = lifecycle.set_additional_thread_info
        self.step_reasons = frozenset(step_reasons)
        self.outstanding = False
        self.letting_go = False
        self.waiting: List[Any] = []

    def on_thread_suspend(self, notifier: Any, thread_id: Any, thread: Any, reason: Any) -> None:
        # Made here, on the thread that stops and outside the lock: it may run the str() of an exception.
        report = None if reason == self.side_effect else _report(notifier, thread_id, thread, reason)
        with notifier._lock:
            paused, notifier._pause_requested = notifier._pause_requested, False
            notifier._suspended_thread_id_to_thread[thread_id] = thread
            if report is not None:
                self.add(notifier, report, can_wait=reason not in self.step_reasons)
            elif paused:
                self.add(notifier, _report(notifier, thread_id, thread, reason), can_wait=False)

    def on_thread_resume(self, notifier: Any, thread_id: Any, thread: Any) -> None:
        with notifier._lock:
            notifier._suspended_thread_id_to_thread.pop(thread_id, None)
            if notifier._callbacks:
                notifier.send_resume_notification(thread_id)

    def on_pause_timeout(self, notifier: Any, global_suspend_time: Any) -> None:
        """The thread that was asked to pause is busy in C: any halted one may speak for the program."""
        with notifier._lock:
            if notifier._pause_requested and notifier._suspended_thread_id_to_thread:
                notifier._pause_requested = False
                thread_id, thread = next(iter(notifier._suspended_thread_id_to_thread.items()))
                self.add(notifier, _report(notifier, thread_id, thread, self.side_effect), can_wait=False)

    def add(self, notifier: Any, report: Any, can_wait: bool) -> None:
        if not self.outstanding:
            self.outstanding = True
            _send(notifier, report)
        elif can_wait:
            self.waiting.append(report)

    def another_stop(self, notifier: Any) -> bool:
        """The reported stop was answered: is the next one here already, or about to be?"""
        self.on_resume()
        with notifier._lock:
            self.outstanding = False
            notifier._pause_requested = False  # one that came too late is answered by the stop before it
            if self.letting_go:
                self.waiting.clear()
                return False
            if self.waiting:
                self.outstanding = True
                _send(notifier, self.waiting.pop(0))
                return True
            halted = notifier._suspended_thread_id_to_thread.values()
            return any(self._decided_to_stop(thread) and thread not in halted for thread in self.threads())

    def _decided_to_stop(self, thread: Any) -> bool:
        info = getattr(thread, "additional_info", None)
        if info is None or info.pydev_state != self.suspended:
            return False
        return bool(getattr(thread, "stop_reason", self.side_effect) != self.side_effect)

    def marking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def mark_thread_suspended(
            thread: Any, stop_reason: Any, original_step_cmd: int = -1, main_suspend: bool = True
        ) -> Any:
            if not main_suspend and self._decided_to_stop(thread):
                return thread.additional_info  # it stops for a reason of its own: keep that
            return original(thread, stop_reason, original_step_cmd, main_suspend)

        return mark_thread_suspended

    def stepping(self, original: Callable[..., None], step_in_thread: Callable[..., None]) -> Callable[..., None]:
        def request_step(api: Any, py_db: Any, thread_id: Any, step_cmd_id: Any) -> None:
            """At once, not when the thread gets to it: one that is busy in a call never would."""
            if not py_db.multi_threads_single_notification:
                original(api, py_db, thread_id, step_cmd_id)
                return
            with self.lock:
                if not self.another_stop(py_db.threads_suspended_single_notification):
                    step_in_thread(py_db, thread_id, step_cmd_id, set_additional_thread_info=self.thread_info)
                    _wake(py_db)

        return request_step

    def resuming(self, original: Callable[..., Any], debugger: Callable[[], Any]) -> Callable[..., Any]:
        def request_resume_thread(api: Any, thread_id: Any) -> None:
            py_db = debugger()
            if py_db is None or not py_db.multi_threads_single_notification:
                original(api, thread_id)
                return
            with self.lock:
                notifier = py_db.threads_suspended_single_notification
                if self.another_stop(notifier):
                    notifier.send_resume_notification(thread_id)  # answers the continue request
                else:
                    original(api, thread_id)
                    _wake(py_db)

        return request_resume_thread

    def disconnecting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def request_disconnect(api: Any, *args: Any, **kwargs: Any) -> Any:
            """Whoever leaves lets the program go, whatever else has stopped."""
            self.letting_go = True
            try:
                return original(api, *args, **kwargs)
            finally:
                self.letting_go = False

        return request_disconnect


def _report(notifier: Any, thread_id: Any, thread: Any, reason: Any) -> Any:
    py_db = notifier._py_db()
    return py_db and py_db.cmd_factory.make_thread_suspend_single_notification(py_db, thread_id, thread, reason)


def _send(notifier: Any, report: Any) -> None:
    py_db = notifier._py_db()
    if py_db is not None and report is not None:
        py_db.writer.add_command(report)


def _wake(py_db: Any) -> None:
    """Halted threads look only every 0.2 s whether they may run."""
    for thread_id in list(py_db.threads_suspended_single_notification._suspended_thread_id_to_thread):
        py_db.get_internal_queue_and_event(thread_id)[1].set()
