"""The log of a session: what happened and what was printed, with cursors that neither lose nor repeat anything."""

from __future__ import annotations

import asyncio
import base64
import binascii
import codecs
import heapq
import time
from collections.abc import Callable, Collection
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from ...answers.output import CursorPage, Event, FollowedOutput, OutputCleared, OutputEntry
from ...answers.shape import Maybe
from ...default_settings import Limits
from ...errors import invalid_parameter
from ...operations.event_kinds import EventKind
from ...timestamps import timestamp
from .timeline import SHOWN_KINDS, EventRecord, Record

PAGE_CHARACTERS = 1_000_000
STREAM_CHARACTERS = 250_000
"""Characters of a page for a client that goes on reading: it is kept until the client has taken it."""
OUTPUT = EventKind.OUTPUT.value
TIMELINE = "timeline"
"""the type of entries of the timeline, among events"""
LOG_POINTS = "console"
"""the category of what log points write"""
ENTRY_COST = 250
"""Bytes that an entry takes in memory besides its text."""
UNFINISHED = 0.1
"""Seconds for which the beginning of a line waits for its rest: unbuffered prints write a line in two pieces."""
LONGEST = 32 * 1024
LONGEST_PROMPT = 1000


class Entry(NamedTuple):
    seq: int
    time: float
    type: str
    body: Any
    """(category, text) for output; a Record for the timeline; for any other kind the dictionary that clients get"""

    @property
    def size(self) -> int:
        return len(self.body[1]) if self.type == OUTPUT else 1000

    def to_event(self) -> Event:
        body = self.body
        if self.type == OUTPUT:
            body = {"category": body[0], "output": body[1], "source": None, "line": None, "column": None}
        return Event(seq=self.seq, type=self.type, timestamp=timestamp(self.time), body=body)

    def to_output(self) -> OutputEntry:
        return OutputEntry(category=self.body[0], output=self.body[1], timestamp=timestamp(self.time))

    def to_followed_output(self, cursor: Maybe[str]) -> FollowedOutput:
        category, text = self.body
        return FollowedOutput(category=category, output=text, timestamp=timestamp(self.time), cursor=cursor)


Positions = tuple[int, ...]
"""in the log of what happened, in that of output, and in the timeline; or in the first two; or in that of output"""
PageT = TypeVar("PageT", bound=CursorPage)


class LogPage(NamedTuple):
    """A page of output, or of all that happened in the order in which it came."""

    found: list[tuple[Positions, Entry]]
    """each with the positions behind it"""
    after: Positions
    has_more: bool
    dropped: int
    cleared: int

    @property
    def says_something(self) -> bool:
        return bool(self.found or self.has_more or self.dropped or self.cleared)

    @property
    def next_cursor(self) -> str:
        return encode_cursor(self.after)

    def to_answer(self, kind: type[PageT], **more: Any) -> PageT:
        bounds = {"has_more": self.has_more, "dropped": self.dropped, "cleared": self.cleared}
        return kind(next_cursor=self.next_cursor, **bounds | more)


DEFAULT_LIMITS = Limits()


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
        while self._cost > self._max_cost and (oldest := self._kept[self._head]) and self._head < len(self._kept) - 1:
            self._cost -= oldest[1]
            self._kept[self._head] = None
            self._head += 1
            self._first += 1
        if self._head > 1000 and self._head * 2 > len(self._kept):
            del self._kept[: self._head]
            self._head = 0

    def clear(self) -> int:
        """Remove everything. Positions stay what they are."""
        count = len(self._kept) - self._head
        self.cleared = self._first = self.end
        self._kept, self._head, self._cost = [], 0, 0
        return count

    def read_since(self, position: int, limit: int) -> tuple[int, int, list[Entry]]:
        """Return how many were dropped after that position, where reading really starts, and the entries."""
        start = max(position, self._first)
        index = self._head + start - self._first
        kept = self._kept[index : index + limit]
        return start - max(position, self.cleared), start, [item[0] for item in kept if item is not None]

    def entry_before(self, position: int) -> Entry | None:
        """Return the entry that ends at a position, if it is still here."""
        kept = self._kept[self._head + position - 1 - self._first] if position > self._first else None
        return kept[0] if kept else None


RINGS = ("events", OUTPUT, TIMELINE)
RING_OF = {name: index for index, name in enumerate(RINGS)}
"""the ring of an entry, by its type; the first for events of all kinds"""


