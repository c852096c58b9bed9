"""A session's output and events as server-sent events, sent only as fast as the client takes them."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from ...errors import RelayError
from ...models.envelope import Message, encode, encode_message, to_json
from ...relay.followers import KEEP_ALIVE, EntryT, Following, Happened, Page, Reader, Written, events_of, output_of
from ...relay.session_feed import SessionsFollowing

EVENT_STREAM = "text/event-stream"
LONGEST_ID = 4096


class EventStream(StreamingResponse):
    media_type = EVENT_STREAM

    def __init__(self, frames: AsyncIterator[bytes]) -> None:
        super().__init__(frames, headers={"X-Accel-Buffering": "no"})


async def follow_output(request: Request, params: dict[str, Any]) -> EventStream:
    reader, cursor = reader_of(request, params.pop("session_id")), params.pop("cursor", None)
    following = output_of(reader, **params)
    page = await first_page(request, following, cursor)
    return EventStream(as_frames(following, page, output_frames))


async def follow_events(request: Request, params: dict[str, Any]) -> EventStream:
    reader, cursor = reader_of(request, params.pop("session_id")), params.pop("cursor", None)
    replay = params.pop("replay")
    following = events_of(reader, **params)
    page = await first_page(request, following, cursor, from_now=not replay)
    return EventStream(as_frames(following, page, partial(event_frames, reader.session_id)))


async def follow_sessions(request: Request, params: dict[str, Any]) -> EventStream:
    state, require = request.app.state, request.scope["caller"].require
    return EventStream(session_frames(state.relay.follow_sessions(state.closing), partial(require, "follow_sessions")))


async def session_frames(following: SessionsFollowing, require: Callable[[], None]) -> AsyncIterator[bytes]:
    changes = await following.next_changes(0)
    yield event_frame("sessions", to_json({"items": changes.changed if changes else []}))
    try:
        while (changes := await following.next_changes(KEEP_ALIVE)) is not None:
            require()
            frames = [event_frame("session_changed", to_json(item)) for item in changes.changed]
            frames += [event_frame("session_deleted", to_json({"session_id": gone})) for gone in changes.deleted]
            yield b"".join(frames) or b": nothing new\n\n"
    except RelayError as error:
        yield event_frame("error", to_json(error.to_dict()))


def reader_of(request: Request, session_id: str) -> Reader:
    state = request.app.state
    return Reader(state.relay, session_id, state.closing, request.scope["caller"].require)


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
        errors = [{"field": name, "message": text, "value": given[:200]}]
        suggestion = "Leave the header out to start at the beginning, or send the id of the last event"
        raise RelayError("INVALID_PARAMETER", text, parameter=name, errors=errors, suggestion=suggestion) from None


def output_frames(page: Page[Written]) -> list[bytes]:
    frames = [event_frame(name, to_json({"count": count})) for name, count in page.missing_entries]
    for entry in page.entries:
        shown = {"category": entry.category, "output": entry.output, "timestamp": entry.timestamp}
        frames.append(event_frame("output", encode(shown), entry.cursor))
    return frames


def event_frames(session_id: str, page: Page[Happened]) -> list[bytes]:
    frames = []
    for name, count in page.missing_entries:
        frames.append(event_frame(name, encode_message(session_id, name, {"count": count})))
    for entry in page.entries:
        told = Message(session_id, entry.type, entry.body, entry.timestamp)
        frames.append(event_frame(entry.type, encode(told), entry.cursor))
    return frames


async def as_frames(
    following: Following[EntryT], first: Page[EntryT], frames: Callable[[Page[EntryT]], list[bytes]]
) -> AsyncIterator[bytes]:
    """If the relay is closing they just end: whoever follows comes back with the last id."""
    yield b": of the session\n\n"
    try:
        async for page in following.pages(first):
            yield b"".join(frames(page)) or b": nothing new\n\n"
            if page.end is not None:
                yield event_frame("terminated", to_json(page.end), page.next_cursor)
                return
    except RelayError as error:
        yield event_frame("error", to_json(error.to_dict()))


def event_frame(event: str, data: bytes, id: str | None = None) -> bytes:
    """JSON has no line breaks, so one data line is enough."""
    head = f"id: {id}\nevent: {event}\ndata: " if id else f"event: {event}\ndata: "
    return head.encode() + data + b"\n\n"
