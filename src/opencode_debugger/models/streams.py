"""Answers with cursors: output and events."""

from __future__ import annotations

from typing import Any

from .documented import Described, doc


class OutputEntry(Described):
    category: str = doc("stdout, stderr or console.", "stdout", ...)
    output: str = doc("What was written.", "Processing file 1 of 10...\n", ...)
    timestamp: str = doc("When.", "2026-01-13T10:30:01.123Z", ...)
    source: str | None = doc("File that wrote it; null in this version.")
    line: int | None = doc("Line that wrote it; null in this version.")


class CursorPage(Described):
    next_cursor: str | None = doc("Pass it as cursor to go on after these entries.", "eyJvZmZzZXQiOjEwMH0=")
    has_more: bool = doc("Whether more is there already: ask again with next_cursor.", False, ...)
    dropped: int | None = doc("How many entries were dropped before you could read them.", 0)
    cleared: int | None = doc("How many entries after your cursor were removed by DELETE output.", 0)


class OutputPage(CursorPage):
    entries: list[OutputEntry] = doc("Output in the order it was written.", None, ...)
    output_session_id: str | None = doc(
        "Of a child's session, which has only its log messages: the session that has its stdout and stderr.",
        "sess_a1b2c3d4",
    )


class OutputCleared(Described):
    cleared: int = doc("How many entries were removed.", 120, ...)
    next_cursor: str = doc("Pass it as cursor to read what comes from now on.", "bzEyMA==", ...)


class Event(Described):
    seq: int = doc("Number of the event in the session.", 1, ...)
    type: str = doc(
        "stopped, continued, terminated, restarted, output, input_requested, breakpoint, thread, module, "
        "subprocess_spawned.",
        "stopped",
        ...,
    )
    timestamp: str = doc("When.", "2026-01-13T10:30:05.000Z", ...)
    body: dict[str, Any] = doc("What happened.", {"reason": "breakpoint", "thread_id": 1}, ...)


class EventPage(CursorPage):
    events: list[Event] = doc("Events in order.", None, ...)
    session_status: str = doc("State of the session now.", "paused", ...)
