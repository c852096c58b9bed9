"""Every error code once: its HTTP status and what to do about it."""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict

from .operations.advice import advice, door


class ErrorSpec(NamedTuple):
    status: int
    suggestion: str
    """as `advice` takes it"""
    for_agents: str = ""
    """the same for doors that show texts, if it is another"""

    def spell_suggestion(self) -> str:
        return advice(self.for_agents if self.for_agents and door.get() else self.suggestion)


class ErrorTold(TypedDict):
    """A failure as a client is told of it."""

    code: str
    message: str
    details: dict[str, Any]


_ERRORS: dict[str, tuple[int, str] | tuple[int, str, str]] = {
    "SESSION_NOT_FOUND": (404, "Use {/list_sessions} to list active sessions"),
    "SESSION_LIMIT_REACHED": (
        429, "{~delete_session} a session you no longer need ({/list_sessions} lists them), or raise "
        "OPENCODE_DEBUG_MAX_SESSIONS"),
    "SESSION_EXPIRED": (410, "Create a new session with {/create_session}; a larger timeout_minutes keeps it longer"),
    "INVALID_SESSION_STATE": (409, "{/status} shows the current state"),
    "BREAKPOINT_NOT_FOUND": (404, "Use {/list_breakpoints} to list breakpoints"),
    "BREAKPOINT_INVALID_LINE": (400, "Choose a line that contains executable code"),
    "BREAKPOINT_INVALID_CONDITION": (400, "Correct the expression and send the breakpoint again"),
    "BREAKPOINT_FILE_NOT_FOUND": (
        400, "Check the path, or leave out strict: the breakpoint then waits for the file to appear"),
    "BREAKPOINT_FUNCTION_NOT_FOUND": (
        400, "Check the name, or leave out strict: the breakpoint then waits for the function to be loaded"),
    "PROFILE_NOT_FOUND": (404, "Use {/list_profiles} to list profiles"),
    "PROFILE_EXISTS": (409, "Choose another name, or replace it with {/save_profile name=?}"),
    "PROFILE_UNREADABLE": (409, "Save it again under another name, or remove it with {/delete_profile name=?}"),
    "THREAD_NOT_FOUND": (404, "Use {/threads} to list threads"),
    "FRAME_NOT_FOUND": (404, "Frames change when the program runs: ask {/stack_trace} again"),
    "VARIABLE_NOT_FOUND": (404, "References end when the program runs: ask {/scopes} again"),
    "VARIABLE_NOT_SET": (409, "The value cannot be changed there: set another variable, or use {/evaluate}"),
    "ENTRY_NOT_FOUND": (404, "Use {/timeline} to list the entries that are still there"),
    "RECORDING_NOT_FOUND": (404, "Record the program, then ask again: {/record}"),
    "CALL_NOT_FOUND": (404, "Use {/trace} to see which calls there are"),
    "WHEEL_TAKEN": (423, "Ask whoever has the wheel to give it back; {/report wait=60} waits for the next stop"),
    "WATCH_NOT_FOUND": (404, "Use {/list_watches} to list watches"),
    "SOURCE_NOT_FOUND": (404, "Put the file in its place, or read variables instead: {/frame_variables frame_id=0}"),
    "EXCEPTION_NOT_FOUND": (404, "Launch with stop_on_exception to stop on one; {/status} shows why it stopped"),
    "EVALUATE_ERROR": (400, "Correct the expression and send it again"),
    "LAUNCH_FAILED": (500, "See details.output for what the program wrote, correct the launch and try again"),
    "LAUNCH_SCRIPT_NOT_FOUND": (400, "Give the absolute path of an existing script, or set cwd"),
    "LAUNCH_SYNTAX_ERROR": (400, "Correct the file and launch again: the session is as it was"),
    "ATTACH_FAILED": (500, "Check that the target is a live Python program of yours, then attach again"),
    "ATTACH_TIMEOUT": (504, "Check that debugpy listens on that address, or raise connect_timeout"),
    "ATTACH_REFUSED": (
        502, "Start the target with: python -m debugpy --listen 127.0.0.1:PORT script.py, then attach again"),
    "STDIN_CLOSED": (409, "The program takes no more input: {/report} shows where it is, {/restart} runs it again"),
    "STDIN_FULL": (409, "Send it again when the program has read more: {/status} says waiting_for_input then"),
    "DEBUGPY_ERROR": (500, "Retry; if it happens again, delete the session and create a new one"),
    "DEBUGPY_TIMEOUT": (504, "Retry with a larger timeout, or pause or delete the session"),
    "INVALID_REQUEST": (
        400, "Correct the fields named in details.errors; /docs describes every request", "Correct what is named here"),
    "MISSING_PARAMETER": (400, "Add the parameter named in details.errors", "Add what is named here"),
    "INVALID_PARAMETER": (400, "Correct the parameter named in details", "Correct what is named here"),
    "TOO_MANY_COMMANDS": (429, "Send it again when the result of another command has come"),
    "TOO_MANY_CONNECTIONS": (
        503, "Close streams that you do not need, or start the relay with a larger limit: ulimit -n 4096"),
    "STORAGE_FAILED": (
        507, "Free some space on the disk of the data folder, or make the folder writable, and send it again"),
    "SESSION_NOT_STARTED": (
        503, "See what the message names (disk, memory, processes, open files), then send it again"),
    "SHUTTING_DOWN": (503, "Start the relay again; sessions that it was told to keep are there, with their ids"),
    "INTERNAL_ERROR": (500, "Report this with the request_id; the relay's log has the details"),
    "ROUTE_NOT_FOUND": (404, "{/server_info} lists the endpoints, /docs describes them"),
    "METHOD_NOT_ALLOWED": (405, "Use one of the methods in details.allowed"),
    "PAYLOAD_TOO_LARGE": (413, "Send a smaller body"),
    "UNSUPPORTED_MEDIA_TYPE": (415, "Send the header Content-Type: application/json"),
    "HOST_NOT_ALLOWED": (
        421, "Address the relay by a loopback name, http://127.0.0.1:PORT, or by the --host that it listens on"),
    "ORIGIN_NOT_ALLOWED": (
        403, "Web pages may not drive the relay; list trusted origins in OPENCODE_DEBUG_ALLOWED_ORIGINS"),
    "OTHER_USER": (
        403, "Start a relay of your own, or have this one started with: opencode-debugger serve --allow-other-users"),
    "UNAUTHORIZED": (
        401, "Send the header Authorization: Bearer TOKEN; `opencode-debugger token create` makes a token"),
    "FORBIDDEN": (
        403, "Use a token with the scopes in details.required_scopes: see opencode-debugger token create --help"),
    "NOT_SUPPORTED": (400, "{/server_info} lists what this debugger can do"),
}
CATALOGUE = {code: ErrorSpec(*row) for code, row in _ERRORS.items()}


