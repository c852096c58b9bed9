"""The timeline, files and the wheel as text, a line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..answers.sessions import WheelTurned
from ..answers.source_code import FileList
from ..answers.timeline import TimelineDocument, TimelineEntry, TimelinePage, TimelineRow
from .view import View, join_lines


def render_row(row: TimelineRow, view: View) -> str:
    """Render an entry: `17 10:30:05 claude-code (mcp) step_over count=2 → paused: step at prices.py:3`."""
    at = row.at.partition("T")[2].partition(".")[0]
    who = f"{row.client} ({row.door})" if row.client and row.door else row.door or ""
    asked = " ".join(filter(None, (who, row.operation, row.arguments)))
    return f"{row.id} {at} {asked} → {row.outcome}" if asked else f"{row.id} {at} {row.kind}: {row.outcome}"


def render_page(answer: TimelinePage, view: View) -> str:
    more = f"… more: ask with cursor={answer.next_cursor}" if answer.has_more else ""
    dropped = f"({answer.dropped} earlier entries are gone)" if answer.dropped else ""
    return join_lines(dropped, *(render_row(row, view) for row in answer.entries), more) or "nothing so far"


def render_entry(answer: TimelineEntry, view: View) -> str:
    return join_lines(render_row(answer, view), answer.report or "")


def render_document(answer: TimelineDocument, view: View) -> str:
    return join_lines(*(render_entry(entry, view) for entry in answer.entries)) or "nothing so far"


def render_files(answer: FileList, view: View) -> str:
    more = f"… {answer.total} in all" if answer.total > len(answer.files) else ""
    return join_lines(*(view.path(file.path) for file in answer.files), more) or "no files"


def render_wheel(answer: WheelTurned, view: View) -> str:
    if answer.wheel is None:
        return "the wheel is free"
    return f"{answer.wheel.holder} has the wheel; header of requests that may drive: X-Debug-Wheel: {answer.wheel_id}"


RENDERINGS: dict[type, Callable[[Any, View], str]] = {
    TimelinePage: render_page,
    TimelineEntry: render_entry,
    TimelineDocument: render_document,
    FileList: render_files,
    WheelTurned: render_wheel,
}
