"""Routes that say on which exceptions the program stops."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..models.exception_breakpoints import (
    ExceptionBreakpointList,
    ExceptionBreakpointRequest,
    ExceptionBreakpointSet,
    ExceptionBreakpointsRemoved,
)
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import BreakpointId, SessionId, tagged

router = tagged("Breakpoints")


@router.post(
    "/sessions/{session_id}/exception-breakpoints",
    operation_id="setExceptionBreakpoint",
    summary="Set exception breakpoint",
    responses=answers(ExceptionBreakpointSet, *BODY, *SESSION, *STATE, "BREAKPOINT_INVALID_CONDITION"),
)
async def set_exception_breakpoint(
    request: Request, session_id: SessionId, body: ExceptionBreakpointRequest
) -> Response:
    """Stop on exceptions: on all, or on those of some classes, or those that meet a condition.

    Adds to what is there; for the same classes and filters it replaces. Works before launch and at any time."""
    return await ask(request, session_id, "set_exception_breakpoint", body.params())


@router.get(
    "/sessions/{session_id}/exception-breakpoints",
    operation_id="listExceptionBreakpoints",
    summary="List exception breakpoints",
    responses=answers(ExceptionBreakpointList, *SESSION, *STATE),
)
async def list_exception_breakpoints(request: Request, session_id: SessionId) -> Response:
    """On which exceptions the program stops; the launch option stop_on_exception is among them."""
    return await ask(request, session_id, "list_exception_breakpoints")


@router.delete(
    "/sessions/{session_id}/exception-breakpoints",
    operation_id="removeExceptionBreakpoints",
    summary="Remove all exception breakpoints",
    responses=answers(ExceptionBreakpointsRemoved, *SESSION, *STATE),
)
async def remove_exception_breakpoints(request: Request, session_id: SessionId) -> Response:
    """Stop on no exception any more."""
    return await ask(request, session_id, "remove_exception_breakpoints")


@router.delete(
    "/sessions/{session_id}/exception-breakpoints/{breakpoint_id}",
    operation_id="removeExceptionBreakpoint",
    summary="Remove one exception breakpoint",
    responses=answers(ExceptionBreakpointsRemoved, *SESSION, *STATE, "BREAKPOINT_NOT_FOUND"),
)
async def remove_exception_breakpoint(request: Request, session_id: SessionId, breakpoint_id: BreakpointId) -> Response:
    """Remove one of them."""
    return await ask(request, session_id, "remove_exception_breakpoints", {"id": breakpoint_id})
