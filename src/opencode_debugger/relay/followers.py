"""A session's output or events for somebody who goes on reading: page by page, only as fast as he takes them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from .service import Relay

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
    def missing_entries(self) -> list[tuple[str, int]]:
        """Why entries before these are not here, and how many."""
        return [(why, count) for why, count in (("dropped", self.dropped), ("cleared", self.cleared)) if count]


@dataclass(frozen=True)
class Reader:
    """Somebody who follows a session."""

    relay: Relay
    session_id: str
    closing: asyncio.Event
    """set when the relay is about to end"""
    require: Callable[[str], None]
    """says whether an operation is still allowed"""


class Following(Generic[EntryT]):
    """Reads on for a reader who is asked for before each page: a token may be revoked or expire meanwhile."""

    def __init__(self, reader: Reader, operation: str, entry: type[EntryT], options: dict[str, Any]) -> None:
        self._reader = reader
        self._operation = operation
        self._decode: Callable[[bytes], Page[EntryT]] = msgspec.json.Decoder(Page[entry]).decode  # type: ignore
        self._options = {"limit": PAGE, **options}

    async def page(self, cursor: str | None, timeout: float = 0, **options: Any) -> Page[EntryT]:
        """Return what is there already; with a timeout at least one entry, or nothing when the time is up."""
        self._reader.require(self._operation)
        asked = {**self._options, "timeout": timeout, "cursor": cursor, **options}
        return self._decode(await self._reader.relay.call(self._reader.session_id, self._operation, asked))

    async def pages(self, first: Page[EntryT]) -> AsyncIterator[Page[EntryT]]:
        """This page and all that follow, an empty one now and then; until the relay is closing."""
        page: Page[EntryT] | None = first
        while page is not None:
            yield page
            page = await self._next_page(page)

    async def _next_page(self, page: Page[EntryT]) -> Page[EntryT] | None:
        if page.has_more:
            return await self.page(page.next_cursor)
        asking = asyncio.ensure_future(self.page(page.next_cursor, KEEP_ALIVE))
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())  # also if nobody is left to see it
        closing = asyncio.ensure_future(self._reader.closing.wait())
        try:
            await asyncio.wait([asking, closing], return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else None
        finally:
            asking.cancel()
            closing.cancel()


def output_of(reader: Reader, **options: Any) -> Following[Written]:
    return Following(reader, "follow_output", Written, options)


def events_of(reader: Reader, **options: Any) -> Following[Happened]:
    return Following(reader, "follow_events", Happened, options)
