"""Mends how pydevd reports stops and lets threads go when several of them stop at about the same time.

As it comes, a second thread that reaches its breakpoint while the first stop is being reported is either let go
without a word at the next continue, or keeps every thread halted with no stop reported at all. Here each stop of its
own is reported exactly once, when it happens, with a number. Whoever lets threads go says the number of the last stop
that he has seen: a thread that stopped after that stays where it is, for its report is on its way.

The same code serves programs that stop together and programs whose threads stop one by one
(`stopAllThreadsOnSuspend: false`); in both, a single thread can be let go while the others stay halted.
"""

from __future__ import annotations

import contextlib
import threading
from types import SimpleNamespace
from typing import Any, Callable, Dict, Iterable, Iterator, Set

from . import blocked, elsewhere, raw
from .threads import from_dap

FIELD = "ocdb"
"""What we add to pydevd's own messages, both ways."""


current: Any = None
"""The stops of this process."""


def install(on_resume: Callable[..., None]) -> None:
    """Once per process: patches pydevd's classes and modules, before or after the debugger object exists."""
    import pydevd
    from _pydevd_bundle import (
        pydevd_api,
        pydevd_net_command_factory_json,
        pydevd_process_net_command_json,
        pydevd_thread_lifecycle,
    )
    from _pydevd_bundle.pydevd_net_command import NULL_NET_COMMAND

    # It would ask the exception for its text, which may wait for a halted thread; the relay asks when all is reported.
    pydevd_net_command_factory_json.build_exception_info_response = _no_exception_text
    factory = pydevd_net_command_factory_json.NetCommandFactoryJson
    factory.make_thread_suspend_message = lambda *args, **kwargs: NULL_NET_COMMAND  # on_thread_suspend reports
    api = pydevd_api.PyDevdAPI
    notifier = pydevd.ThreadsSuspendedSingleNotification
    global current
    current = stops = Stops(pydevd_thread_lifecycle, on_resume)
    notifier.notify_thread_suspended = stops.notifying()
    notifier.on_thread_suspend = _as_method(stops.on_thread_suspend)
    notifier.on_thread_resume = _as_method(stops.on_thread_resume)
    notifier._notify_after_timeout = _as_method(stops.on_pause_timeout)
    mark = stops.marking(pydevd_thread_lifecycle.mark_thread_suspended)
    pydevd.mark_thread_suspended = pydevd_thread_lifecycle.mark_thread_suspended = mark
    api.request_step = stops.stepping(pydevd_api.internal_step_in_thread)
    api.request_smart_step_into = stops.stepping_into(pydevd_api.internal_smart_step_into)
    api.request_resume_thread = stops.resuming(api.request_resume_thread, pydevd.get_global_debugger)
    api.request_disconnect = stops.disconnecting(api.request_disconnect)
    api.request_suspend_thread = stops.pausing(api.request_suspend_thread)
    processor = pydevd_process_net_command_json.PyDevJsonCommandProcessor
    for name in ("on_continue_request", "on_next_request", "on_stepin_request", "on_stepout_request"):
        setattr(processor, name, stops.asking(getattr(processor, name)))


def _no_exception_text(*args: Any, **kwargs: Any) -> Any:
    return SimpleNamespace(body=SimpleNamespace(exceptionId=None, description=None))


def _as_method(function: Callable[..., None]) -> Callable[..., None]:
    """A bound method put into a class would not be given the object it is called on."""

    def method(notifier: Any, *args: Any, **kwargs: Any) -> None:
        function(notifier, *args, **kwargs)

    return method


