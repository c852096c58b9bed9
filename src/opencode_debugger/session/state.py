"""Refusals of operations in states that do not allow them, and what to do instead."""

from __future__ import annotations

from typing import Any

from ..errors import RelayError
from ..operations.advice import advice
from ..operations.states import State
from ..operations.table import OPERATIONS

ADVICE: dict[State, str] = {
    State.CREATED: "Call {launch} first",
    State.LAUNCHING: "The program is starting: call {report wait=30} to wait for it",
    State.RUNNING: "Call {pause} first or wait for a breakpoint",
    State.PAUSED: "The program is paused: continue or step it first",
    State.TERMINATED: "The program has ended: read {output}, or call {restart}, or {~launch}",
    State.FAILED: "The session failed: read {info}, then create a new session",
}
BEGINNINGS = ("launch", "attach")
ONE_PROGRAM = (
    "A session has one program at a time. What was launched here is run again by {restart}; another one can be "
    "launched when it has ended ({terminate}), or in another session: {create_session}, or {clone_session}, which "
    "takes the breakpoints along"
)
LET_GO = (
    "The program was let go and is not this session's any more: attach to it in another session, "
    "{create_session mode=attach pid=…}"
)
RUNNING_STACK = (
    "Call {pause} first or wait for a breakpoint; the stack of a running thread is {stack_trace thread_id=?} "
    "({threads} lists them)"
)
IN_STATE: dict[tuple[str, State], str] = {
    ("continue", State.RUNNING): "It runs already: {report wait=30} waits for its next stop",
    ("stack_trace", State.RUNNING): RUNNING_STACK,
}
"""Better advice than what is usual in that state."""


def require_state(operation: str, state: State, is_let_go: bool = False) -> None:
    allowed = OPERATIONS[operation].states
    if allowed is not None and state not in allowed:
        error = wrong_state(operation, state, allowed)
        if is_let_go and operation not in BEGINNINGS:
            error.details["suggestion"] = advice(LET_GO)
        raise error


def wrong_state(operation: str, state: State, allowed: frozenset[State]) -> RelayError:
    wanted = " or ".join(sorted(allowed))
    message = f"Cannot {OPERATIONS[operation].said}: session is not {wanted}"
    suggestion = ONE_PROGRAM if operation in BEGINNINGS else IN_STATE.get((operation, state), ADVICE[state])
    details: dict[str, Any] = {"current_state": str(state), "required_state": wanted, "suggestion": advice(suggestion)}
    return RelayError("INVALID_SESSION_STATE", message, **details)
