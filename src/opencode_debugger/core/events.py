"""The log of a session: what happened and what was printed, with cursors that neither lose nor repeat anything."""

from __future__ import annotations

import asyncio
import base64
import binascii
import heapq
import time
from collections.abc import Collection
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import invalid_parameter

PAGE_CHARACTERS = 1_000_000
STREAM_CHARACTERS = 250_000
"""of a page for somebody who goes on reading: it is kept until he has taken it"""
ENTRY_COST = 250
"""Bytes that an entry takes in memory besides its text."""


class Entry(NamedTuple):
    seq: int
    time: float
    type: str
    body: Any
    """of an output entry: (category, text); of any other: what clients get"""

    @property
    def size(self) -> int:
        return len(self.body[1]) if self.type == "output" else 1000

    def to_event(self) -> dict[str, Any]:
        body = self.body
        if self.type == "output":
            body = {"category": body[0], "output": body[1], "source": None, "line": None, "column": None}
        return {"seq": self.seq, "type": self.type, "timestamp": timestamp(self.time), "body": body}

    def to_output(self) -> dict[str, Any]:
        return {**self.written(), "source": None, "line": None}

    def written(self) -> dict[str, Any]:
        category, text = self.body
        return {"category": category, "output": text, "timestamp": timestamp(self.time)}


def _first_of(entries: list[Entry], room: int) -> list[Entry]:
    """As many as fit, but at least one."""
    for index, entry in enumerate(entries):
        room -= entry.size
        if room <= 0:
            return entries[: index + 1]
    return entries


def timestamp(seconds: float) -> str:
    return _timestamp(int(seconds * 1000))


