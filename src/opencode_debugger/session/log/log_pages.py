"""Pages of output and events, for clients that ask and for clients that go on reading."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
from msgspec.structs import asdict

from ...answers.output import (
    Event,
    EventPage,
    FollowedEvent,
    FollowedEventPage,
    FollowedOutputPage,
    OutputCleared,
    OutputPage,
)
from ...answers.shape import UNSET, unless_none
from ...operations.states import ENDED
from ...timestamps import timestamp
from ..lifecycle.debuggee import Debuggee
from .event_log import PAGE_CHARACTERS, STREAM_CHARACTERS, TIMELINE, Entry, LogPage, encode_cursor
from .timeline import TimelineWords


class LogPages:
    def __init__(
        self, debuggee: Debuggee, output_session_id: Callable[[], str | None], words: TimelineWords
    ) -> None:
        self._debuggee = debuggee
        self._words = words
        self._output_session_id = output_session_id
        """names the session that has the rest of the output"""

    async def read_output(
        self, cursor: str | None = None, limit: int = 100, category: str | None = None, timeout: float = 0,
        tail: int | None = None,
    ) -> OutputPage:
        log = self._debuggee.log

        def read(at: str | None) -> LogPage:
            if at is None and tail is not None:
                return log.tail_of_output(tail, category)
            return log.read_output(at, tail or limit, category)

        page = await self._wait_for_page(read, cursor, timeout)
        entries = [entry.to_output() for _, entry in page.found]
        return page.to_answer(OutputPage, entries=entries, output_session_id=unless_none(self._output_session_id()))

    async def follow_output(
        self, cursor: str | None = None, limit: int = 100, category: str | None = None, timeout: float = 0,
        cursors: bool = True, beyond_end: bool = False,
    ) -> FollowedOutputPage:
        """Return the same for somebody who goes on reading: each entry with the cursor behind it, and how it ended."""

        def read(at: str | None) -> LogPage:
            return self._debuggee.log.read_output(at, limit, category, STREAM_CHARACTERS)

        page = await self._wait_for_page(read, cursor, timeout, beyond_end)
        has_ended = self._debuggee.state in ENDED and not page.has_more and not beyond_end
        entries = [entry.to_followed_output(encode_cursor(at) if cursors else UNSET) for at, entry in page.found]
        return page.to_answer(FollowedOutputPage, entries=entries, end=self._debuggee.ending if has_ended else None)

    async def _wait_for_page(
        self, read: Callable[[str | None], LogPage], cursor: str | None, timeout: float, beyond_end: bool = False
    ) -> LogPage:
        """Read a page; with a timeout wait for entries, as long as there can be any."""
        deadline = time.monotonic() + timeout
        page = read(cursor)
        while not page.says_something:
            left = deadline - time.monotonic()
            if left <= 0 or (self._debuggee.state in ENDED and not beyond_end):
                break
            await self._debuggee.log.wait_for_news(left)
            page = read(page.next_cursor)
        return page

    def clear_output(self) -> OutputCleared:
        if self._debuggee.adapter is not None:
            self._debuggee.adapter.drain()  # what was written by now goes too
        self._debuggee.output.flush()
        return self._debuggee.log.clear_output()

    async def read_events(self, cursor: str | None = None, limit: int = 100, timeout: float = 0) -> EventPage:
        log = self._debuggee.log
        page = await log.read_merged(log.event_positions(cursor), limit, timeout, PAGE_CHARACTERS)
        events, status = [entry.to_event() for _, entry in page.found], str(self._debuggee.state)
        return page.to_answer(EventPage, events=events, cleared=page.cleared or UNSET, session_status=status)

    async def follow_events(
        self, cursor: str | None = None, limit: int = 100, timeout: float = 0, kinds: list[str] | None = None,
        from_now: bool = False, timeline: bool = False,
    ) -> FollowedEventPage:
        """Return what happens, for somebody who goes on reading: the program's end is one of the events.

        With `timeline` the entries of the timeline are among them."""

        def read(at: str | None) -> LogPage:
            return self._debuggee.log.follow_events(at, limit, kinds, from_now, timeline)

        page = await self._wait_for_page(read, cursor, timeout, beyond_end=True)
        entries = [FollowedEvent(cursor=encode_cursor(at), **asdict(self._event_of(entry))) for at, entry in page.found]
        return page.to_answer(FollowedEventPage, entries=entries)

    def _event_of(self, entry: Entry) -> Event:
        if entry.type != TIMELINE:
            return entry.to_event()
        body = msgspec.to_builtins(self._words.row(entry))
        return Event(seq=entry.seq, type=TIMELINE, timestamp=timestamp(entry.time), body=body)
