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

ONLY_CREATED = frozenset({State.CREATED})
ONLY_RUNNING = frozenset({State.RUNNING})
ONLY_PAUSED = frozenset({State.PAUSED})

ALLOWED: dict[str, frozenset[State]] = {
    "launch": ONLY_CREATED | {State.TERMINATED},
    "attach": ONLY_CREATED,
    "restart": LIVE | {State.TERMINATED},
    "detach": LIVE,
    "terminate": LIVE,
    "continue": ONLY_PAUSED,
    "pause": ONLY_RUNNING,
    "step_over": ONLY_PAUSED,
    "step_into": ONLY_PAUSED,
    "step_out": ONLY_PAUSED,
    "step_until": ONLY_PAUSED,
    "step_targets": ONLY_PAUSED,
    "run_to": ONLY_PAUSED,
    "step_back": ONLY_PAUSED,
    "reverse_continue": ONLY_PAUSED,
    "record": ONLY_PAUSED,
    "read_memory": ONLY_PAUSED,
    "write_memory": ONLY_PAUSED,
    "disassemble": ONLY_PAUSED,
    "set_data_breakpoint": ONLY_PAUSED,
    "threads": LIVE,
    "tasks": LIVE,
    "locks": LIVE,
    "stack_trace": ONLY_PAUSED,
    "scopes": ONLY_PAUSED,
    "variables": ONLY_PAUSED,
    "children": ONLY_PAUSED,
    "frame_variables": ONLY_PAUSED,
    "evaluate": ONLY_PAUSED,
    "set_variable": ONLY_PAUSED,
    "set_expression": ONLY_PAUSED,
    "completions": ONLY_PAUSED,
    "hover": ONLY_PAUSED,
    "source": ONLY_PAUSED,
    "modules": LIVE,
    "exception": ONLY_PAUSED,
}
"""Operations that are not named here are allowed always."""

SAID: dict[str, str] = {
    "stdin": "send input",
    "threads": "list threads",
    "tasks": "list tasks",
    "locks": "explain locks",
    "step_targets": "list step targets",
    "read_memory": "read memory",
    "write_memory": "write memory",
    "set_data_breakpoint": "set a data breakpoint",
    "stack_trace": "get the stack trace",
    "scopes": "get scopes",
    "variables": "get variables",
    "children": "get variables",
    "frame_variables": "get variables",
    "set_variable": "set a variable",
    "set_expression": "set an expression",
    "completions": "complete",
    "source": "get the source of a frame",
    "modules": "list modules",
    "exception": "get the exception",
}

ADVICE: dict[State, str] = {
    State.CREATED: "Call POST /sessions/{id}/launch first",
    State.LAUNCHING: "The program is starting: call GET /sessions/{id}/report?wait=30 to wait for it",
    State.RUNNING: "Call POST /sessions/{id}/pause first or wait for a breakpoint",
    State.PAUSED: "The program is paused: continue or step it first",
    State.TERMINATED: "The program has ended: read GET /sessions/{id}/output, or call POST /sessions/{id}/restart, or "
    "/launch",
    State.FAILED: "The session failed: read GET /sessions/{id}, then create a new session",
}


BEGINNINGS = ("launch", "attach")
ONE_PROGRAM = (
    "A session has one program at a time. What was launched here is run again by POST /sessions/{id}/restart; another "
    "one can be launched when it has ended (POST /sessions/{id}/terminate), or in another session: POST /sessions, or "
    "POST /sessions/{id}/clone, which takes the breakpoints along"
)
LET_GO = (
    "The program was let go and is not this session's any more: attach to it in another session, "
    'POST /sessions {"mode": "attach", "pid": …}'
)
RUNS_ALREADY = "It runs already: GET /sessions/{id}/report?wait=30 waits for its next stop"
RUNNING_STACK = (
    "Call POST /sessions/{id}/pause first or wait for a breakpoint; the stack of a running thread is "
    "GET /sessions/{id}/threads/{thread_id}/stacktrace (GET /sessions/{id}/threads lists them)"
)
IN_STATE: dict[tuple[str, State], str] = {
    ("continue", State.RUNNING): RUNS_ALREADY,
    ("stack_trace", State.RUNNING): RUNNING_STACK,
}
"""Better advice than what is usual in that state."""


def needs_debugger(operation: str) -> bool:
    return ALLOWED.get(operation) in (ONLY_PAUSED, ONLY_RUNNING)


def require(operation: str, state: State, is_let_go: bool = False) -> None:
    allowed = ALLOWED.get(operation)
    if allowed is None or state in allowed:
        return
    error = wrong_state(operation, state, allowed)
    if is_let_go and operation not in BEGINNINGS:
        error.details["suggestion"] = LET_GO
    raise error


def wrong_state(operation: str, state: State, allowed: frozenset[State]) -> RelayError:
    wanted = " or ".join(sorted(allowed))
    return RelayError(
        "INVALID_SESSION_STATE",
        f"Cannot {SAID.get(operation, operation.replace('_', '-'))}: session is not {wanted}",
        current_state=str(state),
        required_state=wanted,
        suggestion=ONE_PROGRAM if operation in BEGINNINGS else IN_STATE.get((operation, state), ADVICE[state]),
    )
