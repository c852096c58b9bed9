"""Calls of the relay: made on the thread that debugpy chose, or on one of their own, unless they come too late."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Set

from . import elsewhere, handles, interrupts, silence, threads
from .methods import METHODS
from .moves import Moves
from .sending import send

_moves = Moves()
_threads: Dict[int, int] = {}
"""Where each call that may take long runs, by its token."""
_cancelled: Set[int] = set()
"""Calls that were given up before their thread got to them: it must not run them later, at another stop."""


QUIETLY = "_ocdb:"


def install() -> None:
    """Calls for those who may only read never become Python: names of the program, even __import__, may be its own."""
    from _pydevd_bundle import pydevd_resolver, pydevd_vars, pydevd_xml

    # Else it looks for one who can show our answer, and imports django and whatever else the program has for that.
    handler = pydevd_xml._TYPE_RESOLVE_HANDLER
    handler._type_to_resolver_cache[handles.Reply] = pydevd_resolver.defaultResolver
    handler._type_to_str_provider_cache[handles.Reply] = handler.NO_PROVIDER
    original = pydevd_vars.evaluate_expression

    def evaluate_expression(py_db: Any, frame: Any, expression: str, is_exec: bool) -> Any:
        if not expression.startswith(QUIETLY):
            return original(py_db, frame, expression, is_exec)
        function, *arguments = json.loads(expression[len(QUIETLY) :])
        return (call if function == "call" else call_elsewhere)(*arguments)

    pydevd_vars.evaluate_expression = evaluate_expression


def begin() -> None:
    """Once per session."""
    global _moves
    _moves = Moves()


def let_go(thread_id: Any, kept: Iterable[Any]) -> None:
    """What was asked about these threads before is not to be answered any more."""
    _moves.go(thread_id, kept)


def forget() -> None:
    _threads.clear()
    _cancelled.clear()


def call(method: str, argument: str, token: int = 0, thread: int = 0, moves: Optional[int] = None) -> handles.Reply:
    """Answers with an object whose repr is JSON. It keeps what it announces alive; debugpy drops it on resume."""
    reply = handles.Reply()
    if moves is not None and moves < _moves.of(threads.from_dap(thread)):
        return reply.finish({"gone": True})
    if token in _cancelled:
        _cancelled.discard(token)
        return reply.finish({"timed_out": True})
    _threads[token] = threading.get_ident()
    arguments = json.loads(argument)
    try:
        with _quietly() if arguments.pop("quiet", False) else contextlib.nullcontext():
            answer = _METHODS[method](reply, **arguments)
    except BaseException as error:
        answer = {"failed": "%s: %s" % (type(error).__name__, error)}
    finally:
        _threads.pop(token, None)
    return reply.finish(answer)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with interrupts.nothing_runs(), silence.no_warnings():
        yield


def call_elsewhere(method: str, argument: str, token: int, thread: int, moves: int, frame_id: int) -> handles.Reply:
    """The same for a frame of a thread that cannot run anything now; what it assigns does not reach the frame.

    Says only that it has begun: the answer comes as an event, for nothing may hold up the thread that asks.
    """
    frame = elsewhere.find_frame(frame_id)
    if frame is None:
        return handles.Reply().finish({"gone": True})

    def work() -> None:
        elsewhere.looked_into[threading.get_ident()] = frame
        try:
            reply = call(method, argument, token, thread, moves)
        finally:
            del elsewhere.looked_into[threading.get_ident()]
        elsewhere.keep(threads.from_dap(thread), reply)
        send("answer", {"token": token, "text": reply.text})

    elsewhere.run(work)
    return handles.Reply().finish({})


def _interrupt(reply: handles.Reply, token: int) -> Any:
    thread = _threads.get(token)
    if thread is None:
        _cancelled.add(token)
        return {"interrupted": False}
    return {"interrupted": interrupts.interrupt(thread)}


_METHODS: Dict[str, Callable[..., Any]] = dict(METHODS, interrupt=_interrupt)