class RelayError(Exception):
    """A failure that a client is told about, as it is told."""

    def __init__(self, code: str, message: str, *, status: int | None = None, **details: Any) -> None:
        super().__init__(message)
        spec = CATALOGUE[code]
        self.code = code
        self.message = message
        self.status = status or spec.status
        self.details: dict[str, Any] = {"suggestion": "", **details}
        if "suggestion" not in details:
            self.details["suggestion"] = spec.spell_suggestion()

    def to_dict(self) -> ErrorTold:
        return {"code": self.code, "message": self.message, "details": self.details}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RelayError:
        """The same error again, on the other side of a process boundary."""
        return cls(data["code"], data["message"], status=data.get("status"), **data["details"])


def invalid_parameter(name: str, value: str, message: str, suggestion: str, **details: Any) -> RelayError:
    """A value that is of the right type and still of no use."""
    problem = {"field": name, "message": message, "value": value[:200]}
    return RelayError("INVALID_PARAMETER", message, parameter=name, errors=[problem], suggestion=suggestion, **details)


def not_written(path: object, error: Exception, consequence: str) -> RelayError:
    """A file of ours that a full or read-only disk, or whatever is in its place, kept from being written."""
    return RelayError("STORAGE_FAILED", f"{path} cannot be written, {consequence}: {error}")
