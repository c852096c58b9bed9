"""Pages of output and events."""

from __future__ import annotations

from typing import Annotated, Any

from ..operations.event_kinds import EventKind
from .sessions import ProgramEnd
from .shape import UNSET, Answer, Maybe, said


class WrittenOutput(Answer):
    category: Annotated[str, said("stdout, stderr or console.", "stdout")]
    output: Annotated[str, said("What was written.", "Processing file 1 of 10...\n")]
    timestamp: Annotated[str, said("When.", "2026-01-13T10:30:01.123Z")]


class OutputEntry(WrittenOutput):
    source: Annotated[str | None, said("File that wrote it; null in this version.")] = None
    line: Annotated[int | None, said("Line that wrote it; null in this version.")] = None


class FollowedOutput(WrittenOutput):
    cursor: Annotated[Maybe[str], said("Goes on after it.", "bzEyMA==")] = UNSET


class CursorPage(Answer):
    next_cursor: Annotated[str, said("Pass it as cursor to go on after these entries.", "eyJvZmZzZXQiOjEwMH0=")]
    has_more: Annotated[bool, said("Whether more is there already: ask again with next_cursor.", False)]
    dropped: Annotated[int, said("How many entries were dropped before you could read them.", 0)]
    cleared: Annotated[Maybe[int], said("How many entries after your cursor were removed by DELETE output.", 0)] = UNSET


class OutputPage(CursorPage):
    entries: Annotated[list[OutputEntry], said("Output in the order it was written.")]
    output_session_id: Annotated[Maybe[str], said(
        "Of a child's session, which has only its log messages: the session that has its stdout and stderr.",
        "sess_a1b2c3d4")] = UNSET


class FollowedOutputPage(CursorPage):
    entries: Annotated[list[FollowedOutput], said("Output in the order it was written.")]
    end: Annotated[ProgramEnd | None, said("How the program ended, after its last output.")]


class OutputCleared(Answer):
    cleared: Annotated[int, said("How many entries were removed.", 120)]
    next_cursor: Annotated[str, said("Pass it as cursor to read what comes from now on.", "bzEyMA==")]


class Event(Answer):
    seq: Annotated[int, said("Number of the event in the session.", 1)]
    type: Annotated[str, said(", ".join(EventKind) + ".", EventKind.STOPPED.value)]
    timestamp: Annotated[str, said("When.", "2026-01-13T10:30:05.000Z")]
    body: Annotated[dict[str, Any], said("What happened.", {"reason": "breakpoint", "thread_id": 1})]


class FollowedEvent(Event):
    cursor: Annotated[str, said("Goes on after it.", "ZTEuMA==")]


class EventPage(CursorPage):
    events: Annotated[list[Event], said("Events in order.")]
    session_status: Annotated[str, said("State of the session now.", "paused")]


class FollowedEventPage(CursorPage):
    entries: Annotated[list[FollowedEvent], said("Events in order.")]
