"""Repairs how pydevd reports stops and lets threads go when several of them stop at about the same time.

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
from typing import Any, Callable, Dict, Iterable, Iterator, List, Set

from ..rpc import call_scope
from ..threads import blocked_threads
from ..threads.thread_list import from_dap
from ..values import raw
from . import passed_breakpoints, pydevd_parts

FIELD = "ocdb"
"""The field that we add to pydevd's own messages, both ways."""


current: Any = None
"""The stops of this process."""


def install(on_resume: Callable[..., None]) -> None:
    """Patch pydevd's classes and modules, once per process, before or after the debugger object exists."""
    import pydevd
    from _pydevd_bundle import pydevd_api, pydevd_net_command_factory_json, pydevd_thread_lifecycle
    from _pydevd_bundle.pydevd_net_command import NULL_NET_COMMAND
    from _pydevd_bundle.pydevd_process_net_command_json import PyDevJsonCommandProcessor as processor

    # It would ask the exception for its text, which may wait for a halted thread; the relay asks when all is reported.
    nothing = SimpleNamespace(body=SimpleNamespace(exceptionId=None, description=None))

    def say_nothing(*args: Any, **kwargs: Any) -> Any:
        return nothing

    def send_nothing(*args: Any, **kwargs: Any) -> Any:
        """Leave it to on_thread_suspend, which reports."""
        return NULL_NET_COMMAND

    pydevd_net_command_factory_json.build_exception_info_response = say_nothing
    factory = pydevd_net_command_factory_json.NetCommandFactoryJson
    factory.make_thread_suspend_message = send_nothing
    global current
    current = stops = Stops(pydevd_thread_lifecycle, pydevd_api, on_resume)
    pydevd.mark_thread_suspended = pydevd_thread_lifecycle.mark_thread_suspended = stops.mark_thread_suspended
    pydevd.suspend_all_threads = stops.suspend_all_threads
    notifier = pydevd.ThreadsSuspendedSingleNotification
    notifier.notify_thread_suspended = _as_method(stops.notify_thread_suspended)
    notifier._notify_after_timeout = _as_method(stops.on_pause_timeout)
    for name in ("on_thread_suspend", "on_thread_resume"):
        setattr(notifier, name, _as_method(getattr(stops, name)))
    api = pydevd_api.PyDevdAPI
    api.request_step = _as_method(stops.request_step)
    api.request_smart_step_into = _as_method(stops.request_smart_step_into)
    api.request_resume_thread = _as_method(stops.request_resume_thread)
    api.request_disconnect = _as_method(stops.request_disconnect)
    api.request_suspend_thread = _as_method(stops.request_suspend_thread)
    for name in ("on_continue_request", "on_next_request", "on_stepin_request", "on_stepout_request"):
        setattr(processor, name, stops.wrap_request(getattr(processor, name)))


