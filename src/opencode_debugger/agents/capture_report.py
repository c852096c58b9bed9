"""Writes what a capture found as one report: text, Markdown or JSON."""

from __future__ import annotations

from textwrap import indent

import msgspec

from ..wording import counted
from .capture import RecordedStop, Recording

FENCE = "````"
"""Longer than what programs print that print Markdown."""


def write_report(recording: Recording, title: str, form: str) -> str:
    return {"text": _text_report, "markdown": _markdown_report, "json": _json_report}[form](recording, title)


def _text_report(recording: Recording, title: str) -> str:
    parts = [f"capture of {title}: {counted(len(recording.stops), 'stop')}"]
    for number, stop in enumerate(recording.stops, 1):
        parts.append("\n".join([f"--- stop {number}", stop.text, *_values(stop), *_callers(stop), *stop.changes]))
    if recording.end:
        parts.append(f"--- end\n{recording.end}")
    if recording.course:
        parts.append(f"--- how it came about\n{recording.course}")
    parts += [f"left out: {each}" for each in recording.left_out]
    return "\n\n".join(parts) + "\n"


def _markdown_report(recording: Recording, title: str) -> str:
    parts = [f"# Capture of `{title}`", f"{counted(len(recording.stops), 'stop')}."]
    for number, stop in enumerate(recording.stops, 1):
        parts += [f"## Stop {number}", _fenced(stop.text)]
        if stop.values:
            parts.append(_fenced("\n".join(_values(stop))))
        parts += [f"Caller `{each.title}`:\n\n{_fenced(each.text)}" for each in stop.callers]
        if stop.changes:
            parts.append("Given and changed:\n\n" + _fenced("\n".join(stop.changes)))
    if recording.end:
        parts += ["## End", _fenced(recording.end)]
    if recording.course:
        parts += ["## How it came about", _fenced(recording.course)]
    if recording.left_out:
        parts += ["## Left out", "\n".join(f"- {each}" for each in recording.left_out)]
    return "\n\n".join(parts) + "\n"


def _json_report(recording: Recording, title: str) -> str:
    stops = [
        {"report": stop.data, "values": {each.title: each.text for each in stop.values}, "callers": stop.callers,
         "changes": stop.changes}
        for stop in recording.stops
    ]
    report = {"program": title, "stops": stops, "end": recording.end_data,
        "course": recording.course_data, "left_out": recording.left_out}
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def _values(stop: RecordedStop) -> list[str]:
    return [f"{each.title} = {each.text}" for each in stop.values]


def _callers(stop: RecordedStop) -> list[str]:
    return [f"in {each.title}\n{indent(each.text, '  ')}" for each in stop.callers]


def _fenced(text: str) -> str:
    return f"{FENCE}text\n{text}\n{FENCE}"
