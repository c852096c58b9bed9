"""Routes that create, list, show and delete sessions."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.portable import ImportSessionRequest, SessionDocument
from ..models.queries import DeleteQuery, ExportQuery, PageQuery, StopReportQuery
from ..models.sessions import (
    CloneSessionRequest,
    CreateSessionRequest,
    Pong,
    Session,
    SessionCreated,
    SessionDeleted,
    SessionImported,
    SessionList,
    SessionStatus,
    UpdateSessionRequest,
)
from ..models.stops import StopReport
from .answers import ATTACH, BODY, NEW_SESSION, SESSION, STATE, answers, ask, enveloped, relay_of
from .parameters import SessionId, tagged

router = tagged("Sessions")


@router.post(
    "/sessions",
    operation_id="createSession",
    summary="Create session",
    status_code=201,
    responses=answers(SessionCreated, *BODY, *NEW_SESSION, *ATTACH, status=201, description="Session created"),
)
async def create_session(request: Request, body: CreateSessionRequest | None = None) -> Response:
    """Create a session: the context in which one program is launched or attached to. The body may be left out.

    With `"mode": "attach"` and `pid`, or `host` and `port`, it attaches in the same call."""
    options = body or CreateSessionRequest()
    return enveloped(await relay_of(request).create_session(options.params()), 201)


@router.post(
    "/sessions/import",
    operation_id="importSession",
    summary="Import session",
    status_code=201,
    responses=answers(
        SessionImported,
        *BODY,
        "BREAKPOINT_INVALID_CONDITION",
        *NEW_SESSION,
        status=201,
        description="Session created",
    ),
)
async def import_session(request: Request, body: ImportSessionRequest) -> Response:
    """Create a session from an exported one, of this relay or another.

    `project_root` and `path_map` say where things are here. `warnings` lists what could not be taken over."""
    return enveloped(await relay_of(request).import_session(body.params()), 201)


@router.get("/sessions", operation_id="listSessions", summary="List sessions", responses=answers(SessionList))
async def list_sessions(request: Request, query: Annotated[PageQuery, Query()]) -> Response:
    """Sessions, oldest first, a page at a time."""
    listed = relay_of(request).list_sessions(query.status, query.offset, query.limit, query.parent_session_id)
    return enveloped(await listed)


@router.get(
    "/sessions/{session_id}",
    operation_id="getSession",
    summary="Get session",
    responses=answers(Session, *SESSION),
)
async def get_session(request: Request, session_id: SessionId) -> Response:
    """Everything about a session; the token of its tunnel only for callers with the scope sessions:write."""
    may_enter = request.scope["caller"].may("tunnel")
    return await ask(request, session_id, "info", {"with_token": True} if may_enter else {})


@router.patch(
    "/sessions/{session_id}",
    operation_id="updateSession",
    summary="Change session",
    responses=answers(Session, *BODY, *SESSION, *STATE),
)
async def update_session(request: Request, session_id: SessionId, body: UpdateSessionRequest) -> Response:
    """Change the name, the idle time or `stop_on_entry` at any time; project and interpreter before the launch.

    All that is given is changed, or nothing."""
    return enveloped(await relay_of(request).update_session(session_id, body.params()))


@router.delete(
    "/sessions/{session_id}",
    operation_id="deleteSession",
    summary="Delete session",
    responses=answers(SessionDeleted, *SESSION),
)
async def delete_session(request: Request, session_id: SessionId, query: Annotated[DeleteQuery, Query()]) -> Response:
    """End the session, its program and everything that it started. A program that was attached to runs on.

    Of a child's session (`parent_session_id`) only that child's process ends."""
    return enveloped(await relay_of(request).delete_session(session_id, query.force))


@router.get(
    "/sessions/{session_id}/status",
    operation_id="getSessionStatus",
    summary="Get status",
    responses=answers(SessionStatus, *SESSION),
)
async def get_status(request: Request, session_id: SessionId) -> Response:
    """The state in short: cheap enough to poll."""
    return await ask(request, session_id, "status")


@router.get(
    "/sessions/{session_id}/report",
    operation_id="getStopReport",
    summary="Get stop report",
    responses=answers(StopReport, *SESSION, *STATE),
)
async def get_report(request: Request, session_id: SessionId, query: Annotated[StopReportQuery, Query()]) -> Response:
    """The report of the last stop again, as continue and the steps return it. With `wait`: of the next, if running."""
    return await ask(request, session_id, "report", query.params())


@router.get(
    "/sessions/{session_id}/ping",
    operation_id="pingSession",
    summary="Keep alive",
    responses=answers(Pong, *SESSION),
)
async def ping(request: Request, session_id: SessionId) -> Response:
    """Start the session's idle time anew."""
    return await ask(request, session_id, "ping")


@router.post(
    "/sessions/{session_id}/clone",
    operation_id="cloneSession",
    summary="Clone session",
    status_code=201,
    responses=answers(
        SessionImported,
        *BODY,
        *SESSION,
        *STATE,
        *NEW_SESSION,
        status=201,
        description="Session created",
    ),
)
async def clone_session(request: Request, session_id: SessionId, body: CloneSessionRequest | None = None) -> Response:
    """A new session with the same configuration and breakpoints. Launched without a program, it runs the same again."""
    name = body.name if body else None
    return enveloped(await relay_of(request).clone_session(session_id, name), 201)


@router.get(
    "/sessions/{session_id}/export",
    operation_id="exportSession",
    summary="Export session",
    responses=answers(SessionDocument, *SESSION, *STATE),
)
async def export_session(request: Request, session_id: SessionId, query: Annotated[ExportQuery, Query()]) -> Response:
    """Configuration, launch and breakpoints as a document that `POST /sessions/import` takes, here or elsewhere."""
    return enveloped(await relay_of(request).export_session(session_id, query.include_env))
