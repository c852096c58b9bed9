"""How an operation is declared."""

import re
from functools import cached_property, partial
from typing import Any

import msgspec

from .scopes import WRITE
from .states import ONLY_PAUSED, ONLY_RUNNING, State

COMMON = (
    "INVALID_PARAMETER", "UNAUTHORIZED", "FORBIDDEN", "ORIGIN_NOT_ALLOWED", "PAYLOAD_TOO_LARGE", "HOST_NOT_ALLOWED",
    "INTERNAL_ERROR",
)
"""Errors that every route can give."""
BODY = ("INVALID_REQUEST", "UNSUPPORTED_MEDIA_TYPE")
SESSION = ("SESSION_NOT_FOUND", "SESSION_EXPIRED", "DEBUGPY_ERROR", "DEBUGPY_TIMEOUT", "SHUTTING_DOWN")
NEW_SESSION = ("SESSION_LIMIT_REACHED", "SESSION_NOT_STARTED", "SHUTTING_DOWN")
STATE = ("INVALID_SESSION_STATE", "NOT_SUPPORTED")
FRAME = ("THREAD_NOT_FOUND", "FRAME_NOT_FOUND")
LAUNCH = ("LAUNCH_SCRIPT_NOT_FOUND", "LAUNCH_SYNTAX_ERROR", "LAUNCH_FAILED")
ATTACH = ("ATTACH_FAILED", "ATTACH_REFUSED", "ATTACH_TIMEOUT", "DEBUGPY_ERROR", "DEBUGPY_TIMEOUT")
REFUSED_BREAKPOINT = (
    "BREAKPOINT_INVALID_LINE", "BREAKPOINT_INVALID_CONDITION", "BREAKPOINT_FILE_NOT_FOUND",
    "BREAKPOINT_FUNCTION_NOT_FOUND",
)
UNREADABLE_PROFILE = ("PROFILE_NOT_FOUND", "PROFILE_UNREADABLE")

ID = "session_id"


class Route(msgspec.Struct, frozen=True, dict=True):
    """One spelling of an operation in REST. What it leaves out is as the operation says."""

    method: str
    path: str
    name: str
    """in the API's description, for generated clients"""
    query: str | None = None
    """model of query parameters beside the body"""
    takes: str | None = None
    summary: str | None = None
    description: str | None = None
    errors: tuple[str, ...] | None = None
    status: int = 200
    renamed: dict[str, str] = {}
    """path parameters that the operation calls otherwise"""

    @cached_property
    def path_names(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH")


def declare_route(method: str, path: str, name: str, **options: Any) -> Route:
    """Declare one; a path that does not begin with `/` is below that of a session."""
    return Route(method, path if path.startswith("/") else f"/sessions/{{{ID}}}/{path}", name, **options)


get, post, put, patch, delete = (partial(declare_route, method) for method in ("GET", "POST", "PUT", "PATCH", "DELETE"))


class Operation(msgspec.Struct, frozen=True):
    name: str
    summary: str
    description: str
    scopes: tuple[str, ...]
    """which a token must have, all of them"""
    by_session: str = ""
    """the method of a session that does it, by the attributes that lead to it"""
    by_relay: str = ""
    """the method of the relay that does it, if it is more than one question to a session"""
    states: frozenset[State] | None = None
    """in which it is allowed; None: always"""
    does: str = ""
    """what cannot be done in other states, if its name does not say it"""
    takes: str | None = None
    """model of its parameters, as module:Class of models/requests: the body, or the query of a route without one"""
    may_be_empty: bool = False
    """a body may be left out"""
    answer: str | None = None
    """model of its answer, as module:Class of models/answers"""
    outcome: str = "Done"
    """what an answer means"""
    errors: tuple[str, ...] = ()
    """codes that it can give besides those of every route, body, session, and of states in which it is not allowed"""
    routes: tuple[Route, ...] = ()
    command: str = ""
    """how advice spells it as a command, and as a tool of the MCP server: see door_words.py"""
    tool: str = ""
    also_called: tuple[str, ...] = ()
    """further names on the WebSocket"""
    action_takes: str | None = None
    """model of its parameters on the WebSocket, if it is another one"""
    optional_ids: tuple[str, ...] = ()
    """ids that an action may have, and that further routes have in their paths"""
    if_allowed: dict[str, str] = {}
    """parameters that are true for whoever may carry out another operation, too"""
    is_passive: bool = False
    """does not count as activity: looking at a session does not keep it alive, or nobody would see that it expires"""
    is_stream: bool = False
    """goes on until somebody has had enough, and only reads: it can be cut short at any point"""
    is_file: bool = False
    """a stream that is a file to download, in place of events"""
    is_told_of_lost: bool = False
    """can be answered for a session whose runner has died"""
    starts_program: bool = False
    changes_breakpoints: bool = False
    ends_though_stopped: bool = False
    """comes to an end also if the program's process is stopped by a signal"""
    passes_wheel: bool = False
    """needs sessions:write, and is done all the same while somebody else has the wheel: it changes nothing"""
    is_routine: bool = False
    """is no news to whoever reads the timeline: it keeps up with the session, or the relay asks by itself"""

    @property
    def said(self) -> str:
        return self.does or self.name.replace("_", "-")

    @property
    def needs_debugger(self) -> bool:
        return self.states in (ONLY_PAUSED, ONLY_RUNNING)

    @property
    def needs_wheel(self) -> bool:
        """Tell whether it is refused while another client has the wheel: it changes or moves something."""
        return WRITE in self.scopes and not self.passes_wheel

    @property
    def is_noted(self) -> bool:
        """Tell whether the timeline has it."""
        return not (self.is_passive or self.is_stream or self.is_routine)

    @property
    def moves_program(self) -> bool:
        """Tell whether it makes the program run or stop: it answers with what came of that."""
        return WRITE in self.scopes and (self.answer or "").startswith("stop_reports:")

    @property
    def is_action(self) -> bool:
        """Tell whether the WebSocket of a session offers it."""
        return bool(self.routes) and ID in self.routes[0].path_names and not self.is_stream

    def errors_of(self, route: Route) -> tuple[str, ...]:
        body = BODY if self.body_of(route) else ()
        session = SESSION if ID in route.path_names else ()
        state = STATE if self.states is not None else ()
        wheel = ("WHEEL_TAKEN",) if self.needs_wheel and ID in route.path_names else ()
        return (*COMMON, *body, *session, *state, *wheel, *(self.errors if route.errors is None else route.errors))

    def body_of(self, route: Route) -> str | None:
        return (route.takes or self.takes) if route.has_body else None

    def query_of(self, route: Route) -> str | None:
        return route.query if route.has_body else (route.takes or self.takes)
