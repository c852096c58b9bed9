"""Which scopes each operation needs: the one table, for every door.

No scope implies another, `admin` included."""

from __future__ import annotations

READ = "sessions:read"
WRITE = "sessions:write"
ARTIFACTS = "artifacts:read"
ADMIN = "admin"

ALL_SCOPES = (READ, WRITE, ARTIFACTS, ADMIN)
MEANINGS = {
    READ: "look at sessions, breakpoints, stacks and variables; runs no code of programs or debuggers",
    WRITE: "create, change and end sessions, run programs and code in them, attach, and connect debuggers",
    ARTIFACTS: "read what programs wrote; with sessions:read",
    ADMIN: "see and change the relay's settings, and shut it down",
}

NEEDED: dict[tuple[str, ...], tuple[str, ...]] = {
    # Any token; for health none.
    (): ("health", "server_info", "docs"),
    (READ,): (
        "list_sessions",
        "list_profiles",
        "get_profile",
        "info",
        "status",
        "summary",
        "describe",
        "ping",
        "export",
        "list_breakpoints",
        "list_exception_breakpoints",
        "list_watches",
        "list_data_breakpoints",
        "read_memory",
        "disassemble",
        "threads",
        "tasks",
        "locks",
        "stack_trace",
        "scopes",
        "variables",
        "children",
        "frame_variables",
        "step_targets",
        "completions",
        "hover",
        "source",
        "modules",
        "exception",
    ),
    # A stop report and the events have the program's output in them.
    (READ, ARTIFACTS): ("report", "output", "follow_output", "events", "follow_events", "logs"),
    (WRITE,): (
        "create_session",
        "import_session",
        "clone_session",
        "delete_session",
        "list_processes",
        "save_profile",
        "apply_profile",
        "delete_profile",
        "update",
        "launch",
        "attach",
        "restart",
        "detach",
        "terminate",
        "set_breakpoints",
        "unsaved_breakpoints",
        "change_breakpoint",
        "remove_breakpoint",
        "clear_breakpoints",
        "apply_breakpoints",
        "set_exception_breakpoint",
        "remove_exception_breakpoints",
        "continue",
        "pause",
        "step_over",
        "step_into",
        "step_out",
        "step_until",
        "run_to",
        "stdin",
        "evaluate",
        "add_watch",
        "remove_watch",
        "clear_watches",
        "set_variable",
        "set_expression",
        "clear_output",
        "write_memory",
        "set_data_breakpoint",
        "remove_data_breakpoints",
        "record",
        "step_back",
        "reverse_continue",
        "debug",
        "tunnel",
    ),
    (ADMIN,): ("get_config", "update_config", "shutdown"),
    # Part of `update_config`, where a setting says which program runs.
    (ADMIN, WRITE): ("choose_programs",),
}

TABLE: dict[str, frozenset[str]] = {
    operation: frozenset(scopes) for scopes, operations in NEEDED.items() for operation in operations
}

OPEN_PATHS = frozenset({"/api/v1/health"})
"""Answered without a token, always: whether there is a relay is no secret to whoever reaches it."""

OPERATION_OF_ENDPOINT = {
    "get_health": "health",
    "get_info": "server_info",
    "get_schema": "docs",
    "get_page": "docs",
    "replace_profile": "save_profile",
    "get_session": "info",
    "get_status": "status",
    "get_report": "report",
    "update_session": "update",
    "export_session": "export",
    "continue_execution": "continue",
    "continue_thread": "continue",
    "send_input": "stdin",
    "list_threads": "threads",
    "list_tasks": "tasks",
    "explain_locks": "locks",
    "get_stack_trace": "stack_trace",
    "get_thread_stack_trace": "stack_trace",
    "get_scopes": "scopes",
    "get_frame_scopes": "scopes",
    "get_frame_variables": "frame_variables",
    "get_variables": "variables",
    "expand_variable": "variables",
    "get_children": "children",
    "get_source": "source",
    "get_frame_source": "source",
    "list_modules": "modules",
    "get_exception": "exception",
    "get_completions": "completions",
    "get_hover": "hover",
    "remove_exception_breakpoint": "remove_exception_breakpoints",
    "get_output": "output",
    "stream_output": "follow_output",
    "poll_events": "events",
    "stream_events": "follow_events",
    "clear_data_breakpoints": "remove_data_breakpoints",
    "remove_data_breakpoint": "remove_data_breakpoints",
}
"""REST handlers that are not called as the operation that they carry out."""


def operation_of(endpoint: str) -> str:
    """What a REST handler carries out. One without an entry cannot be served."""
    operation = OPERATION_OF_ENDPOINT.get(endpoint, endpoint)
    if operation not in TABLE:
        raise LookupError(
            f"the route of {endpoint} has no operation in auth/scopes.py: say there which scopes it needs"
        )
    return operation