class Stops:
    """Which threads stand at a stop of their own, by the number under which it was reported.

    The numbers are used under the notifier's lock. pydevd's own lock keeps a resume and a thread that decides to stop
    (which may halt all others) from happening at once.
    """

    def __init__(self, lifecycle: Any, on_resume: Callable[..., None]) -> None:
        self.on_resume = on_resume
        self.lock = lifecycle.suspend_threads_lock
        self.side_effect = lifecycle.CMD_THREAD_SUSPEND
        self.suspended = lifecycle.STATE_SUSPEND
        self.threads = lifecycle.pydevd_utils.get_non_pydevd_threads
        self.thread_id = lifecycle.get_thread_id
        self.thread_info = lifecycle.set_additional_thread_info
        self.letting_go = False
        self.program_runs = threading.Event()
        """before its first line there is nothing to pause in"""
        self.program_runs.set()
        self.sent = 0
        self.standing: Dict[Any, int] = {}
        self.blocked: Set[Any] = set()
        """of those, threads that have not halted: they are inside a call, and halt when it returns"""
        self.serial = 0
        """of the last request to let threads go"""
        self.asked: Dict[str, Any] = {}
        """what the request in hand says beyond pydevd's own fields"""

    def begin(self) -> None:
        """Once per session: whoever attaches again counts from the beginning."""
        self.sent = self.serial = 0
        self.letting_go = False
        self.standing.clear()
        self.blocked.clear()

    # Stopping.

    def pausing(self, original: Callable[..., None]) -> Callable[..., None]:
        def request_suspend_thread(api: Any, py_db: Any, thread_id: Any = "*") -> None:
            def pause() -> None:
                self.program_runs.wait()
                original(api, py_db, thread_id)

            if self.program_runs.is_set():
                pause()
            else:
                elsewhere.run(pause)

        return request_suspend_thread

    def notifying(self) -> Callable[..., Any]:
        @contextlib.contextmanager
        def notify_thread_suspended(notifier: Any, thread_id: Any, thread: Any, stop_reason: Any) -> Iterator[None]:
            """Whether threads stop together or one by one."""
            notifier.on_thread_suspend(thread_id, thread, stop_reason)
            try:
                yield
            finally:
                notifier.on_thread_resume(thread_id, thread)

        return notify_thread_suspended

    def on_thread_suspend(self, notifier: Any, thread_id: Any, thread: Any, reason: Any) -> None:
        together = notifier.multi_threads_single_notification
        # Made here, on the thread that stops and outside the lock: it may run the str() of an exception.
        report = _report(notifier, thread_id, thread, reason) if reason != self.side_effect or not together else None
        with notifier._lock:
            paused, notifier._pause_requested = notifier._pause_requested, False
            notifier._suspended_thread_id_to_thread[thread_id] = thread
            if thread_id in self.blocked:
                self.blocked.discard(thread_id)
                paused = True  # its call has returned: it is somewhere else now
            if report is None and paused:
                report = _report(notifier, thread_id, thread, reason)
            self.send(notifier, thread_id, report)

    def on_thread_resume(self, notifier: Any, thread_id: Any, thread: Any) -> None:
        with notifier._lock:
            notifier._suspended_thread_id_to_thread.pop(thread_id, None)
            self.standing.pop(thread_id, None)
            if notifier._callbacks:
                notifier.send_resume_notification(thread_id)

    def on_pause_timeout(self, notifier: Any, global_suspend_time: Any) -> None:
        """The thread that was asked to pause is busy in C: any halted one may speak for the program."""
        if not notifier.multi_threads_single_notification:
            return
        with notifier._lock:
            if notifier._pause_requested and notifier._suspended_thread_id_to_thread:
                notifier._pause_requested = False
                thread_id, thread = next(iter(notifier._suspended_thread_id_to_thread.items()))
                self.send(notifier, thread_id, _report(notifier, thread_id, thread, self.side_effect))

    def speak_for_blocked(self, notifier: Any, wanted: Any) -> None:
        """Answers a pause that nobody else answers, because no thread comes to a line: one that is blocked in a call
        stays where it is until that returns, and then halts. `wanted` is the thread that was asked, or None for all."""
        together = notifier.multi_threads_single_notification
        with self.lock:
            marked = [thread for thread in self.threads() if self.is_marked(thread)]
            resting = blocked.at_rest(marked)
            if together and len(marked) < len(self.threads()):
                return
            asked = [thread for thread in resting if wanted in (None, self.thread_id(thread))]
            if not asked:
                return
            thread = next((each for each in asked if each is threading.main_thread()), asked[0])
            thread_id = self.thread_id(thread)
            report = _report(notifier, thread_id, thread, self.side_effect)
            with notifier._lock:
                halted = notifier._suspended_thread_id_to_thread
                if not notifier._pause_requested or (halted if together else thread_id in halted):
                    return
                notifier._pause_requested = False
                self.blocked.add(thread_id)
                self.send(notifier, thread_id, report)

    def send(self, notifier: Any, thread_id: Any, report: Any) -> None:
        from _pydevd_bundle.pydevd_net_command import NetCommand

        py_db = notifier._py_db()
        if py_db is None or report is None:
            return
        self.sent += 1
        self.standing[thread_id] = self.sent
        body = report.as_dict["body"]
        body["allThreadsStopped"] = notifier.multi_threads_single_notification
        body[FIELD] = {"number": self.sent, "after": self.serial, "is_blocked": thread_id in self.blocked}
        py_db.writer.add_command(NetCommand(report.id, report.seq, report.as_dict, is_json=True))

    def is_marked(self, thread: Any) -> bool:
        """It is halted, or halts as soon as it gets to a line."""
        info = raw.read(thread, "additional_info")
        return info is not None and bool(info.pydev_state == self.suspended)

    def decided_to_stop(self, thread: Any) -> bool:
        return self.is_marked(thread) and getattr(thread, "stop_reason", self.side_effect) != self.side_effect

    def marking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def mark_thread_suspended(
            thread: Any, stop_reason: Any, original_step_cmd: int = -1, main_suspend: bool = True
        ) -> Any:
            if stop_reason == self.side_effect and self.decided_to_stop(thread):
                return thread.additional_info  # it stops for a reason of its own: keep that
            return original(thread, stop_reason, original_step_cmd, main_suspend)

        return mark_thread_suspended

    # Going on.

    def asking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def on_request(processor: Any, py_db: Any, request: Any) -> Any:
            self.asked = getattr(request.arguments, "kwargs", {}).get(FIELD) or {}
            try:
                return original(processor, py_db, request)
            finally:
                self.asked = {}

        return on_request

    def may_go(self, notifier: Any, thread_id: Any) -> bool:
        """Unless a stop that the relay has not seen yet says otherwise: then that is what comes of the request."""
        asked = self.asked
        known = asked.get("known")
        alone = asked.get("alone", False)
        self.on_resume(thread_id if alone else None, self.kept())
        with notifier._lock:
            self.serial = max(self.serial, asked.get("serial", 0))
            if alone:
                may_go = self._is_known(notifier, _find(self.threads(), self.thread_id, thread_id), known)
                return may_go and self._unblock({thread_id})
            notifier._pause_requested = False  # one that came too late is answered by the stop before it
            if self.letting_go or not notifier.multi_threads_single_notification:
                return self._unblock(self.blocked.difference(self.kept()))
            may_go = all(self._is_known(notifier, thread, known) for thread in self.threads())
            return may_go and self._unblock(self.blocked)

    def _unblock(self, going: Iterable[Any]) -> bool:
        """They have not halted, so that they go on is not told by pydevd. Always true."""
        for thread_id in list(going):
            if thread_id in self.blocked:
                self.blocked.discard(thread_id)
                self.standing.pop(thread_id, None)
        return True

    def _is_known(self, notifier: Any, thread: Any, known: Any) -> bool:
        """Whether the relay knows that, and why, this thread has stopped; or it has not."""
        number = self.standing.get(self.thread_id(thread)) if thread is not None else None
        if number is not None:
            return known is None or number <= known
        halted = notifier._suspended_thread_id_to_thread.values()
        return not (self.decided_to_stop(thread) and thread not in halted)

    def kept(self) -> Any:
        """Threads that stay at stops which wait to be looked at."""
        return [from_dap(thread) for thread in self.asked.get("keep", ())]

    def stepping(self, step_in_thread: Callable[..., None]) -> Callable[..., None]:
        def request_step(api: Any, py_db: Any, thread_id: Any, step_cmd_id: Any) -> None:
            self._step(py_db, thread_id, step_in_thread, step_cmd_id)

        return request_step

    def stepping_into(self, step_in_thread: Callable[..., None]) -> Callable[..., None]:
        def request_smart_step_into(
            api: Any, py_db: Any, seq: Any, thread_id: Any, offset: Any, child_offset: Any
        ) -> None:
            self._step(py_db, thread_id, step_in_thread, offset, child_offset)

        return request_smart_step_into

    def _step(self, py_db: Any, thread_id: Any, step_in_thread: Callable[..., None], *how: Any) -> None:
        """At once, not when the thread gets to it: one that is busy in a call never would."""
        with self.lock:
            if not self.may_go(py_db.threads_suspended_single_notification, thread_id):
                return
            with_all = py_db.stepping_resumes_all_threads
            py_db.stepping_resumes_all_threads = with_all and not self.asked.get("alone")
            try:
                step_in_thread(py_db, thread_id, *how, set_additional_thread_info=self.thread_info)
            finally:
                py_db.stepping_resumes_all_threads = with_all
            _wake(py_db)

    def resuming(self, original: Callable[..., Any], debugger: Callable[[], Any]) -> Callable[..., Any]:
        def request_resume_thread(api: Any, thread_id: Any) -> None:
            py_db = debugger()
            if py_db is None:
                original(api, thread_id)
                return
            if self.asked.get("alone"):
                thread_id = from_dap(self.asked["thread"])  # an adapter in between makes it "*"
            with self.lock:
                notifier = py_db.threads_suspended_single_notification
                if not self.may_go(notifier, thread_id):
                    notifier.send_resume_notification(thread_id)  # answers the continue request
                elif self.asked.get("alone") or self.letting_go or notifier.multi_threads_single_notification:
                    original(api, thread_id)
                else:
                    self._resume_seen(notifier, lambda seen: original(api, seen))
                _wake(py_db)

        return request_resume_thread

    def _resume_seen(self, notifier: Any, resume: Callable[[Any], None]) -> None:
        """Where each thread stops for itself: all of them but those whose stops are still to be looked at."""
        kept, known = self.kept(), self.asked.get("known")
        with notifier._lock:
            going = [thread for thread in self.threads() if self._is_known(notifier, thread, known)]
        for thread_id in map(self.thread_id, going):
            if thread_id not in kept:
                resume(thread_id)

    def disconnecting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def request_disconnect(api: Any, *args: Any, **kwargs: Any) -> Any:
            """Whoever leaves lets the program go, whatever else has stopped."""
            self.letting_go = True
            try:
                return original(api, *args, **kwargs)
            finally:
                self.letting_go = False

        return request_disconnect


def _find(threads: Any, thread_id_of: Callable[[Any], Any], thread_id: Any) -> Any:
    return next((thread for thread in threads if thread_id_of(thread) == thread_id), None)


def _report(notifier: Any, thread_id: Any, thread: Any, reason: Any) -> Any:
    py_db = notifier._py_db()
    return py_db and py_db.cmd_factory.make_thread_suspend_single_notification(py_db, thread_id, thread, reason)


def _wake(py_db: Any) -> None:
    """Halted threads look only every 0.2 s whether they may run."""
    for thread_id in list(py_db.threads_suspended_single_notification._suspended_thread_id_to_thread):
        py_db.get_internal_queue_and_event(thread_id)[1].set()
