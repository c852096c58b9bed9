"""The timeline of a session: what clients asked for, and what happened."""

from __future__ import annotations

from typing import Annotated

from .output import CursorPage
from .sessions import SessionItem
from .shape import Answer, said


class TimelineRow(Answer):
    id: Annotated[int, said("Number of the entry in the session.", 17)]
    at: Annotated[str, said("When it was asked, or happened.", "2026-01-13T10:30:05.000Z")]
    kind: Annotated[str, said(
        "command, or what happened: stop, exception, log (a log point), end, restart, wheel.", "command")]
    door: Annotated[str | None, said(
        "Of a command: rest, websocket, cli, mcp, sdk, page or editor.", "mcp")]
    client: Annotated[str | None, said("What the client calls itself.", "claude-code")]
    operation: Annotated[str | None, said("What was asked for.", "step_over")]
    arguments: Annotated[str | None, said("With which parameters, in short; secrets are masked.", "count=2")]
    duration_ms: Annotated[float | None, said("How long it took.", 3.2)]
    outcome: Annotated[str, said(
        "What came of it, or what happened, on one line.", "paused: step at prices.py:3 in average")]
    failed: Annotated[bool, said("Whether the command was refused or failed.", False)]
    status: Annotated[str | None, said("State of the session afterwards.", "paused")]
    location: Annotated[str | None, said("Where it stood afterwards.", "prices.py:3")]
    has_report: Annotated[bool, said("Whether the entry by itself has more to read: see `report`.", True)]


class TimelineEntry(TimelineRow):
    report: Annotated[str | None, said(
        "What was answered, as text; of a stop what the first report of it said, or its place and stack.")]
    report_of: Annotated[int | None, said("Of a stop: the command whose report this is.", 18)]


class TimelineDocument(Answer):
    session: Annotated[SessionItem, said("The session.")]
    exported_at: Annotated[str, said("When.", "2026-01-13T10:30:05.000Z")]
    dropped: Annotated[int, said("How many entries had fallen out before.", 0)]
    entries: Annotated[list[TimelineEntry], said("All entries that are still there, oldest first.")]


class TimelinePage(CursorPage):
    entries: Annotated[list[TimelineRow], said("Entries, oldest first.")]
