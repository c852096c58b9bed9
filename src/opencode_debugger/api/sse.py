"""A session's output and events as server-sent events, sent only as fast as the client takes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from ..errors import RelayError
from ..models.envelope import to_json
from ..models.streams import EventStreamQuery, Message, OutputStreamQuery, encode, message
from ..relay.following import EntryT, Following, Happened, Page, Written, events_of, output_of
from .answers import SESSION, answers, relay_of

EVENT_STREAM = "text/event-stream"
LONGEST_ID = 4096
LAST_EVENT_ID: dict[str, Any] = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Id of the last event that was read: the stream goes on after it. Browsers send it by themselves.",
    "schema": {"type": "string", "maxLength": LONGEST_ID, "pattern": "^[A-Za-z0-9_=-]*$"},
}


def streamed(description: str, event: dict[str, Any]) -> dict[int | str, Any]:
    """OpenAPI responses of a route that streams."""
    schema = {
        "type": "object",
        "description": "One event of the stream.",
        "required": ["event", "data"],
        "properties": {
            "event": {"type": "string", **event},
            "data": {"type": "string", "description": "JSON, such as an entry of the output."},
            "id": {"type": "string", "description": "Cursor behind it, for Last-Event-ID."},
        },
    }
    described = answers(dict, *SESSION, "INVALID_SESSION_STATE", description=description)
    described[200] = {"description": description, "content": {EVENT_STREAM: {"schema": schema}}}
    return described


OUTPUT = streamed("Events, until the program ends", {"enum": ["output", "dropped", "cleared", "terminated", "error"]})
EVENTS = streamed("Events, until the session is gone", {"description": "Type of the event."})


class EventStream(StreamingResponse):
    media_type = EVENT_STREAM

    def __init__(self, frames: AsyncIterator[bytes]) -> None:
        super().__init__(frames, headers={"X-Accel-Buffering": "no"})


async def follow_output(request: Request, session_id: str, query: OutputStreamQuery) -> EventStream:
    following = output_of(relay_of(request), request.app.state.closing, session_id)
    following.require = request.scope["caller"].require
    if query.category:
        following.options["category"] = query.category
    page = await first_page(request, following, query.cursor)
    return EventStream(as_frames(following, page, output_frames))


async def follow_events(request: Request, session_id: str, query: EventStreamQuery) -> EventStream:
    following = events_of(relay_of(request), request.app.state.closing, session_id)
    following.require = request.scope["caller"].require
    following.options |= query.options()
    page = await first_page(request, following, query.cursor, from_now=not query.replay)
    return EventStream(as_frames(following, page, partial(event_frames, session_id)))


async def first_page(
    request: Request, following: Following[EntryT], cursor: str | None, **options: Any
) -> Page[EntryT]:
    """Read before the answer begins: what is wrong with the request is told as everywhere."""
    given = request.headers.get("last-event-id")
    if not given:
        return await following.page(cursor, **options)
    try:
        return await following.page(given[: LONGEST_ID + 1])
    except RelayError as error:
        if error.details.get("parameter") != "cursor":
            raise
        name, text = "Last-Event-ID", "This Last-Event-ID is not one that a stream of this session gave out"
        raise RelayError(
            "INVALID_PARAMETER",
            text,
            parameter=name,
            errors=[{"field": name, "message": text, "value": given[:200]}],
            suggestion="Leave the header out to start at the beginning, or send the id of the last event",
        ) from None


def output_frames(page: Page[Written]) -> list[bytes]:
    missing = [frame(name, to_json({"count": count})) for name, count in page.missing]
    return missing + [
        frame(
            "output",
            encode({"category": entry.category, "output": entry.output, "timestamp": entry.timestamp}),
            entry.cursor,
        )
        for entry in page.entries
    ]


def event_frames(session_id: str, page: Page[Happened]) -> list[bytes]:
    missing = [frame(name, message(session_id, name, {"count": count})) for name, count in page.missing]
    return missing + [
        frame(entry.type, encode(Message(session_id, entry.type, entry.body, entry.timestamp)), entry.cursor)
        for entry in page.entries
    ]


async def as_frames(
    following: Following[EntryT], first: Page[EntryT], frames: Callable[[Page[EntryT]], list[bytes]]
) -> AsyncIterator[bytes]:
    """If the relay is closing they just end: whoever follows comes back with the last id."""
    yield b": of the session\n\n"
    try:
        async for page in following.pages(first):
            yield b"".join(frames(page)) or b": nothing new\n\n"
            if page.end is not None:
                yield frame("terminated", to_json(page.end), page.next_cursor)
                return
    except RelayError as error:
        yield frame("error", to_json(error.to_dict()))


def frame(event: str, data: bytes, id: str | None = None) -> bytes:
    """JSON has no line breaks, so one data line is enough."""
    head = f"id: {id}\nevent: {event}\ndata: " if id else f"event: {event}\ndata: "
    return head.encode() + data + b"\n\n"
