"""Routes that set, change, list and remove breakpoints."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.breakpoints import (
    BreakpointChanged,
    BreakpointList,
    BreakpointRemoved,
    BreakpointsBody,
    BreakpointsRemoved,
    BreakpointsSet,
    ChangeBreakpointRequest,
)
from ..models.queries import BreakpointQuery
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import BreakpointId, SessionId, tagged

router = tagged("Breakpoints")

REFUSED = (
    "BREAKPOINT_INVALID_LINE",
    "BREAKPOINT_INVALID_CONDITION",
    "BREAKPOINT_FILE_NOT_FOUND",
    "BREAKPOINT_FUNCTION_NOT_FOUND",
)


@router.post(
    "/sessions/{session_id}/breakpoints",
    operation_id="setBreakpoints",
    summary="Set breakpoints",
    responses=answers(BreakpointsSet, *BODY, *SESSION, *STATE, *REFUSED, description="Breakpoints set"),
)
async def set_breakpoints(
    request: Request, session_id: SessionId, body: Annotated[BreakpointsBody, Body()]
) -> Response:
    """Add breakpoints, or replace those at the same file and line: a list of them, or one bare breakpoint.

    Works before launch too. All of a list are set, or none."""
    return await ask(request, session_id, "set_breakpoints", body.params())


@router.get(
    "/sessions/{session_id}/breakpoints",
    operation_id="listBreakpoints",
    summary="List breakpoints",
    responses=answers(BreakpointList, *SESSION),
)
async def list_breakpoints(
    request: Request, session_id: SessionId, query: Annotated[BreakpointQuery, Query()]
) -> Response:
    """Every breakpoint with its hit count."""
    return await ask(request, session_id, "list_breakpoints", query.params())


@router.patch(
    "/sessions/{session_id}/breakpoints/{breakpoint_id}",
    operation_id="changeBreakpoint",
    summary="Change breakpoint",
    responses=answers(BreakpointChanged, *BODY, *SESSION, *STATE, *REFUSED, "BREAKPOINT_NOT_FOUND"),
)
async def change_breakpoint(
    request: Request, session_id: SessionId, breakpoint_id: BreakpointId, body: ChangeBreakpointRequest
) -> Response:
    """Change what is named in the body and nothing else; switch it off and on. Its id stays."""
    return await ask(request, session_id, "change_breakpoint", {"breakpoint_id": breakpoint_id, **body.params()})


@router.delete(
    "/sessions/{session_id}/breakpoints",
    operation_id="clearBreakpoints",
    summary="Remove all breakpoints",
    responses=answers(BreakpointsRemoved, *SESSION, *STATE),
)
async def clear_breakpoints(request: Request, session_id: SessionId) -> Response:
    """Remove every breakpoint, restored ones included; those on exceptions stay."""
    return await ask(request, session_id, "clear_breakpoints")


@router.delete(
    "/sessions/{session_id}/breakpoints/{breakpoint_id}",
    operation_id="removeBreakpoint",
    summary="Remove breakpoint",
    responses=answers(BreakpointRemoved, *SESSION, *STATE, "BREAKPOINT_NOT_FOUND"),
)
async def remove_breakpoint(request: Request, session_id: SessionId, breakpoint_id: BreakpointId) -> Response:
    """Remove one breakpoint."""
    return await ask(request, session_id, "remove_breakpoint", {"breakpoint_id": breakpoint_id})
