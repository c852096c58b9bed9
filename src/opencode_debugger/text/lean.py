"""The lean form of an answer in JSON: no zero, empty or repeated fields, source as one text.

A field that is left out is null, false, 0 or empty, or the rest says it already:

- source is one text: its lines with their numbers, `>` at the current one
- a frame has a path in place of a source, and only if it is not that of the frame above; the first frame of a stop,
  only if it is not that of its location
- a location has a column only beyond the first
- a variable has its type only where the value does not show it, its length only where the value is cut
- the exception of a stop has no location: it is that of the stop
- a document that another relay imports is whole
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from ..answers.documents import ExportedSession
from ..answers.inspection import Frame, StackTrace, Value, Variable
from ..answers.sessions import Location
from ..answers.source_code import Source
from ..answers.stop_reports import SourceLine, StopReport
from .render import decode_answer
from .view import PLAIN_TYPES, known

MEANINGFUL = frozenset({
    "id", "index", "frame_id", "exit_code", "verified", "enabled", "condition_met", "reached", "target_reached",
    "available", "waiting_for_input",
})
"""Fields of which a zero, false or empty one says something."""


def lean_answer(operation: str, data: bytes) -> bytes:
    """Return the JSON of an operation's answer in its lean form."""
    answer = decode_answer(operation, data)
    return data if isinstance(answer, ExportedSession) else msgspec.json.encode(lean_value(answer))


def lean_value(value: Any) -> Any:
    if isinstance(value, list):
        return [lean_value(item) for item in value]
    if not isinstance(value, msgspec.Struct):
        return value
    fields = asdict(value)
    for kind in type(value).__mro__:
        if kind in REDUCTIONS:
            fields |= REDUCTIONS[kind](value)
    told = {name: lean_value(item) for name, item in fields.items() if item is not msgspec.UNSET and item is not None}
    return {name: item for name, item in told.items() if item or name in MEANINGFUL}


def _reduced_value(value: Value) -> dict[str, Any]:
    hidden: dict[str, Any] = dict.fromkeys(("named_variables", "indexed_variables", "expandable", "presentation_hint"))
    return hidden if known(value.truncated) else {**hidden, "length": None}


def _reduced_variable(row: Variable) -> dict[str, Any]:
    return {"type": None} if row.type in PLAIN_TYPES and known(row.value) is not None else {}


def _lean_frames(frames: Sequence[Frame], path: str | None = None) -> list[dict[str, Any]]:
    """Return frames without the path of the one above, or of the place that is given."""
    lean = []
    for frame in frames:
        shown: dict[str, Any] = {"id": frame.id, "name": frame.name}
        if frame.source.path not in (None, path):
            shown["path"] = frame.source.path
        shown["line"] = frame.line
        if frame.presentation_hint != "normal":
            shown["presentation_hint"] = frame.presentation_hint
        lean.append(shown)
        path = frame.source.path
    return lean


def _reduced_stack(trace: StackTrace) -> dict[str, Any]:
    return {"frames": _lean_frames(trace.frames)}


def _reduced_location(location: Location) -> dict[str, Any]:
    return {"column": location.column if location.column > 1 else None, "end_line": None, "end_column": None}


def _reduced_source(source: Source) -> dict[str, Any]:
    text = numbered_text(source.lines, source.current_line)
    return {"lines": text, "start_line": None, "end_line": None, "current_line": None}


def _reduced_report(report: StopReport) -> dict[str, Any]:
    place, exception = known(report.current_location), known(report.exception)
    reduced: dict[str, Any] = {"source": numbered_text(known(report.source) or (), place.line if place else None)}
    reduced["stack"] = _lean_frames(known(report.stack) or (), place.path if place else None)
    reduced["callers"] = _lean_frames(known(report.callers) or ())
    if exception is not None:
        reduced["exception"] = msgspec.structs.replace(exception, location=msgspec.UNSET)
    return reduced


REDUCTIONS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Value: _reduced_value,
    Variable: _reduced_variable,
    StackTrace: _reduced_stack,
    Location: _reduced_location,
    Source: _reduced_source,
    StopReport: _reduced_report,
}
"""By kind of struct: the fields that its lean form has in another way; None for those that it has not."""


def numbered_text(lines: Sequence[SourceLine], current: int | None) -> str:
    """Return lines of source as one text, each with its number, and `>` at the current one."""
    return "\n".join(f"{'>' if each.line == current else ' '}{each.line} {each.text}" for each in lines)
