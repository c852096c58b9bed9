"""Entries of a session's timeline: kept as they came, and put into words when somebody reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...answers.timeline import TimelineEntry, TimelineRow
from ...operations.event_kinds import EventKind
from ...text.command_words import command_words
from ...text.render import render_answer, render_error
from ...text.secrets import mask_inside
from ...text.view import View, one_line, shorten
from ...timestamps import timestamp

if TYPE_CHECKING:
    from ...answers.sessions import Location
    from ...errors import RelayError
    from ...operations.asking_client import AskingClient
    from ..session_settings import Config
    from .event_log import Entry

LONGEST_ANSWER = 64 * 1024
"""Bytes of an answer that are kept; of a longer one only its size is known later."""
LONGEST_REPORT = 16_000
LONGEST_OUTCOME = 200
RECORD_COST = 600
"""Bytes that an entry takes in memory besides its answer."""
SIMPLE_PARAMETER = 200
"""Characters of a parameter that is kept as it is: longer ones are put into words at once."""
SHOWN_KINDS = {
    EventKind.STOPPED.value: "stop",
    EventKind.TERMINATED.value: "end",
    EventKind.RESTARTED.value: "restart",
    EventKind.WHEEL.value: "wheel",
    EventKind.OUTPUT.value: "log",
}
"""Events that the timeline has, and what it calls them; of output only what log points wrote."""

STATUSES = {"stop": "paused", "exception": "paused", "end": "terminated", "restart": "running"}
"""of the session, after events of each kind"""


@dataclass(slots=True, eq=False)
class CommandRecord:
    """Something that a client asked for, when it was done."""

    client: AskingClient
    operation: str
    params: dict[str, Any] | str
    """as they came if they are small; else in words"""
    began: float
    seconds: float
    answer: bytes | None
    """as JSON; nothing of one that is very long"""
    answer_size: int
    error: RelayError | None
    status: str
    location: Location | None
    stop_count: int
    """counts stops and resumes: which one the answer was about"""
    id: int = 0

    @property
    def cost(self) -> int:
        return RECORD_COST + (len(self.answer) if self.answer else 0)


@dataclass(slots=True, eq=False)
class EventRecord:
    """Something that happened."""

    type: str
    body: Any
    """of the event; the text of what a log point wrote"""
    stop_count: int = 0
    id: int = 0

    @property
    def cost(self) -> int:
        return RECORD_COST + (len(self.body) if isinstance(self.body, str) else 0)


Record = CommandRecord | EventRecord


def kept_params(params: dict[str, Any]) -> dict[str, Any] | str:
    """Return parameters as they are kept: small ones as they came, which costs nothing."""
    for value in params.values():
        is_small = isinstance(value, str) and len(value) <= SIMPLE_PARAMETER
        if not is_small and not isinstance(value, int | float | None):
            return command_words(params)
    return params


@dataclass(frozen=True)
class TimelineWords:
    """Puts entries into words."""

    _config: Config

    @property
    def base(self) -> str | None:
        """The folder below which paths are shown relative to it: it may be changed before the launch."""
        return self._config.project_root

    def row(self, entry: Entry) -> TimelineRow:
        record: Record = entry.body
        if isinstance(record, CommandRecord):
            return self._command_row(record)
        return self._event_row(entry, record)

    def full_entry(self, entry: Entry, told_by: Entry | None) -> TimelineEntry:
        """Return an entry with all that was said; of a stop what the command said that told of it first."""
        record, row = entry.body, self.row(entry)
        report = self._answer_text(record) if isinstance(record, CommandRecord) else event_text(record, View(self.base))
        report_of = None
        if told_by is not None:
            report, report_of = self._answer_text(told_by.body), told_by.body.id
        fields = {name: getattr(row, name) for name in TimelineRow.__struct_fields__}
        return TimelineEntry(**fields, report=shorten(report, LONGEST_REPORT) or None, report_of=report_of)

    def _command_row(self, record: CommandRecord) -> TimelineRow:
        text, params = self._answer_text(record), record.params
        return TimelineRow(
            id=record.id, at=timestamp(record.began), kind="command", door=record.client.door or None,
            client=record.client.name or None, operation=record.operation,
            arguments=(params if isinstance(params, str) else command_words(params)) or None,
            duration_ms=round(record.seconds * 1000, 3), outcome=first_line(text), failed=record.error is not None,
            status=record.status, location=self._place(record.location), has_report="\n" in text.strip(),
        )

    def _event_row(self, entry: Entry, record: EventRecord) -> TimelineRow:
        view, body = View(self.base), record.body
        kind, place = SHOWN_KINDS[record.type], None
        if kind == "stop":
            kind = "exception" if "exception_info" in body else kind
            place = body["location"] and view.place(body["location"]["path"], body["location"]["line"])
        text = event_text(record, view)
        return TimelineRow(
            id=record.id, at=timestamp(entry.time), kind=kind, door=None, client=None, operation=None, arguments=None,
            duration_ms=None, outcome=first_line(text), failed=False, status=STATUSES.get(kind), location=place,
            has_report="\n" in text.strip() or kind in ("stop", "exception"),
        )

    def _answer_text(self, record: CommandRecord) -> str:
        if record.error is not None:
            return mask_inside(render_error(record.error.to_dict()))
        if record.answer is None:
            return f"an answer of {record.answer_size // 1024} KB"
        return render_answer(record.operation, record.answer, self.base).removeprefix(f"{self._config.session_id} ")

    def _place(self, location: Location | None) -> str | None:
        return View(self.base).place(location.path, location.line) if location else None


def event_text(record: EventRecord, view: View) -> str:
    """Put an event into words: the first line says what, others more of it."""
    body = record.body
    if isinstance(body, str):
        return mask_inside(body.rstrip("\n"))
    if record.type == EventKind.STOPPED:
        return _stop_text(body, view)
    if record.type == EventKind.TERMINATED:
        reason, code = body.get("reason"), body["exit_code"]
        return body.get("error") or f"{reason or 'exited'}" + ("" if code is None else f" with code {code}")
    if record.type == EventKind.RESTARTED:
        return f"started again, pid {body['pid']}"
    who = body["holder"]
    return f"{who} has taken the wheel" if body["action"] == "take" else f"{who} no longer has the wheel: {body['why']}"


def _stop_text(body: dict[str, Any], view: View) -> str:
    place, raised = body["location"], body.get("exception_info")
    where = f" at {view.place(place['path'], place['line'])} in {place['function']}" if place else ""
    hit = " ".join(["", *body["hit_breakpoint_ids"]])
    lines = [f"paused: {body['reason']}{hit}{where}"]
    if raised:
        lines = [f"{raised['exception_id']}: {raised['description']}{where}", raised["details"]["stack_trace"]]
    elif body["text"]:
        lines.append(body["text"])
    return mask_inside("\n".join(filter(None, lines)))


def first_line(text: str) -> str:
    return shorten(one_line(text.strip().partition("\n")[0]), LONGEST_OUTCOME)
