"""A session's output or events for somebody who goes on reading: page by page, only as fast as he takes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

KEEP_ALIVE = 15
"""Seconds after which a reader gets an empty page if nothing happens."""
PAGE = 1000


class Written(msgspec.Struct, gc=False):
    """A piece of output."""

    category: str
    output: str
    timestamp: str
    cursor: str | None = None
    """behind it"""


class Happened(msgspec.Struct, gc=False):
    """An event. Its body stays as it came."""

    cursor: str
    type: str
    timestamp: str
    body: msgspec.Raw


EntryT = TypeVar("EntryT", Written, Happened)


class Page(msgspec.Struct, Generic[EntryT]):
    entries: list[EntryT]
    next_cursor: str
    has_more: bool
    dropped: int
    """how many entries fell out before they could be read"""
    cleared: int
    """how many a client removed"""
    end: dict[str, Any] | None = None
    """how the program ended, after its last output"""

    @property
    def missing(self) -> list[tuple[str, int]]:
        """Why entries before these are not here, and how many."""
        return [(why, count) for why, count in (("dropped", self.dropped), ("cleared", self.cleared)) if count]


class Sessions(Protocol):
    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes: ...


class Following(Generic[EntryT]):
    def __init__(
        self, sessions: Sessions, closing: asyncio.Event, session_id: str, operation: str, entry: type[EntryT]
    ) -> None:
        self._sessions = sessions
        self._closing = closing
        self._session_id = session_id
        self._operation = operation
        self._decode: Callable[[bytes], Page[EntryT]] = msgspec.json.Decoder(Page[entry]).decode  # type: ignore
        self.options: dict[str, Any] = {"limit": PAGE}
        self.require: Callable[[str], None] = lambda operation: None
        """asked before each page: a token may be revoked or expire meanwhile"""

    async def page(self, cursor: str | None, timeout: float = 0, **options: Any) -> Page[EntryT]:
        """Without a timeout what is there already, else at least one entry, or nothing when the time is up."""
        self.require(self._operation)
        asked = {**self.options, "timeout": timeout, "cursor": cursor, **options}
        return self._decode(await self._sessions.call(self._session_id, self._operation, asked))

    async def pages(self, first: Page[EntryT]) -> AsyncIterator[Page[EntryT]]:
        """This page and all that follow, an empty one now and then; until the relay is closing."""
        page: Page[EntryT] | None = first
        while page is not None:
            yield page
            page = await self._after(page)

    async def _after(self, page: Page[EntryT]) -> Page[EntryT] | None:
        if page.has_more:
            return await self.page(page.next_cursor)
        asking = asyncio.ensure_future(self.page(page.next_cursor, KEEP_ALIVE))
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())  # also if nobody is left to see it
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait([asking, closing], return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else None
        finally:
            asking.cancel()
            closing.cancel()


def output_of(sessions: Sessions, closing: asyncio.Event, session_id: str) -> Following[Written]:
    return Following(sessions, closing, session_id, "follow_output", Written)


def events_of(sessions: Sessions, closing: asyncio.Event, session_id: str) -> Following[Happened]:
    return Following(sessions, closing, session_id, "follow_events", Happened)
