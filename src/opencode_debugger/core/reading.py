"""What the program wrote and what happened, page by page, for whoever asks and whoever goes on reading."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .debuggee import Debuggee
from .events import STREAM_CHARACTERS, output_cursor
from .state import ENDED
from .stops import how_it_ended


class Reading:
    def __init__(self, debuggee: Debuggee, note: Callable[[], dict[str, Any]]) -> None:
        self._debuggee = debuggee
        self._note = note
        """where else there is output"""

    async def output(
        self,
        cursor: str | None = None,
        limit: int = 100,
        category: str | None = None,
        timeout: float = 0,
        tail: int | None = None,
    ) -> dict[str, Any]:
        log = self._debuggee.log

        def read(at: str | None) -> dict[str, Any]:
            if at is None and tail is not None:
                return log.tail_of_output(tail, category)
            return log.read_output(at, tail or limit, category)

        page = await self._page(read, cursor, timeout)
        entries = [entry.to_output() for _, entry in page["entries"]]
        return {**page, "entries": entries, **self._note()}

    async def follow_output(
        self,
        cursor: str | None = None,
        limit: int = 100,
        category: str | None = None,
        timeout: float = 0,
        cursors: bool = True,
        beyond_end: bool = False,
    ) -> dict[str, Any]:
        """The same for somebody who goes on reading: each entry with the cursor behind it, and how it ended."""

        def read(at: str | None) -> dict[str, Any]:
            return self._debuggee.log.read_output(at, limit, category, STREAM_CHARACTERS)

        page = await self._page(read, cursor, timeout, beyond_end)
        entries = [entry.written() for _, entry in page["entries"]]
        if cursors:
            for entry, (after, _) in zip(entries, page["entries"], strict=True):
                entry["cursor"] = output_cursor(after)
        has_ended = self._debuggee.state in ENDED and not page["has_more"] and not beyond_end
        return {**page, "entries": entries, "end": how_it_ended(self._debuggee.end) if has_ended else None}

    async def _page(
        self, read: Callable[[str | None], dict[str, Any]], cursor: str | None, timeout: float, beyond_end: bool = False
    ) -> dict[str, Any]:
        """With a timeout it waits for entries, as long as there can be any."""
        deadline = time.monotonic() + timeout
        page = read(cursor)
        while not any(page[name] for name in ("entries", "has_more", "dropped", "cleared")):
            left = deadline - time.monotonic()
            if left <= 0 or (self._debuggee.state in ENDED and not beyond_end):
                break
            await self._debuggee.log.news(left)
            page = read(page["next_cursor"])
        return page

    def clear_output(self) -> dict[str, Any]:
        if self._debuggee.adapter is not None:
            self._debuggee.adapter.drain()  # what was written by now goes too
        self._debuggee.output.flush()
        return self._debuggee.log.clear_output()

    async def events(self, cursor: str | None = None, limit: int = 100, timeout: float = 0) -> dict[str, Any]:
        answer = await self._debuggee.log.read_events(cursor, limit, timeout)
        return {**answer, "session_status": str(self._debuggee.state)}

    async def follow_events(
        self,
        cursor: str | None = None,
        limit: int = 100,
        timeout: float = 0,
        kinds: list[str] | None = None,
        from_now: bool = False,
    ) -> dict[str, Any]:
        """What happens, for somebody who goes on reading: the program's end is one of the events."""

        def read(at: str | None) -> dict[str, Any]:
            return self._debuggee.log.follow_events(at, limit, kinds, from_now)

        return await self._page(read, cursor, timeout, beyond_end=True)