def _as_method(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function for a class to have: a bound method would not be given the object it is called on."""
    return lambda owner, *args, **kwargs: function(owner, *args, **kwargs)


class Stops:
    """Threads that stand at a stop of their own, with the number under which it was reported.

    The numbers are used under the notifier's lock. pydevd's own lock keeps a resume and a thread that decides to stop
    (which may halt all others) from happening at once."""

    def __init__(self, lifecycle: Any, pydevd_api: Any, on_resume: Callable[..., None]) -> None:
        api = pydevd_api.PyDevdAPI
        self._resume_thread, self._disconnect = api.request_resume_thread, api.request_disconnect
        self._suspend_thread, self._mark_suspended = api.request_suspend_thread, lifecycle.mark_thread_suspended
        self._step_in_thread, self._step_into = pydevd_api.internal_step_in_thread, pydevd_api.internal_smart_step_into
        self._suspend_others = lifecycle.suspend_all_threads
        self.on_resume = on_resume
        self.lock = lifecycle.suspend_threads_lock
        self.halted_with_others = lifecycle.CMD_THREAD_SUSPEND
        self.suspended_state = lifecycle.STATE_SUSPEND
        self.program_threads = lifecycle.pydevd_utils.get_non_pydevd_threads
        self.thread_id = lifecycle.get_thread_id
        self.thread_info = lifecycle.set_additional_thread_info
        self.is_letting_go = False
        self.program_runs = threading.Event()
        """Is set once the program has begun: before its first line there is nothing to pause in."""
        self.program_runs.set()
        self.last_number = 0
        self.numbers_by_thread: Dict[Any, int] = {}
        self.blocked: Set[Any] = set()
        """Threads among them that have not halted: they are inside a call, and halt when it returns."""
        self.last_serial = 0
        """The number of the last request to let threads go."""
        self.asked_fields: Dict[str, Any] = {}
        """The fields of the request at hand beyond pydevd's own."""

    def begin_session(self) -> None:
        """Count from the beginning in each session: a program may be attached to again."""
        self.last_number = self.last_serial = 0
        self.is_letting_go = False
        self.numbers_by_thread.clear()
        self.blocked.clear()

    # Stopping.

    def request_suspend_thread(self, api: Any, py_db: Any, thread_id: Any = "*") -> None:
        def pause_when_running() -> None:
            self.program_runs.wait()
            self._suspend_thread(api, py_db, thread_id)

        if self.program_runs.is_set():
            pause_when_running()
        else:
            call_scope.run_on_own_thread(pause_when_running)

    @contextlib.contextmanager
    def notify_thread_suspended(self, notifier: Any, thread_id: Any, thread: Any, stop_reason: Any) -> Iterator[None]:
        """Report the thread whether threads stop together or one by one."""
        notifier.on_thread_suspend(thread_id, thread, stop_reason)
        try:
            yield
        finally:
            notifier.on_thread_resume(thread_id, thread)

    def on_thread_suspend(self, notifier: Any, thread_id: Any, thread: Any, reason: Any) -> None:
        together = notifier.multi_threads_single_notification
        # Made here, on the thread that stops and outside the lock: it may run the str() of an exception.
        is_own = reason != self.halted_with_others or not together
        report = _stop_report(notifier, thread_id, thread, reason) if is_own else None
        frames = _stack_of(notifier, thread_id) if is_own else None
        with notifier._lock:
            paused, notifier._pause_requested = notifier._pause_requested, False
            notifier._suspended_thread_id_to_thread[thread_id] = thread
            if thread_id in self.blocked:
                self.blocked.discard(thread_id)
                paused = True  # its call has returned: it is somewhere else now
            if report is None and paused:
                report = _stop_report(notifier, thread_id, thread, reason)
            self.send_report(notifier, thread_id, report, frames)

    def on_thread_resume(self, notifier: Any, thread_id: Any, thread: Any) -> None:
        with notifier._lock:
            notifier._suspended_thread_id_to_thread.pop(thread_id, None)
            self.numbers_by_thread.pop(thread_id, None)
            if notifier._callbacks:
                notifier.send_resume_notification(thread_id)

    def on_pause_timeout(self, notifier: Any, global_suspend_time: Any) -> None:
        """Let any halted thread speak for the program, because the one that was asked to pause is busy in C."""
        if not notifier.multi_threads_single_notification:
            return
        with notifier._lock:
            if notifier._pause_requested and notifier._suspended_thread_id_to_thread:
                notifier._pause_requested = False
                thread_id, thread = next(iter(notifier._suspended_thread_id_to_thread.items()))
                report = _stop_report(notifier, thread_id, thread, self.halted_with_others)
                self.send_report(notifier, thread_id, report)

    def speak_for_blocked(self, notifier: Any, wanted: Any) -> None:
        """Answer a pause that no thread answers, because none comes to a line.

        A thread that is blocked in a call stays where it is until that returns, and then halts. `wanted` is the thread
        that was asked, or None for all."""
        together = notifier.multi_threads_single_notification
        with self.lock:
            marked = [thread for thread in self.program_threads() if self.is_marked(thread)]
            resting = blocked_threads.threads_at_rest(marked)
            if together and len(marked) < len(self.program_threads()):
                return
            asked = [thread for thread in resting if wanted in (None, self.thread_id(thread))]
            if not asked:
                return
            thread = next((each for each in asked if each is threading.main_thread()), asked[0])
            thread_id = self.thread_id(thread)
            report = _stop_report(notifier, thread_id, thread, self.halted_with_others)
            with notifier._lock:
                halted = notifier._suspended_thread_id_to_thread
                if not notifier._pause_requested or (halted if together else thread_id in halted):
                    return
                notifier._pause_requested = False
                self.blocked.add(thread_id)
                self.send_report(notifier, thread_id, report)

    def send_report(self, notifier: Any, thread_id: Any, report: Any, frames: Any = None) -> None:
        py_db = notifier._py_db()
        if py_db is None or report is None:
            return
        self.last_number += 1
        self.numbers_by_thread[thread_id] = self.last_number
        body = report.as_dict["body"]
        body["allThreadsStopped"] = notifier.multi_threads_single_notification
        body[FIELD] = {"number": self.last_number, "after": self.last_serial, "is_blocked": thread_id in self.blocked}
        if frames is not None:
            body[FIELD]["frames"] = frames
        py_db.writer.add_command(pydevd_parts.NetCommand(report.id, report.seq, report.as_dict, is_json=True))

    def is_marked(self, thread: Any) -> bool:
        """Tell whether a thread is halted, or halts as soon as it gets to a line."""
        info = raw.read_attribute(thread, "additional_info")
        return info is not None and bool(info.pydev_state == self.suspended_state)

    def decided_to_stop(self, thread: Any) -> bool:
        reason = getattr(thread, "stop_reason", self.halted_with_others)
        return self.is_marked(thread) and reason != self.halted_with_others

    def mark_thread_suspended(
        self, thread: Any, stop_reason: Any, original_step_cmd: int = -1, main_suspend: bool = True
    ) -> object:
        if stop_reason == self.halted_with_others and self.decided_to_stop(thread):
            return thread.additional_info  # it stops for a reason of its own: keep that
        own_reason = stop_reason if original_step_cmd == -1 else original_step_cmd
        is_own = main_suspend and thread.ident == threading.get_ident() and not self.decided_to_stop(thread)
        if is_own and (own_reason == self.halted_with_others or own_reason in pydevd_parts.step_reasons):
            passed_breakpoints.settle_here()
            if self.is_marked(thread):  # the stop of another thread has ended its step
                stop_reason, original_step_cmd = self.halted_with_others, -1
            elif self.was_let_go(thread):
                thread.stop_reason = self.halted_with_others
                return thread.additional_info
        return self._mark_suspended(thread, stop_reason, original_step_cmd, main_suspend)

    def was_let_go(self, thread: Any) -> bool:
        """Tell whether all threads were let go since this one saw that its step is done, or that it is to halt."""
        py_db = pydevd_parts.pydevd.get_global_debugger()
        if py_db is None or not py_db.threads_suspended_single_notification.multi_threads_single_notification:
            return False
        return bool(self.thread_info(thread).pydev_step_cmd == -1)

    def suspend_all_threads(self, py_db: Any, except_thread: Any) -> None:
        """Halt the others, unless the thread that would have them halt does not halt itself."""
        if self.is_marked(except_thread):
            self._suspend_others(py_db, except_thread)

    # Going on.

    def wrap_request(self, original: Callable[..., object]) -> Callable[..., object]:
        def on_request(processor: Any, py_db: Any, request: Any) -> object:
            self.asked_fields = getattr(request.arguments, "kwargs", {}).get(FIELD) or {}
            try:
                return original(processor, py_db, request)
            finally:
                self.asked_fields = {}

        return on_request

    def may_go(self, notifier: Any, thread_id: Any) -> bool:
        """Tell whether threads may go on: not if there is a stop that the relay has not seen yet.

        That stop is then what comes of the request."""
        asked = self.asked_fields
        known, alone = asked.get("known"), asked.get("alone", False)
        self.on_resume(thread_id if alone else None, self.kept_threads())
        with notifier._lock:
            self.last_serial = max(self.last_serial, asked.get("serial", 0))
            if alone:
                thread = next((each for each in self.program_threads() if self.thread_id(each) == thread_id), None)
                return self._is_known(notifier, thread, known) and self._unblock_threads({thread_id})
            notifier._pause_requested = False  # one that came too late is answered by the stop before it
            if self.is_letting_go or not notifier.multi_threads_single_notification:
                return self._unblock_threads(self.blocked.difference(self.kept_threads()))
            may_go = all(self._is_known(notifier, thread, known) for thread in self.program_threads())
            return may_go and self._unblock_threads(self.blocked)

    def _unblock_threads(self, going: Iterable[Any]) -> bool:
        """Forget that these threads were blocked, and return True.

        They have not halted, so pydevd does not tell that they go on."""
        for thread_id in list(going):
            if thread_id in self.blocked:
                self.blocked.discard(thread_id)
                self.numbers_by_thread.pop(thread_id, None)
        return True

    def _is_known(self, notifier: Any, thread: Any, known: Any) -> bool:
        """Tell whether the relay knows of this thread's stop, or there is none."""
        number = self.numbers_by_thread.get(self.thread_id(thread)) if thread is not None else None
        if number is not None:
            return known is None or number <= known
        halted = notifier._suspended_thread_id_to_thread.values()
        return not (self.decided_to_stop(thread) and thread not in halted)

    def kept_threads(self) -> List[object]:
        """Return the threads that stay at stops which wait to be looked at."""
        return [from_dap(thread) for thread in self.asked_fields.get("keep", ())]

    def request_step(self, api: Any, py_db: Any, thread_id: Any, step_cmd_id: Any) -> None:
        self._step_thread(py_db, thread_id, self._step_in_thread, step_cmd_id)

    def request_smart_step_into(
        self, api: Any, py_db: Any, seq: Any, thread_id: Any, offset: Any, child_offset: Any
    ) -> None:
        self._step_thread(py_db, thread_id, self._step_into, offset, child_offset)

    def _step_thread(self, py_db: Any, thread_id: Any, step_in_thread: Callable[..., None], *how: Any) -> None:
        """Step at once, not when the thread gets to it: one that is busy in a call never would."""
        with self.lock:
            if not self.may_go(py_db.threads_suspended_single_notification, thread_id):
                return
            with_all = py_db.stepping_resumes_all_threads
            py_db.stepping_resumes_all_threads = with_all and not self.asked_fields.get("alone")
            try:
                step_in_thread(py_db, thread_id, *how, set_additional_thread_info=self.thread_info)
            finally:
                py_db.stepping_resumes_all_threads = with_all
            _wake_threads(py_db)

    def request_resume_thread(self, api: Any, thread_id: Any) -> None:
        py_db = pydevd_parts.pydevd.get_global_debugger()
        if py_db is None:
            self._resume_thread(api, thread_id)
            return
        is_alone = self.asked_fields.get("alone")
        if is_alone:
            thread_id = from_dap(self.asked_fields["thread"])  # an adapter in between makes it "*"
        with self.lock:
            notifier = py_db.threads_suspended_single_notification
            if not self.may_go(notifier, thread_id):
                notifier.send_resume_notification(thread_id)  # answers the continue request
            elif is_alone or self.is_letting_go or notifier.multi_threads_single_notification:
                self._resume_thread(api, thread_id)
            else:
                self._resume_seen(notifier, api)
            _wake_threads(py_db)

    def _resume_seen(self, notifier: Any, api: Any) -> None:
        """Resume, where each thread stops for itself, all but those whose stops are still to be looked at."""
        kept, known = self.kept_threads(), self.asked_fields.get("known")
        with notifier._lock:
            going = [thread for thread in self.program_threads() if self._is_known(notifier, thread, known)]
        for thread_id in map(self.thread_id, going):
            if thread_id not in kept:
                self._resume_thread(api, thread_id)

    def request_disconnect(self, api: Any, *args: Any, **kwargs: Any) -> object:
        """Let the program go when the relay leaves, whatever else has stopped."""
        self.is_letting_go = True
        try:
            return self._disconnect(api, *args, **kwargs)
        finally:
            self.is_letting_go = False


def _stop_report(notifier: Any, thread_id: Any, thread: Any, reason: Any) -> object:
    py_db = notifier._py_db()
    return py_db and py_db.cmd_factory.make_thread_suspend_single_notification(py_db, thread_id, thread, reason)


def _stack_of(notifier: Any, thread_id: Any) -> object:
    """Return the frames of a thread that is about to halt: told with its stop, nobody has to ask for them.

    None if that fails, as it may at the limit of recursion; then they are asked for."""
    py_db = notifier._py_db()
    try:
        make = py_db.cmd_factory.make_get_thread_stack_message
        answer = make(py_db, 0, thread_id, None, None, must_be_suspended=True)
        return answer and answer.as_dict["body"]["stackFrames"]
    except Exception:
        return None


def _wake_threads(py_db: Any) -> None:
    """Wake halted threads, which look only every 0.2 s whether they may run."""
    for thread_id in list(py_db.threads_suspended_single_notification._suspended_thread_id_to_thread):
        py_db.get_internal_queue_and_event(thread_id)[1].set()
