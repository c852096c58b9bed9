"""The stop report of a moment of the past."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ...answers.stop_reports import Change, SourceLine, StopReport, Written
from ...wording import counted
from ..breakpoints.source_files import excerpt
from ..execution.report_parts import HOW_TO_GET, ReportParts
from ..execution.stop_report import LOCALS_MAX, STACK_TOP, check_fields
from ..inspection.paused_program import describe_frame
from ..inspection.watch_table import Watches
from ..lifecycle.debuggee import Debuggee
from ..recording.recorded_values import value_text
from .past_inspection import watch_row
from .past_stop import PastStop

OUTPUT_LINES = 10


@dataclass(eq=False)
class PastReporter:
    """Makes reports, and remembers what the last one said, to tell what is new."""

    _debuggee: Debuggee
    _watches: Watches
    _session_id: str
    _default_budget: int
    _last: PastStop | None = None
    _last_output: list[Written] | None = None

    def report(self, stop: PastStop, fields: list[str] | None, budget: int | None) -> StopReport:
        wanted, budget = frozenset(check_fields(fields)), budget or self._default_budget
        report = ReportParts(
            session_id=self._session_id, status=str(self._debuggee.state), past=stop.describe(),
            stop_reason=stop.reason, current_location=stop.location, thread_id=stop.thread_id)
        if stop.note:
            report["note"] = stop.note
        if stop.hit_ids and "breakpoints" in wanted:
            report["hit_breakpoint_ids"] = stop.hit_ids
        if exception := stop.exception():
            report["exception"] = exception
        if (returned := stop.returned()) and "return_value" in wanted:
            report["return_value"] = returned
        if "source" in wanted:
            path, recorded = stop.location.path or "", stop.recorded_source(stop.location.path)
            shown = excerpt(path if recorded is None else recorded, stop.location.line)
            report["source"] = msgspec.convert(shown, list[SourceLine])
        if "stack" in wanted:
            frames = stop.rows[:STACK_TOP]
            report["stack"] = [describe_frame(self._debuggee, row, index) for index, row in enumerate(frames)]
            if hidden := len(stop.rows) - len(frames):
                report.note_omission(counted(hidden, "more frame"), f"{{stack_trace start_frame={len(frames)}}}")
        if "locals" in wanted:
            report["locals"] = stop.variables(0)[:LOCALS_MAX]
            if (hidden := len(stop.frames[0].values) - LOCALS_MAX) > 0:
                report.note_omission(counted(hidden, "more local"), HOW_TO_GET["locals"])
        if "changes" in wanted:
            self._add_changes(report, stop, is_whole=fields is None)
        if "watches" in wanted and (asked := self._watches.expressions):
            rows = [watch_row(stop, each) for each in asked]
            report["watches"] = self._watches.report_rows(stop.to_stop(), asked, rows)
        if "output" in wanted:
            self._add_output(report, stop, budget // 4, is_whole=fields is None)
        report.fit_budget(budget)
        return report.to_report()

    def _add_changes(self, report: ReportParts, stop: PastStop, is_whole: bool) -> None:
        """Compare with the moment that was reported before, if it was of the same call."""
        before, self._last = self._last, stop
        report["changes"] = []
        if before is None or before is stop or before.moment.call.number != stop.moment.call.number:
            return
        old, new = before.frames[0].values, stop.frames[0].values
        report["changes"] = [
            Change(name=name, old=value_text(old[name]) if name in old else None, new=value_text(value))
            for name, value in new.items() if name not in old or value_text(old[name]) != value_text(value)
        ]
        if is_whole and old.keys() <= new.keys() and not stop.moment.is_end:
            report["same_function"] = True

    def _add_output(self, report: ReportParts, stop: PastStop, room: int, is_whole: bool) -> None:
        """Add the last lines that had been written by then, unless it is a step whose report before had the same.

        A look at some parts, such as a page takes, leaves them new to whoever is told the whole.
        """
        entries = self._debuggee.log.output_until(stop.seconds, OUTPUT_LINES)
        shown = [Written(category=entry.body[0], output=entry.body[1][-room:]) for entry in entries]
        if shown and not (report.get("same_function") and shown == self._last_output):
            report["output"] = shown
        if is_whole:
            self._last_output = shown
