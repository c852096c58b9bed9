"""Every error code once: its HTTP status and what to do about it."""

from __future__ import annotations

from typing import Any, NamedTuple


class ErrorSpec(NamedTuple):
    status: int
    suggestion: str


CATALOGUE: dict[str, ErrorSpec] = {
    "SESSION_NOT_FOUND": ErrorSpec(404, "Use GET /api/v1/sessions to list active sessions"),
    "SESSION_LIMIT_REACHED": ErrorSpec(
        429,
        "DELETE a session you no longer need (GET /api/v1/sessions lists them), or raise OPENCODE_DEBUG_MAX_SESSIONS",
    ),
    "SESSION_EXPIRED": ErrorSpec(
        410, "Create a new session with POST /api/v1/sessions; a larger timeout_minutes keeps it longer"
    ),
    "INVALID_SESSION_STATE": ErrorSpec(409, "GET /api/v1/sessions/{id}/status shows the current state"),
    "BREAKPOINT_NOT_FOUND": ErrorSpec(404, "Use GET /api/v1/sessions/{id}/breakpoints to list breakpoints"),
    "BREAKPOINT_INVALID_LINE": ErrorSpec(400, "Choose a line that contains executable code"),
    "BREAKPOINT_INVALID_CONDITION": ErrorSpec(400, "Correct the expression and send the breakpoint again"),
    "BREAKPOINT_FILE_NOT_FOUND": ErrorSpec(
        400, "Check the path, or leave out strict: the breakpoint then waits for the file to appear"
    ),
    "BREAKPOINT_FUNCTION_NOT_FOUND": ErrorSpec(
        400, "Check the name, or leave out strict: the breakpoint then waits for the function to be loaded"
    ),
    "PROFILE_NOT_FOUND": ErrorSpec(404, "Use GET /api/v1/breakpoint-profiles to list profiles"),
    "PROFILE_EXISTS": ErrorSpec(409, "Choose another name, or replace it with PUT /api/v1/breakpoint-profiles/{name}"),
    "PROFILE_UNREADABLE": ErrorSpec(
        409, "Save it again under another name, or remove it with DELETE /api/v1/breakpoint-profiles/{name}"
    ),
    "THREAD_NOT_FOUND": ErrorSpec(404, "Use GET /api/v1/sessions/{id}/threads to list threads"),
    "FRAME_NOT_FOUND": ErrorSpec(
        404, "Frames change when the program runs: ask GET /api/v1/sessions/{id}/stacktrace again"
    ),
    "VARIABLE_NOT_FOUND": ErrorSpec(
        404, "References end when the program runs: ask GET /api/v1/sessions/{id}/scopes again"
    ),
    "VARIABLE_NOT_SET": ErrorSpec(
        409, "The value cannot be changed there: set another variable, or use POST /api/v1/sessions/{id}/evaluate"
    ),
    "WATCH_NOT_FOUND": ErrorSpec(404, "Use GET /api/v1/sessions/{id}/watch to list watches"),
    "SOURCE_NOT_FOUND": ErrorSpec(
        404, "Put the file in its place, or read variables instead: GET /api/v1/sessions/{id}/frames/0/variables"
    ),
    "EXCEPTION_NOT_FOUND": ErrorSpec(
        404, "Launch with stop_on_exception to stop on one; GET /api/v1/sessions/{id}/status shows why it stopped"
    ),
    "EVALUATE_ERROR": ErrorSpec(400, "Correct the expression and send it again"),
    "LAUNCH_FAILED": ErrorSpec(500, "See details.output for what the program wrote, correct the launch and try again"),
    "LAUNCH_SCRIPT_NOT_FOUND": ErrorSpec(400, "Give the absolute path of an existing script, or set cwd"),
    "LAUNCH_SYNTAX_ERROR": ErrorSpec(400, "Correct the file and launch again: the session is as it was"),
    "ATTACH_FAILED": ErrorSpec(500, "Check that the target is a live Python program of yours, then attach again"),
    "ATTACH_TIMEOUT": ErrorSpec(504, "Check that debugpy listens on that address, or raise connect_timeout"),
    "ATTACH_REFUSED": ErrorSpec(
        502, "Start the target with: python -m debugpy --listen 127.0.0.1:PORT script.py, then attach again"
    ),
    "STDIN_CLOSED": ErrorSpec(
        409,
        "The program takes no more input: GET /api/v1/sessions/{id}/report shows where it is, "
        "POST /api/v1/sessions/{id}/restart runs it again",
    ),
    "STDIN_FULL": ErrorSpec(
        409,
        "Send it again when the program has read more: GET /api/v1/sessions/{id}/status says waiting_for_input then",
    ),
    "DEBUGPY_ERROR": ErrorSpec(500, "Retry; if it happens again, delete the session and create a new one"),
    "DEBUGPY_TIMEOUT": ErrorSpec(504, "Retry with a larger timeout, or pause or delete the session"),
    "INVALID_REQUEST": ErrorSpec(400, "Correct the fields named in details.errors; /docs describes every request"),
    "MISSING_PARAMETER": ErrorSpec(400, "Add the parameter named in details.errors"),
    "INVALID_PARAMETER": ErrorSpec(400, "Correct the parameter named in details"),
    "TOO_MANY_COMMANDS": ErrorSpec(429, "Send it again when the result of another command has come"),
    "TOO_MANY_CONNECTIONS": ErrorSpec(
        503, "Close streams that you do not need, or start the relay with a larger limit: ulimit -n 4096"
    ),
    "STORAGE_FAILED": ErrorSpec(
        507, "Free some space on the disk of the data folder, or make the folder writable, and send it again"
    ),
    "SESSION_NOT_STARTED": ErrorSpec(
        503, "See what the message names (disk, memory, processes, open files), then send it again"
    ),
    "SHUTTING_DOWN": ErrorSpec(
        503, "Start the relay again; sessions that it was told to keep are there, with their ids"
    ),
    "INTERNAL_ERROR": ErrorSpec(500, "Report this with the request_id; the relay's log has the details"),
    "ROUTE_NOT_FOUND": ErrorSpec(404, "GET /api/v1/info lists the endpoints, /docs describes them"),
    "METHOD_NOT_ALLOWED": ErrorSpec(405, "Use one of the methods in details.allowed"),
    "PAYLOAD_TOO_LARGE": ErrorSpec(413, "Send a smaller body"),
    "UNSUPPORTED_MEDIA_TYPE": ErrorSpec(415, "Send the header Content-Type: application/json"),
    "HOST_NOT_ALLOWED": ErrorSpec(
        421, "Address the relay by a loopback name, http://127.0.0.1:PORT, or by the --host that it listens on"
    ),
    "ORIGIN_NOT_ALLOWED": ErrorSpec(
        403, "Web pages may not drive the relay; list trusted origins in OPENCODE_DEBUG_ALLOWED_ORIGINS"
    ),
    "OTHER_USER": ErrorSpec(
        403, "Start a relay of your own, or have this one started with: opencode-debugger serve --allow-other-users"
    ),
    "UNAUTHORIZED": ErrorSpec(
        401, "Send the header Authorization: Bearer TOKEN; `opencode-debugger token create` makes a token"
    ),
    "FORBIDDEN": ErrorSpec(
        403, "Use a token with the scopes in details.required_scopes: see opencode-debugger token create --help"
    ),
    "NOT_SUPPORTED": ErrorSpec(400, "GET /api/v1/info lists what this debugger can do"),
}


class RelayError(Exception):
    """A failure that a client is told about, as it is told."""

    def __init__(self, code: str, message: str, *, status: int | None = None, **details: Any) -> None:
        super().__init__(message)
        spec = CATALOGUE[code]
        self.code = code
        self.message = message
        self.status = status or spec.status
        self.details: dict[str, Any] = {"suggestion": spec.suggestion, **details}

    def to_dict(self) -> dict[str, Any]:
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
