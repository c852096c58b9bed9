"""The timeline as clients read it: a page at a time, one entry in full, or all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ...answers.sessions import SessionItem
from ...answers.timeline import TimelineDocument, TimelineEntry, TimelinePage
from ...errors import RelayError
from ...text.render import is_stop_report
from ...timestamps import current_time
from .event_log import TIMELINE_CURSOR, Entry, EventLog, encode_cursor
from .timeline import CommandRecord, EventRecord, TimelineWords

TELLING = 200
"""Entries behind a stop among which the command is that told of it."""


@dataclass(eq=False)
class TimelinePages:
    _log: EventLog
    _words: TimelineWords
    _describe_session: Callable[[], SessionItem]

    def read_page(self, cursor: str | None = None, limit: int = 100) -> TimelinePage:
        dropped, entries, after, has_more = self._log.read_timeline(cursor, limit)
        return TimelinePage(
            entries=[self._words.row(entry) for entry in entries], next_cursor=encode_cursor((after,), TIMELINE_CURSOR),
            has_more=has_more, dropped=dropped,
        )

    def read_entry(self, entry_id: int) -> TimelineEntry:
        _, start, entries = self._log.timeline.read_since(entry_id - 1, 1)
        if entry_id < 1 or start != entry_id - 1 or not entries:
            message = f"The timeline has no entry {entry_id}: it was never there, or has fallen out"
            raise RelayError("ENTRY_NOT_FOUND", message, entry_id=entry_id)
        return self._words.full_entry(entries[0], self._told_by(entries[0]))

    async def export_all(self) -> TimelineDocument:
        """Return the whole timeline; it is put into words aside, for that may take a second."""
        dropped, _, entries = self._log.timeline.read_since(0, self._log.timeline.end)
        told = [(entry, self._told_by(entry)) for entry in entries]
        rows = await asyncio.to_thread(lambda: [self._words.full_entry(entry, by) for entry, by in told])
        session, now = self._describe_session(), current_time()
        return TimelineDocument(session=session, exported_at=now, dropped=dropped, entries=rows)

    def _told_by(self, entry: Entry) -> Entry | None:
        """Return the command whose answer was the first report of a stop; nothing for other entries."""
        record = entry.body
        if not isinstance(record, EventRecord) or not record.stop_count:
            return None
        _, _, behind = self._log.timeline.read_since(record.id, TELLING)
        for other in behind:
            told = other.body
            is_command = isinstance(told, CommandRecord)
            if is_command and told.stop_count == record.stop_count and _reports_stop(told):
                return other
        return None


def _reports_stop(record: CommandRecord) -> bool:
    return record.error is None and record.answer is not None and is_stop_report(record.operation)
