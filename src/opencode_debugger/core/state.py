"""The states of a session and what is allowed in each."""

from __future__ import annotations

from enum import StrEnum

from ..errors import RelayError


class State(StrEnum):
    CREATED = "created"
    LAUNCHING = "launching"
    RUNNING = "running"
    PAUSED = "paused"
    TERMINATED = "terminated"
    FAILED = "failed"


ENDED = frozenset({State.TERMINATED, State.FAILED})
LIVE = frozenset({State.RUNNING, State.PAUSED})

ALLOWED: dict[str, frozenset[State]] = {
    "launch": frozenset({State.CREATED}),
    "attach": frozenset({State.CREATED}),
    "continue": frozenset({State.PAUSED}),
    "pause": frozenset({State.RUNNING}),
    "step-over": frozenset({State.PAUSED}),
    "step-into": frozenset({State.PAUSED}),
    "step-out": frozenset({State.PAUSED}),
    "list threads": LIVE,
    "get stack trace": frozenset({State.PAUSED}),
    "get scopes": frozenset({State.PAUSED}),
    "get variables": frozenset({State.PAUSED}),
    "evaluate": frozenset({State.PAUSED}),
}

ADVICE: dict[State, str] = {
    State.CREATED: "Call POST /sessions/{id}/launch first",
    State.LAUNCHING: "The program is starting: call GET /sessions/{id}/report?wait=30 to wait for it",
    State.RUNNING: "Call POST /sessions/{id}/pause first or wait for a breakpoint",
    State.PAUSED: "The program is paused: continue or step it first",
    State.TERMINATED: "The program has ended: read GET /sessions/{id}/output, or create a new session",
    State.FAILED: "The session failed: read GET /sessions/{id}, then create a new session",
}


def require(operation: str, state: State) -> None:
    allowed = ALLOWED[operation]
    if state in allowed:
        return
    wanted = " or ".join(sorted(allowed))
    raise RelayError(
        "INVALID_SESSION_STATE",
        f"Cannot {operation}: session is not {wanted}",
        current_state=str(state),
        required_state=wanted,
        suggestion=ADVICE[state],
    )