@lru_cache(1000)
def _timestamp(milliseconds: int) -> str:
    """Where much happens, most of it happens in the same milliseconds."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat().removesuffix('+00:00')}.{rest:03d}Z"


Positions = tuple[int, int]
"""in the log of what happened, and in that of output"""


class Merged(NamedTuple):
    """A page of both, in the order in which they came."""

    found: list[tuple[Positions, Entry]]
    """each with the positions behind it"""
    after: Positions
    has_more: bool
    dropped: int
    cleared: int

    def to_dict(self) -> dict[str, Any]:
        next_cursor = _encode("e", *self.after)
        return {"next_cursor": next_cursor, "has_more": self.has_more, "dropped": self.dropped, "cleared": self.cleared}


class Ring:
    """Entries by position, the oldest dropped when they cost too much."""

    def __init__(self, max_cost: int) -> None:
        self._max_cost = max_cost
        self._cost = 0
        self._kept: list[tuple[Entry, int] | None] = []
        self._head = 0
        self._first = 0
        """position of the oldest entry that is still here"""
        self.cleared = 0
        """position up to which entries were removed on request"""

    @property
    def end(self) -> int:
        return self._first + len(self._kept) - self._head

    def append(self, entry: Entry, cost: int) -> None:
        self._kept.append((entry, cost))
        self._cost += cost
        while self._cost > self._max_cost and self._head < len(self._kept) - 1:
            self._drop()
        if self._head > 1000 and self._head * 2 > len(self._kept):
            del self._kept[: self._head]
            self._head = 0

    def _drop(self) -> None:
        oldest = self._kept[self._head]
        assert oldest is not None
        self._cost -= oldest[1]
        self._kept[self._head] = None
        self._head += 1
        self._first += 1

    def clear(self) -> int:
        """Removes everything. Positions stay what they are."""
        count = len(self._kept) - self._head
        self.cleared = self._first = self.end
        self._kept, self._head, self._cost = [], 0, 0
        return count

    def since(self, position: int, limit: int) -> tuple[int, int, list[Entry]]:
        """How many were dropped after that position, where reading really starts, and the entries."""
        start = max(position, self._first)
        index = self._head + start - self._first
        kept = self._kept[index : index + limit]
        return start - max(position, self.cleared), start, [item[0] for item in kept if item is not None]

    def before(self, position: int) -> Entry | None:
        """The one that ends at a position, if it is still here."""
        kept = self._kept[self._head + position - 1 - self._first] if position > self._first else None
        return kept[0] if kept else None

    def cleared_since(self, position: int) -> int:
        return max(0, self.cleared - position)


class EventLog:
    """Two rings under one numbering: a flood of output never pushes out what happened."""

    def __init__(self, max_events: int, max_output_bytes: int) -> None:
        self._seq = 0
        self._events = Ring(max_events)
        self._output = Ring(max_output_bytes)
        self._news: asyncio.Future[None] | None = None

    def add(self, type: str, body: dict[str, Any]) -> None:
        self._events.append(self._entry(type, body), 1)

    def add_output(self, category: str, text: str) -> None:
        self._output.append(self._entry("output", (category, text)), text.__sizeof__() + ENTRY_COST)

    def _entry(self, type: str, body: Any) -> Entry:
        self._seq += 1
        if self._news is not None:
            self._news.set_result(None)
            self._news = None
        return Entry(self._seq, time.time(), type, body)

    @property
    def last(self) -> int:
        """Number of the newest entry."""
        return self._seq

    @property
    def output_end(self) -> int:
        return self._output.end

    @property
    def output_cleared(self) -> int:
        return self._output.cleared

    def clear_output(self) -> dict[str, Any]:
        cleared = self._output.clear()
        return {"cleared": cleared, "next_cursor": output_cursor(self._output.end)}

    def output_since(self, position: int, limit: int) -> tuple[int, list[Entry], int]:
        """Dropped, entries, next position."""
        dropped, start, entries = self._output.since(position, limit)
        return dropped, entries, start + len(entries)

    def tail_of_output(self, count: int, category: str | None, room: int = PAGE_CHARACTERS) -> dict[str, Any]:
        """A page of the last entries, as many as there is room for."""
        at = end = self._output.end
        found: list[tuple[int, Entry]] = []
        while len(found) < count and room > 0 and (before := self._output.before(at)) is not None:
            if category in (None, before.body[0]):
                found.append((at, before))
                room -= len(before.body[1])
            at -= 1
        page = {"has_more": False, "dropped": 0, "cleared": 0}
        return {"entries": found[::-1], "next_cursor": output_cursor(end), **page}

    def read_output(
        self, cursor: str | None, limit: int, category: str | None, room: int = PAGE_CHARACTERS
    ) -> dict[str, Any]:
        """A page whose entries come with the position behind each."""
        (position,) = _decode(cursor, "o", (self._output.end,))
        cleared = self._output.cleared_since(position)
        found: list[tuple[int, Entry]] = []
        dropped = 0
        while len(found) < limit and room > 0:
            lost, position, entries = self._output.since(position, limit - len(found))
            dropped += lost
            for entry in entries:
                position += 1
                room -= len(entry.body[1])
                if category is None or category == entry.body[0]:
                    found.append((position, entry))
                if room <= 0:
                    break
            if not entries:
                break
        return {
            "entries": found,
            "next_cursor": output_cursor(position),
            "has_more": position < self._output.end,
            "dropped": dropped,
            "cleared": cleared,
        }

    async def read_events(self, cursor: str | None, limit: int, timeout: float) -> dict[str, Any]:
        positions = _decode(cursor, "e", self._ends)
        if timeout and positions == self._ends:
            await self.news(timeout)
        page = self._merged(positions, limit, PAGE_CHARACTERS)
        shown = page.to_dict()
        if not page.cleared:
            del shown["cleared"]
        return {**shown, "events": [entry.to_event() for _, entry in page.found]}

    def follow_events(
        self, cursor: str | None, limit: int, kinds: Collection[str] | None = None, from_now: bool = False
    ) -> dict[str, Any]:
        """A page whose events come with the cursor behind each; without a cursor, from the beginning or from now on."""
        positions = self._ends if from_now and cursor is None else _decode(cursor, "e", self._ends)
        page = self._merged(positions, limit, STREAM_CHARACTERS)
        entries = [
            {"cursor": _encode("e", *after), **entry.to_event()}
            for after, entry in page.found
            if kinds is None or entry.type in kinds
        ]
        return {**page.to_dict(), "entries": entries}

    async def read_on(self, positions: Positions, limit: int, timeout: float) -> Merged:
        """For somebody in this process, who needs no cursors."""
        if positions == self._ends:
            await self.news(timeout)
        return self._merged(positions, limit, STREAM_CHARACTERS)

    @property
    def _ends(self) -> Positions:
        return self._events.end, self._output.end

    def _merged(self, positions: tuple[int, ...], limit: int, room: int) -> Merged:
        lost, at_event, events = self._events.since(positions[0], limit)
        lost_output, at_output, output = self._output.since(positions[1], limit)
        found = []
        for entry in _first_of(list(heapq.merge(events, output))[:limit], room):
            if entry.type == "output":
                at_output += 1
            else:
                at_event += 1
            found.append(((at_event, at_output), entry))
        after, cleared = (at_event, at_output), self._output.cleared_since(positions[1])
        return Merged(found, after, after != self._ends, lost + lost_output, cleared)

    async def news(self, timeout: float) -> None:
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.wait([self._news], timeout=timeout)


def output_cursor(position: int) -> str:
    return _encode("o", position)


def _encode(kind: str, *positions: int) -> str:
    text = kind + ".".join([str(position) for position in positions])
    return binascii.b2a_base64(text.encode(), newline=False).decode()  # no character of it needs escaping in a URL


def _decode(cursor: str | None, kind: str, ends: tuple[int, ...]) -> tuple[int, ...]:
    """Positions of a cursor of ours; without a cursor, the beginning."""
    if cursor is None:
        return (0,) * len(ends)
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode("ascii")
        positions = tuple(int(part) for part in text.removeprefix(kind).split("."))
        valid = text.startswith(kind) and len(positions) == len(ends)
        valid = valid and all(0 <= position <= end for position, end in zip(positions, ends, strict=True))
    except (ValueError, binascii.Error):
        valid = False
    if not valid:
        raise invalid_parameter(
            "cursor",
            cursor,
            "This cursor is not one that this session gave out",
            "Leave cursor out to start at the beginning, or use next_cursor of an earlier answer",
        )
    return positions
