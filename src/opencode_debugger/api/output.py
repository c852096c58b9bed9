"""Routes that read what the program wrote and what happened to it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.queries import EventsQuery, OutputQuery
from ..models.streams import EventPage, EventStreamQuery, OutputCleared, OutputPage, OutputStreamQuery
from . import sse
from .answers import SESSION, answers, ask
from .parameters import SessionId, tagged

router = tagged("Output")


@router.get(
    "/sessions/{session_id}/output",
    operation_id="getOutput",
    summary="Get output",
    responses=answers(OutputPage, *SESSION),
)
async def get_output(request: Request, session_id: SessionId, query: Annotated[OutputQuery, Query()]) -> Response:
    """What the program wrote, from a cursor on. A page has about 1 MB of text at most: see `has_more`."""
    return await ask(request, session_id, "output", query.params())


@router.delete(
    "/sessions/{session_id}/output",
    operation_id="clearOutput",
    summary="Clear output",
    responses=answers(OutputCleared, *SESSION),
)
async def clear_output(request: Request, session_id: SessionId) -> Response:
    """Remove what the program wrote so far, for everybody. Cursors stay good: they go on after it."""
    return await ask(request, session_id, "clear_output")


@router.get(
    "/sessions/{session_id}/output/stream",
    operation_id="streamOutput",
    summary="Stream output",
    response_class=Response,
    responses=sse.OUTPUT,
    openapi_extra={"parameters": [sse.LAST_EVENT_ID]},
)
async def stream_output(
    request: Request, session_id: SessionId, query: Annotated[OutputStreamQuery, Query()]
) -> Response:
    """What the program wrote and writes, as server-sent events, until it ends.

    Events: `output` (its `id` is a cursor), `dropped`, `cleared`, `terminated`, and `error` if the session is gone."""
    return await sse.follow_output(request, session_id, query)


@router.get(
    "/sessions/{session_id}/events",
    operation_id="pollEvents",
    summary="Poll events",
    responses=answers(EventPage, *SESSION),
)
async def poll_events(request: Request, session_id: SessionId, query: Annotated[EventsQuery, Query()]) -> Response:
    """What happened, from a cursor on. With `timeout` it waits for the next event.

    A page has about 1 MB at most: see `has_more`."""
    return await ask(request, session_id, "events", query.params())


@router.get(
    "/sessions/{session_id}/events/stream",
    operation_id="streamEvents",
    summary="Stream events",
    response_class=Response,
    responses=sse.EVENTS,
    openapi_extra={"parameters": [sse.LAST_EVENT_ID]},
)
async def stream_events(
    request: Request, session_id: SessionId, query: Annotated[EventStreamQuery, Query()]
) -> Response:
    """What happened and happens, as server-sent events, until the session is gone: the program may be restarted.

    Each event is named by its type and has the same data as over the WebSocket `/debug`; its `id` is a cursor. Besides
    these there are `dropped`, `cleared`, and `error` if the session is gone."""
    return await sse.follow_events(request, session_id, query)
