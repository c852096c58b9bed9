"""Output and events: pages with cursors, and the messages of streams."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, Field, WithJsonSchema

from .documented import Described, doc
from .envelope import now, to_json
from .fields import problem
from .queries import Category, PlainText, QueryModel, Truth

MOST_KINDS = 50


def kind_names(value: str) -> str:
    names = value.split(",")
    if len(names) > MOST_KINDS or not all(name.strip().isidentifier() for name in names):
        raise problem("Must be types of events separated by commas, such as stopped,terminated")
    return value


Kinds = Annotated[
    str,
    AfterValidator(kind_names),
    WithJsonSchema({"type": "string", "pattern": "^ *[a-z_]+ *( *, *[a-z_]+ *){0,49}$"}),
]
SINCE = "Go on after this cursor; from the start if left out."


class OutputStreamQuery(QueryModel):
    cursor: PlainText | None = Field(None, description=SINCE + " The header Last-Event-ID wins.")
    category: Category | None = Field(None, description="Only this kind of output.")


class OnlyKinds(QueryModel):
    kinds: Kinds | None = Field(None, description="Only events of these types, separated by commas.")
    replay: Truth = Field(True, description="false: without a cursor only what happens from now on.")

    def options(self) -> dict[str, Any]:
        """Of the operation that reads events."""
        return {"kinds": [name.strip() for name in self.kinds.split(",")]} if self.kinds else {}


class EventStreamQuery(OnlyKinds):
    cursor: PlainText | None = Field(None, description=SINCE + " The header Last-Event-ID wins.")


class DebugQuery(OnlyKinds):
    since: PlainText | None = Field(None, description=SINCE)
    cursors: Truth = Field(False, description="Each event comes with the cursor behind it.")


class LogsQuery(QueryModel):
    since: PlainText | None = Field(None, description=SINCE)
    cursors: Truth = Field(False, description="Each message comes with the cursor behind it.")
    stream: Category | None = Field(None, description="Only this kind of output.")
    keep_open: Truth = Field(False, description="Stay open when the program has ended: it may be restarted.")


class LogMessage(msgspec.Struct, omit_defaults=True):
    """A piece of output, or of stream `relay` what is missing there."""

    stream: str
    text: str
    timestamp: str
    cursor: str | None = None
    dropped: int | None = None
    cleared: int | None = None


class Message(msgspec.Struct, omit_defaults=True):
    """Something that happened, or what became of a command."""

    session_id: str
    kind: str
    payload: Any
    timestamp: str
    cursor: str | None = None


encode = msgspec.json.Encoder().encode


def message(session_id: str, kind: str, payload: Any) -> bytes:
    """One that is made now."""
    content = payload if isinstance(payload, msgspec.Raw) else msgspec.Raw(to_json(payload))
    return encode(Message(session_id, kind, content, now()))


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