class EventLog:
    """Three rings in one order: a flood of output never pushes out what happened, nor what clients asked for."""

    def __init__(
        self, max_events: int, max_output_bytes: int, max_timeline_bytes: int = DEFAULT_LIMITS.timeline_max_bytes,
        note_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.last = 0
        """number of the newest event or piece of output"""
        self._events = Ring(max_events)
        self._output = Ring(max_output_bytes)
        self.timeline = Ring(max_timeline_bytes)
        self._note_change = note_change
        """hears that something happened, which may have changed the session"""
        self._news: asyncio.Future[None] | None = None

    def add(self, kind: EventKind, body: dict[str, Any], stop_count: int = 0) -> None:
        """Add an event; the count of stops and resumes says which stop it is."""
        self._events.append(self._make_entry(kind.value, body), 1)
        if kind.value in SHOWN_KINDS:
            self.add_record(EventRecord(kind.value, body, stop_count))
        self._note_change()

    def add_output(self, category: str, text: str) -> None:
        self._output.append(self._make_entry(OUTPUT, (category, text)), text.__sizeof__() + ENTRY_COST)
        if category == LOG_POINTS:
            self.add_record(EventRecord(OUTPUT, text))

    def add_record(self, record: Record) -> None:
        """Add an entry of the timeline, behind all that happened before."""
        record.id = self.timeline.end + 1
        self.timeline.append(Entry(self.last, time.time(), TIMELINE, record), record.cost)
        self._wake_readers()

    def _make_entry(self, type: str, body: Any) -> Entry:
        self.last += 1
        self._wake_readers()
        return Entry(self.last, time.time(), type, body)

    def _wake_readers(self) -> None:
        if self._news is not None:
            self._news.set_result(None)
            self._news = None

    @property
    def output_end(self) -> int:
        return self._output.end

    @property
    def output_cleared(self) -> int:
        return self._output.cleared

    def clear_output(self) -> OutputCleared:
        return OutputCleared(cleared=self._output.clear(), next_cursor=encode_cursor((self._output.end,)))

    def output_since(self, position: int, limit: int) -> tuple[int, list[Entry], int]:
        """Return the number of dropped entries, the entries, and the next position."""
        dropped, start, entries = self._output.read_since(position, limit)
        return dropped, entries, start + len(entries)

    def tail_of_output(self, count: int, category: str | None, room: int = PAGE_CHARACTERS) -> LogPage:
        """Return a page of the last entries, as many as there is room for."""
        at = end = self._output.end
        found: list[tuple[Positions, Entry]] = []
        while len(found) < count and room > 0 and (before := self._output.entry_before(at)) is not None:
            if category in (None, before.body[0]):
                found.append(((at,), before))
                room -= len(before.body[1])
            at -= 1
        return LogPage(found[::-1], (end,), has_more=False, dropped=0, cleared=0)

    def output_until(self, moment: float, count: int) -> list[Entry]:
        """Return the last entries that had come by a time."""
        at = self._output.end
        found: list[Entry] = []
        while len(found) < count and (before := self._output.entry_before(at)) is not None:
            if before.time <= moment:
                found.append(before)
            at -= 1
        return found[::-1]

    def read_output(self, cursor: str | None, limit: int, category: str | None, room: int = PAGE_CHARACTERS) -> LogPage:
        (position,) = _decode_cursor(cursor, (self._output.end,))
        cleared = max(0, self._output.cleared - position)
        found: list[tuple[Positions, Entry]] = []
        dropped = 0
        while len(found) < limit and room > 0:
            lost, position, entries = self._output.read_since(position, limit - len(found))
            dropped += lost
            for entry in entries:
                position += 1
                room -= len(entry.body[1])
                if category is None or category == entry.body[0]:
                    found.append(((position,), entry))
                if room <= 0:
                    break
            if not entries:
                break
        return LogPage(found, (position,), position < self._output.end, dropped, cleared)

    def event_positions(self, cursor: str | None) -> Positions:
        return _decode_cursor(cursor, self._ends())

    def follow_events(
        self, cursor: str | None, limit: int, kinds: Collection[str] | None = None, from_now: bool = False,
        with_timeline: bool = False,
    ) -> LogPage:
        """Return a page of events; without a cursor, from the beginning or from now on."""
        ends = self._ends(with_timeline)
        positions = ends if from_now and cursor is None else _decode_cursor(cursor, ends)
        page = self._merged_page(positions, limit, STREAM_CHARACTERS)
        return page._replace(found=[each for each in page.found if kinds is None or each[1].type in kinds])

    async def read_merged(
        self, positions: Positions, limit: int, timeout: float, room: int = STREAM_CHARACTERS
    ) -> LogPage:
        deadline = time.monotonic() + timeout
        while positions == self._ends() and (left := deadline - time.monotonic()) > 0:
            await self.wait_for_news(left)
        return self._merged_page(positions, limit, room)

    def _ends(self, with_timeline: bool = False) -> Positions:
        ends = self._events.end, self._output.end
        return (*ends, self.timeline.end) if with_timeline else ends

    def _merged_page(self, positions: Positions, limit: int, room: int) -> LogPage:
        """Return a page of the rings that there are positions for."""
        rings = (self._events, self._output, self.timeline)[: len(positions)]
        read = [ring.read_since(position, limit) for ring, position in zip(rings, positions, strict=True)]
        after = [start for _, start, _ in read]
        found: list[tuple[Positions, Entry]] = []
        for entry in islice(heapq.merge(*(entries for _, _, entries in read)), limit):
            after[RING_OF.get(entry.type, 0)] += 1
            found.append((tuple(after), entry))
            room -= entry.size
            if room <= 0:
                break
        lost, cleared = sum(dropped for dropped, _, _ in read), max(0, self._output.cleared - positions[1])
        return LogPage(found, tuple(after), tuple(after) != self._ends(len(positions) == len(RINGS)), lost, cleared)

    def read_timeline(self, cursor: str | None, limit: int) -> tuple[int, list[Entry], int, bool]:
        """Return the number of dropped entries, the entries, the next position, and whether there are more."""
        (position,) = _decode_cursor(cursor, (self.timeline.end,), TIMELINE_CURSOR)
        dropped, start, entries = self.timeline.read_since(position, limit)
        after = start + len(entries)
        return dropped, entries, after, after < self.timeline.end

    async def wait_for_news(self, timeout: float) -> None:
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.wait([self._news], timeout=timeout)


KINDS = {1: "o", 2: "e", 3: "a"}
"""Letters with which cursors begin, by the number of their positions."""
TIMELINE_CURSOR = "t"
"""The letter of those for pages of the timeline."""


def encode_cursor(positions: Positions, kind: str = "") -> str:
    text = (kind or KINDS[len(positions)]) + ".".join([str(position) for position in positions])
    return binascii.b2a_base64(text.encode(), newline=False).decode()  # no character of it needs escaping in a URL


def _decode_cursor(cursor: str | None, ends: Positions, kind: str = "") -> Positions:
    """Return the positions of a cursor of ours; without a cursor, the beginning."""
    if cursor is None:
        return (0,) * len(ends)
    kind = kind or KINDS[len(ends)]
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode("ascii")
        positions = tuple(int(part) for part in text.removeprefix(kind).split("."))
        valid = text.startswith(kind) and len(positions) == len(ends)
        valid = valid and all(0 <= position <= end for position, end in zip(positions, ends, strict=True))
    except (ValueError, binascii.Error):
        valid = False
    if not valid:
        suggestion = "Leave cursor out to start at the beginning, or use next_cursor of an earlier answer"
        raise invalid_parameter("cursor", cursor, "This cursor is not one that this session gave out", suggestion)
    return positions


class OutputLines:
    """The program's output: from bytes in pipes to lines in the log."""
    def __init__(self, log: EventLog) -> None:
        self._log = log
        make_decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: make_decoder("backslashreplace") for name in ("stdout", "stderr")}
        self._pending = dict.fromkeys(self._decoders, "")
        self._begun = dict.fromkeys(self._decoders, 0.0)
        """when the line that is pending began"""
        self._overdue: set[str] = set()
        """streams whose pending line is shown unless its rest comes with the next read"""
        self._timer: asyncio.TimerHandle | None = None
        self._lines: dict[str, str] = {}
        """the current line of each stream, the stream that was written to last at the end"""

    @property
    def prompt(self) -> str:
        """Return the last text that was not ended by a newline, as a terminal would show it."""
        line = next((line for line in reversed(self._lines.values()) if line), "")
        return line.rstrip("\r").rpartition("\r")[2]

    def forget_prompt(self) -> None:
        """Forget unfinished lines: the program has its input, and in a terminal the line would have ended with it."""
        self._lines.clear()

    def add_bytes(self, category: str, data: bytes) -> None:
        new = self._decoders[category].decode(data)
        end = new.rfind("\n")
        line = self._lines.pop(category, "") if end < 0 else ""
        self._lines[category] = (line + new[max(end + 1, len(new) - LONGEST_PROMPT) :])[-LONGEST_PROMPT:]
        text = self._pending[category] + new
        *lines, rest = text.split("\n")
        for line in lines:
            self._add_line(category, line + "\n")
        while len(rest) > LONGEST:
            self._add_line(category, rest[:LONGEST])
            rest = rest[LONGEST:]
        loop = asyncio.get_running_loop()
        if lines:
            self._overdue.discard(category)
        if rest and (lines or not self._pending[category]):
            self._begun[category] = loop.time()
        if rest and self._timer is None:
            self._timer = loop.call_later(UNFINISHED, self._note_overdue)
        self._pending[category] = rest

    def _note_overdue(self) -> None:
        """Note unfinished lines that are old, and read once more: if we were held up, their rest may be in the pipe."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._overdue = {name for name, rest in self._pending.items() if rest and self._begun[name] + UNFINISHED <= now}
        self._timer = loop.call_later(0.001, self._flush_overdue)

    def _flush_overdue(self) -> None:
        """Show lines that are still unfinished. When lines come fast, one has always just begun."""
        self._timer = None
        for category in self._overdue:
            self._log.add_output(category, self._pending[category])
            self._pending[category] = ""
        self._overdue.clear()
        if any(self._pending.values()):
            self._timer = asyncio.get_running_loop().call_later(UNFINISHED, self._note_overdue)

    def _add_line(self, category: str, line: str) -> None:
        for start in range(0, len(line), LONGEST):
            self._log.add_output(category, line[start : start + LONGEST])

    def flush(self) -> None:
        """Show unfinished lines too: a prompt, or whatever was printed before a stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._overdue.clear()
        for category, rest in self._pending.items():
            if rest:
                self._pending[category] = ""
                self._log.add_output(category, rest)

    def finish(self) -> None:
        self._lines.clear()
        for category, decoder in self._decoders.items():
            self._pending[category] += decoder.decode(b"", final=True)
        self.flush()
