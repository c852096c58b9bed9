"""Routes of watches: expressions that every stop report evaluates."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.queries import ScopesQuery
from ..models.watches import WatchesRemoved, WatchList, WatchRequest, WatchValue
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import SessionId, WatchId, tagged

router = tagged("Inspection")

FRAME = ("THREAD_NOT_FOUND", "FRAME_NOT_FOUND")


@router.post(
    "/sessions/{session_id}/watch",
    operation_id="addWatch",
    summary="Add watch",
    responses=answers(WatchValue, *BODY, *SESSION, *STATE, *FRAME, "EVALUATE_ERROR"),
)
async def add_watch(request: Request, session_id: SessionId, body: WatchRequest) -> Response:
    """Watch an expression: every stop report has its value, and says if it changed. In any state of the session.

    The same expression again is the same watch. While the program is paused the answer has its value."""
    return await ask(request, session_id, "add_watch", body.params())


@router.get(
    "/sessions/{session_id}/watch",
    operation_id="listWatches",
    summary="List watches",
    responses=answers(WatchList, *SESSION, *STATE, *FRAME),
)
async def list_watches(request: Request, session_id: SessionId, query: Annotated[ScopesQuery, Query()]) -> Response:
    """Every watch, with its value in a frame while the program is paused."""
    return await ask(request, session_id, "list_watches", query.params())


@router.delete(
    "/sessions/{session_id}/watch",
    operation_id="clearWatches",
    summary="Remove all watches",
    responses=answers(WatchesRemoved, *SESSION, *STATE),
)
async def clear_watches(request: Request, session_id: SessionId) -> Response:
    """Remove every watch."""
    return await ask(request, session_id, "clear_watches")


@router.delete(
    "/sessions/{session_id}/watch/{watch_id}",
    operation_id="removeWatch",
    summary="Remove watch",
    responses=answers(WatchesRemoved, *SESSION, *STATE, "WATCH_NOT_FOUND"),
)
async def remove_watch(request: Request, session_id: SessionId, watch_id: WatchId) -> Response:
    """Remove one watch."""
    return await ask(request, session_id, "remove_watch", {"watch_id": watch_id})
