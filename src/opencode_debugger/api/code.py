"""Routes about the program's code: source, modules, completions, hovers, and the exception it stopped on."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models import code as models
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import FrameId, SessionId, tagged

router = tagged("Inspection")

FRAME = (*SESSION, *STATE, "THREAD_NOT_FOUND", "FRAME_NOT_FOUND")


@router.get(
    "/sessions/{session_id}/source",
    operation_id="getSource",
    summary="Get source",
    responses=answers(models.Source, *FRAME, "SOURCE_NOT_FOUND"),
)
async def get_source(
    request: Request, session_id: SessionId, query: Annotated[models.SourceQuery, Query()]
) -> Response:
    """Source of the top frame, of another, or of a file of the session. At most 1000 lines, around the frame's own.

    A frame's code need not be in a file: see `origin`."""
    return await ask(request, session_id, "source", query.params())


@router.get(
    "/sessions/{session_id}/frames/{frame_id}/source",
    operation_id="getFrameSource",
    summary="Get a frame's source",
    responses=answers(models.Source, *FRAME, "SOURCE_NOT_FOUND"),
)
async def get_frame_source(
    request: Request, session_id: SessionId, frame_id: FrameId, query: Annotated[models.FrameSourceQuery, Query()]
) -> Response:
    """The same as source?frame_id=."""
    return await ask(request, session_id, "source", query.params() | {"frame_id": frame_id})


@router.get(
    "/sessions/{session_id}/modules",
    operation_id="listModules",
    summary="List modules",
    responses=answers(models.ModuleList, *SESSION, *STATE),
)
async def list_modules(
    request: Request, session_id: SessionId, query: Annotated[models.ModulesQuery, Query()]
) -> Response:
    """Modules that the program has loaded, while it runs too."""
    return await ask(request, session_id, "modules", query.params())


@router.get(
    "/sessions/{session_id}/exception",
    operation_id="getException",
    summary="Get exception",
    responses=answers(models.ExceptionDetails, *SESSION, *STATE, "FRAME_NOT_FOUND", "EXCEPTION_NOT_FOUND"),
)
async def get_exception(request: Request, session_id: SessionId) -> Response:
    """The exception that the program is stopped on: arguments, notes, frames, what led to it, members of a group."""
    return await ask(request, session_id, "exception")


@router.post(
    "/sessions/{session_id}/completions",
    operation_id="getCompletions",
    summary="Get completions",
    responses=answers(models.CompletionList, *BODY, *FRAME),
)
async def get_completions(request: Request, session_id: SessionId, body: models.CompletionsRequest) -> Response:
    """What may follow: names in scope, attributes after a dot, keys after `["`. Nothing of the program is run."""
    return await ask(request, session_id, "completions", body.params())


@router.post(
    "/sessions/{session_id}/hover",
    operation_id="getHover",
    summary="Get hover info",
    responses=answers(models.Hover, *BODY, *FRAME, "EVALUATE_ERROR"),
)
async def get_hover(request: Request, session_id: SessionId, body: models.HoverRequest) -> Response:
    """Value, type and, for functions, signature and documentation of an expression, or of the name at a place.

    By place no call is run: point at a function to see its signature."""
    return await ask(request, session_id, "hover", body.params())
