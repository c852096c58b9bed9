"""Calls of the relay: made on the thread that debugpy chose, or on one of their own, unless they come too late."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, Iterable, Optional, Set

from . import elsewhere, handles, interrupts, threads
from .methods import METHODS
from .moves import Moves
from .sending import send

_moves = Moves()
_threads: Dict[int, int] = {}
"""Where each call that may take long runs, by its token."""
_cancelled: Set[int] = set()
"""Calls that were given up before their thread got to them: it must not run them later, at another stop."""


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
    try:
        answer = _METHODS[method](reply, **json.loads(argument))
    except BaseException as error:
        answer = {"failed": "%s: %s" % (type(error).__name__, error)}
    finally:
        _threads.pop(token, None)
    return reply.finish(answer)


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
