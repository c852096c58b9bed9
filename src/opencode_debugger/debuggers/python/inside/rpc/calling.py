"""Makes calls of the relay on the thread that debugpy chose, or on one of their own, unless they come too late."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Set

from ..threads import thread_list
from ..values import raw
from . import call_scope, handles, interrupts
from .event_sending import send_event
from .methods import METHODS

QUIET_PREFIX = "_ocdb:"


class ResumeCounts:
    """The last resume of each thread, counted in requests to let threads go: the relay counts those too."""

    def __init__(self) -> None:
        self._count = 0
        self._all = 0
        self._own: Dict[Any, int] = {}
        self._kept: Dict[Any, int] = {}

    def last_resume(self, thread: Any) -> int:
        """Return the last resume of this thread: what was asked about it before is not to be answered any more."""
        own = self._own.get(thread, 0)
        return own if self._kept.get(thread) == self._all else max(own, self._all)

    def count_resume(self, thread: Any, kept: Iterable[Any] = ()) -> None:
        """Count a resume of one thread alone, or (None) of all but those that are kept."""
        self._count += 1
        if thread is not None:
            self._own[thread] = self._count
            return
        for other in kept:
            self._own[other] = self.last_resume(other)
            self._kept[other] = self._count
        self._all = self._count


resumes = ResumeCounts()
_threads_by_token: Dict[int, int] = {}
"""The thread on which each call runs that may take long, by its token."""
_cancelled_tokens: Set[int] = set()
"""Calls that were given up before their thread got to them: it must not run them later, at another stop."""


def install() -> None:
    """Make read-only calls without turning them into Python: names of the program, even __import__, may be its own."""
    from _pydevd_bundle import pydevd_resolver, pydevd_vars, pydevd_xml

    # Otherwise pydevd looks for a plugin to show our answer, and imports django and whatever else the program has.
    handler = pydevd_xml._TYPE_RESOLVE_HANDLER
    handler._type_to_resolver_cache[handles.Reply] = pydevd_resolver.defaultResolver
    handler._type_to_str_provider_cache[handles.Reply] = handler.NO_PROVIDER
    original = pydevd_vars.evaluate_expression

    def evaluate_expression(py_db: Any, frame: Any, expression: str, is_exec: bool) -> object:
        if not expression.startswith(QUIET_PREFIX):
            return original(py_db, frame, expression, is_exec)
        function, *arguments = json.loads(expression[len(QUIET_PREFIX) :])
        return (call if function == "call" else call_elsewhere)(*arguments)

    pydevd_vars.evaluate_expression = evaluate_expression


def begin_session() -> None:
    global resumes
    resumes = ResumeCounts()


def forget_all() -> None:
    _threads_by_token.clear()
    _cancelled_tokens.clear()


def call(method: str, argument: str, token: int = 0, thread: int = 0, moves: Optional[int] = None) -> handles.Reply:
    """Answer with an object whose repr is JSON. It keeps what it announces alive; debugpy drops it on resume."""
    reply = handles.Reply()
    if moves is not None and moves < resumes.last_resume(thread_list.from_dap(thread)):
        return reply.finish({"gone": True})
    if token in _cancelled_tokens:
        _cancelled_tokens.discard(token)
        return reply.finish({"timed_out": True})
    _threads_by_token[token] = threading.get_ident()
    arguments = json.loads(argument)
    try:
        with contextlib.ExitStack() as quiet:
            if arguments.pop("quiet", False):
                quiet.enter_context(interrupts.nothing_runs())
                quiet.enter_context(_no_warnings())
            answer = _METHODS[method](reply, **arguments) or {}
    except BaseException as error:
        answer = {"failed": "%s: %s" % (type(error).__name__, error)}
    finally:
        _threads_by_token.pop(token, None)
    return reply.finish(answer)


class _QuietThreadPattern:
    """Stands for a pattern of module names, and fits whatever a quiet thread does."""

    def match(self, module: Any) -> bool:
        return interrupts.is_quiet()


_QUIET_FILTER = ("ignore", None, Warning, _QuietThreadPattern(), 0)


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """Keep warnings of this thread away from the program, which may show them its own way.

    `catch_warnings` does it for all threads, and makes warnings appear again that were shown once.
    """
    filters: Any = (raw.module_dict("warnings") or {}).get("filters")
    if type(filters) is not list:
        yield
        return
    filters.insert(0, _QUIET_FILTER)
    try:
        yield
    finally:
        for place, known in enumerate(filters):
            if known is _QUIET_FILTER:
                del filters[place]
                break


def call_elsewhere(method: str, argument: str, token: int, thread: int, moves: int, frame_id: int) -> handles.Reply:
    """Make a call for a frame of a thread that cannot run anything now; what it assigns does not reach the frame.

    Answers only that it has begun: the result comes as an event, for nothing may hold up the thread that asks.
    """
    frame = call_scope.find_frame(frame_id)
    if frame is None:
        return handles.Reply().finish({"gone": True})

    def answer_by_event() -> None:
        call_scope.frames_looked_into[threading.get_ident()] = frame
        try:
            reply = call(method, argument, token, thread, moves)
        finally:
            del call_scope.frames_looked_into[threading.get_ident()]
        call_scope.kept_replies.setdefault(thread_list.from_dap(thread), []).append(reply)
        send_event("answer", {"token": token, "text": reply.text})

    call_scope.run_on_own_thread(answer_by_event)
    return handles.Reply().finish({})


def _interrupt_call(reply: handles.Reply, token: int) -> Dict[str, bool]:
    thread = _threads_by_token.get(token)
    if thread is None:
        _cancelled_tokens.add(token)
    return {"interrupted": thread is not None and interrupts.interrupt_thread(thread)}


_METHODS: Dict[str, Callable[..., object]] = {**METHODS, "interrupt": _interrupt_call}
