"""The parts of a stop report while they are collected, and the order in which they are left out to keep its budget."""

from __future__ import annotations

from typing import Any

import msgspec

from ...answers.sessions import ExceptionInfo
from ...answers.shape import UNSET, Answer
from ...answers.stop_reports import Omission, StopReport
from ...operations.advice import advice

FEWEST_ROWS = {"stack": 2, "source": 3, "locals": 4}
"""Rows of a section that stay until other sections are left out altogether."""
HOW_TO_GET = {
    "output": "{output tail=100}",
    "returned": "{frame_variables frame_id=0}",
    "callers": "{stack_trace}",
    "changes": "{frame_variables frame_id=0}",
    "stack": "{stack_trace}",
    "source": "{source}",
    "locals": "{frame_variables frame_id=0}",
    "return_value": "{frame_variables frame_id=0}",
    "watches": "{list_watches}",
}
"""Parts that can be left out, the least needed first."""


def is_longer(answer: Answer | dict[str, Any], budget: int) -> bool:
    return len(msgspec.json.encode(answer)) > budget


class ReportParts(dict[str, Any]):
    """Fields of a report by name, as far as they are known."""

    def to_report(self) -> StopReport:
        return StopReport(**self)

    def note_omission(self, what: str, get: str) -> None:
        """Note what was left out; advice on how to get it names the frame that the report is about."""
        get = get.replace("frame_id=0", f"frame_id={self.get('frame_id', 0)}")
        self.setdefault("omitted", []).append(Omission(what=what, get=advice(get)))

    def fit_budget(self, budget: int) -> None:
        """Leave parts out, the least needed first, until the report keeps to its budget.

        What it is about always stays: status, reason, place, notes, and the type and message of an exception."""
        if is_longer(self, budget) and (exception := self.get("exception")):
            self["exception"] = shown = essence_of(exception, exception.location)
            if shown != exception:
                self.note_omission("the traceback of the exception", "{exception}")
        for section, get in HOW_TO_GET.items():
            if not is_longer(self, budget):
                break
            kept = FEWEST_ROWS.get(section, 0)
            if kept and len(self.get(section) or ()) > kept:
                rows, place = self[section], self.get("current_location")
                here = 0
                if section == "source" and place:
                    here = next((index for index, row in enumerate(rows) if row.line == place.line), 0)
                self[section] = rows[max(0, here - 1) : here + 2] if section == "source" else rows[:kept]
                self.note_omission(f"most of {section}", get)
            elif self.get(section) and not kept:
                del self[section]
                self.note_omission(section, get)
        for section in FEWEST_ROWS:
            if is_longer(self, budget) and self.pop(section, None):
                self["omitted"] = [each for each in self.get("omitted", ()) if each.what != f"most of {section}"]
                self.note_omission(section, HOW_TO_GET[section])


def essence_of(exception: ExceptionInfo, location: Any = UNSET) -> ExceptionInfo:
    """Return what is shown of an exception whatever was asked for."""
    return ExceptionInfo(type=exception.type, message=exception.message, notes=exception.notes, location=location)
