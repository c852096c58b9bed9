"""A session's output as server-sent events: read page by page from the runner, only as fast as the client takes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from ..errors import RelayError
from ..models.envelope import to_json
from ..models.queries import OutputStreamQuery
from .answers import SESSION, answers, relay_of

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = 15
PAGE = 200
LONGEST_ID = 4096
LAST_EVENT_ID: dict[str, Any] = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "Id of the last event that was read: the stream goes on after it. Browsers send it by themselves.",
    "schema": {"type": "string", "maxLength": LONGEST_ID, "pattern": "^[A-Za-z0-9_=-]*$"},
}
EVENT: dict[str, Any] = {
    "type": "object",
    "description": "One event of the stream.",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string", "enum": ["output", "dropped", "cleared", "terminated", "error"]},
        "data": {"type": "string", "description": "JSON, such as an entry of the output."},
        "id": {"type": "string", "description": "Cursor behind it, for Last-Event-ID."},
    },
}
STREAMED = answers(dict, *SESSION, "INVALID_SESSION_STATE", description="Events, until the program ends")
STREAMED[200] = {
    "description": STREAMED[200]["description"],
    "content": {EVENT_STREAM: {"schema": EVENT}},
}


class EventStream(StreamingResponse):
    media_type = EVENT_STREAM


async def follow(request: Request, session_id: str, query: OutputStreamQuery) -> EventStream:
    """The first page is read before the answer begins: what is wrong with the request is told as everywhere."""
    following = Following(request, session_id, query.category)
    given = request.headers.get("last-event-id")
    page = await (following.page_after_id(given) if given else following.page(query.cursor))
    return EventStream(following.frames(page), headers={"X-Accel-Buffering": "no"})


class Following:
    def __init__(self, request: Request, session_id: str, category: str | None) -> None:
        self._relay = relay_of(request)
        self._caller = request.scope["caller"]
        self._closing: asyncio.Event = request.app.state.closing
        self._session_id = session_id
        self._options = {"limit": PAGE, **({"category": category} if category else {})}

    async def page(self, cursor: str | None, timeout: float = 0) -> dict[str, Any]:
        self._caller.require("follow_output")  # again and again: a token may be revoked or expire meanwhile
        params = {**self._options, "timeout": timeout, **({"cursor": cursor} if cursor is not None else {})}
        answer = await self._relay.call(self._session_id, "follow_output", params)
        return dict(msgspec.json.decode(answer))

    async def page_after_id(self, given: str) -> dict[str, Any]:
        try:
            return await self.page(given[: LONGEST_ID + 1])
        except RelayError as error:
            if error.details.get("parameter") != "cursor":
                raise
            name, message = "Last-Event-ID", "This Last-Event-ID is not one that a stream of this session gave out"
            raise RelayError(
                "INVALID_PARAMETER",
                message,
                parameter=name,
                errors=[{"field": name, "message": message, "value": given[:200]}],
                suggestion="Leave the header out to start at the beginning, or send the id of the last event",
            ) from None

    async def frames(self, page: dict[str, Any]) -> AsyncIterator[bytes]:
        yield b": output of the session\n\n"
        try:
            while True:
                yield frames_of(page)
                if page["end"] is not None:
                    yield frame("terminated", page["end"], page["next_cursor"])
                    return
                following = await self._next(page)
                if following is None:
                    return
                page = following
        except RelayError as error:
            yield frame("error", error.to_dict())

    async def _next(self, page: dict[str, Any]) -> dict[str, Any] | None:
        """The next page, or nothing when the relay is closing: whoever follows comes back with the last id."""
        if page["has_more"]:
            return await self.page(page["next_cursor"])
        asking = asyncio.ensure_future(self.page(page["next_cursor"], KEEP_ALIVE))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait([asking, closing], return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else None
        finally:
            asking.cancel()
            closing.cancel()


def frames_of(page: dict[str, Any]) -> bytes:
    frames = [frame(name, {"count": page[name]}) for name in ("dropped", "cleared") if page[name]]
    for entry in page["entries"]:
        shown = {name: entry[name] for name in ("category", "output", "timestamp")}
        frames.append(frame("output", shown, entry["cursor"]))
    return b"".join(frames) or b": nothing new\n\n"


def frame(event: str, data: dict[str, Any], id: str | None = None) -> bytes:
    """JSON has no line breaks, so one data line is enough."""
    head = f"id: {id}\nevent: {event}\n" if id else f"event: {event}\n"
    return head.encode() + b"data: " + to_json(data) + b"\n\n"
