"""The stop report: what one needs to know at a stop, in one answer of bounded size."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ...answers.inspection import Variable
from ...answers.sessions import ExceptionInfo, WaitingForInput
from ...answers.stop_reports import Change, ReturnValue, SourceLine, StopReport, Written
from ...debuggers.shapes import Frames
from ...errors import RelayError, invalid_parameter
from ...operations.states import State
from ...text.paths import is_library
from ...wording import counted
from ..breakpoints.reached_breakpoints import explain_missed
from ..breakpoints.source_files import excerpt
from ..inspection.paused_program import describe_frame
from ..inspection.watch_table import REMEMBERED_THREADS, Watches
from ..lifecycle.choose_python import missing_module
from ..lifecycle.debuggee import Debuggee
from ..lifecycle.relatives import Relatives
from ..log.program_input import ProgramInput
from ..shared_control.attention import is_remembered
from .patience import explain_halt
from .report_parts import HOW_TO_GET, ReportParts, essence_of
from .stops import End, Outcome, Stop, frame_location, own_frame

if TYPE_CHECKING:
    from ...debuggers.rows import StopRow

SECTIONS = ("source", "locals", "changes", "watches", "stack", "exception", "breakpoints", "return_value", "output")
VALUES = frozenset({"locals", "changes", "watches", "return_value"})
NOTHING_ENTERED = (
    "Nothing was entered: what line {line} calls is native code, or code that is not debugged. The step is past it"
)
STACK_TOP = 5
STACK_MOST = 20
MOST_CALLERS = 4
LOCALS_MAX = 50
OUTPUT_LINES = 50
NAME = re.compile(r"[^\W\d]\w*")
FRAME = re.compile(r'  File "([^"]*)", line ')
CHILDREN_SHOWN = 20
COUNTED_FRAMES = 500
"""frames up to which every debugger tells how many there are"""
CUT_MARK = 10
"""characters at the end of a value that was cut which may say so"""
LEAST_BUDGET = 200
"""characters for the report of a child, however much the parent has to say"""


class LastReport(NamedTuple):
    """What the last report of a thread said."""

    place: tuple[str | None, str]
    """file and function"""
    callers: list[tuple[str, int]]
    """functions on the stack below, and the line of each"""
    locals: dict[str, Variable]
    has_all_locals: bool

    def is_told_by_changes(self, before: LastReport) -> bool:
        """Tell whether who knows the report before only needs to know which locals changed.

        Another call from the same line is no different, unless locals are gone, which are no changes."""
        is_same_stack = before.callers == self.callers and len(self.callers) < COUNTED_FRAMES
        return is_same_stack and (not self.has_all_locals or before.locals.keys() <= self.locals.keys())


@dataclass(eq=False)
class Reporter:
    """Builds reports and remembers what the last one said, to tell what is new."""

    _debuggee: Debuggee
    _input: ProgramInput
    _watches: Watches
    _relatives: Relatives
    _about_missing: Callable[[str], str | None]
    """says where a module was looked for that the program has not found"""
    _session_id: str
    _default_budget: int
    _shown_output: int = 0
    _last_reports: dict[int, LastReport] = field(default_factory=dict)
    """by thread"""

    async def collect_parts(
        self, outcome: Outcome | None, fields: list[str] | None = None, budget: int | None = None, frame: str = "own"
    ) -> ReportParts:
        """Report a stop or an end, or the state and output of a program that is still going.

        `frame` is the one that it looks into: that of the program's own code (own), or the top of the stack (top)."""
        wanted = frozenset(check_fields(fields))
        budget = budget or self._default_budget
        if isinstance(outcome, Stop):
            report = await self._report_stop(outcome, wanted, budget, 0 if frame == "top" else outcome.focus_frame)
        elif isinstance(outcome, End):
            report = self._report_end(outcome)
        else:
            report = self._report_running(budget)
        if "output" in wanted:
            self._add_output(report, budget)
        if fields is not None:
            report.pop("same_function", None)
        report.fit_budget(budget)
        return report

    def _begin_report(self, status: State) -> ReportParts:
        return ReportParts(session_id=self._session_id, status=str(status))

    def _report_running(self, budget: int) -> ReportParts:
        report = self._begin_report(self._debuggee.state)
        prompt = self._input.prompt()
        if prompt is not None:
            report["waiting_for_input"] = WaitingForInput(prompt=prompt[-(budget // 4) :])
        if why := explain_halt(self._debuggee.adapter):
            report["message"] = why
        self.add_paused_children(report)
        return report

    def add_paused_children(self, report: ReportParts) -> None:
        """Name the children for which the program may be waiting, if there are any."""
        if paused := self._relatives.paused_children(is_told=is_remembered()):
            report["paused_children"] = paused[:CHILDREN_SHOWN]

    async def child_report(self, report: ReportParts, fields: list[str] | None, budget: int | None) -> StopReport:
        """Return the report of the first child that this one names, in the room that it leaves."""
        left = (budget or self._default_budget) - len(msgspec.json.encode(report))
        child = self._relatives.family.find_session(report["paused_children"][0])
        return await child.execution.report_now(None, fields, max(left, LEAST_BUDGET))

    async def _report_stop(self, stop: Stop, wanted: frozenset[str], budget: int, index: int) -> ReportParts:
        place = frame_location(stop.frames[index]) if stop.frames else None
        report = self._begin_report(State.PAUSED)
        report |= {"stop_reason": stop.reason, "current_location": place, "thread_id": stop.thread_id}
        if index:
            report |= {"frame_id": index, "top_location": frame_location(stop.frames[0])}
        raised = stop.exception
        message = raised["message"] if raised and raised["type"] == "ModuleNotFoundError" else ""
        notes = [stop.note, self._missing_module_note(message)]
        if any(notes):
            report["note"] = ". ".join(filter(None, notes))
        if "breakpoints" in wanted and stop.hit_ids:
            report["hit_breakpoint_ids"] = stop.hit_ids
        if exception := _shorten_exception(stop.to_exception(), budget // 3):
            report["exception"] = exception if "exception" in wanted else essence_of(exception)
        if "source" in wanted and place and place.path:
            report["source"] = msgspec.convert(excerpt(place.path, place.line), list[SourceLine])
        if "stack" in wanted:
            self._add_stack(report, stop)
        if stop.frames and (wanted & VALUES or report.get("source") == [] or stop.stepped_from):
            await self._add_values(report, stop, wanted, budget, index)
        return report

    def _add_stack(self, report: ReportParts, stop: Stop) -> None:
        shown = min(STACK_TOP, len(stop.frames))
        if (own_index := own_frame(stop.frames[:STACK_MOST])) >= STACK_TOP:  # it stopped deep in a library
            shown = own_index + 1
        frames = enumerate(stop.frames[:shown])
        report["stack"] = [describe_frame(self._debuggee, frame, index) for index, frame in frames]
        if callers := _own_callers(stop.frames, shown):
            report["callers"] = [describe_frame(self._debuggee, stop.frames[index], index) for index in callers]
        hidden = len(stop.frames) - shown
        if hidden > 0:
            report.note_omission(counted(hidden, "more frame"), f"{{stack_trace start_frame={shown}}}")
        if shown > STACK_TOP and not stop.focus_frame:
            own = report["stack"][-1]
            where = f"{own.name} at {own.source.path}:{own.line}"
            report.setdefault("note", f"The program's own code is in frame {own.id}: {where}")

    async def _add_values(
        self, report: ReportParts, stop: Stop, wanted: frozenset[str], budget: int, index: int
    ) -> None:
        watched = self._watches.expressions if "watches" in wanted else []
        in_no_file = report.get("source") == []  # that can be read here
        asked = {"watched": watched, "with_source": in_no_file, "stepped_from": stop.stepped_from}
        more: dict[str, Any] = {name: value for name, value in asked.items() if value}
        adapter = self._debuggee.require_adapter()
        try:
            answer = await adapter.inspection.report(stop.frames[index]["id"], budget // 2, LOCALS_MAX, **more)
        except RelayError as error:
            if self._debuggee.is_at(stop.thread_id, stop.frames):
                report.note_omission(f"locals: {error.message}", HOW_TO_GET["locals"])
            return  # else another client has resumed it: what is above was true at the stop
        if "return_value" in wanted:
            _add_returned(report, stop, answer)
        if answer.get("source"):
            report["source"] = msgspec.convert(answer["source"], list[SourceLine])
        if answer.get("calls"):
            report["native_frame"] = True
            if answer["natives"]:
                report["native_functions"] = answer["natives"]
            report.setdefault("note", NOTHING_ENTERED.format(line=stop.stepped_from))
        if watched and "watches" in answer:
            report["watches"] = self._watches.report_rows(stop, watched, answer["watches"])
        place, variables = report["current_location"], msgspec.convert(answer["variables"], list[Variable])
        if "changes" in wanted:
            function = (place.path, place.function)
            callers = [(frame["name"], frame["line"]) for frame in stop.frames[index + 1 :]]
            values = {variable.name: variable for variable in variables}
            self._add_changes(report, stop.thread_id, LastReport(function, callers, values, not answer["omitted"]))
        if "locals" in wanted:
            line = excerpt(place.path, place.line, 0, 0) if place.path else []
            used = set(NAME.findall(line[0]["text"])) if line else set()
            variables.sort(key=lambda variable: variable.name not in used)
            report["locals"] = _rows_that_fit(variables, budget // 2)
            hidden = answer["omitted"] + len(variables) - len(report["locals"])
            if hidden:
                report.note_omission(counted(hidden, "more local"), HOW_TO_GET["locals"])

    def _add_changes(self, report: ReportParts, thread_id: int, now: LastReport) -> None:
        """Compare with the last report of the thread, if it was in the same function.

        Those who may only read are told of no changes: they are shown values in other words, and leave no mark."""
        report["changes"] = []
        if not is_remembered():
            return
        before = self._last_reports.pop(thread_id, None)
        while len(self._last_reports) >= REMEMBERED_THREADS:
            del self._last_reports[next(iter(self._last_reports))]
        self._last_reports[thread_id] = now
        if before is not None and before.place == now.place:
            report["changes"] = _changed_locals(before.locals, now.locals)
            if now.is_told_by_changes(before):
                report["same_function"] = True

    def _report_end(self, end: End) -> ReportParts:
        status = end.status
        report = self._begin_report(self._debuggee.state)
        report |= {"reason": end.reason, "exit_code": status.code if status else None}
        if status is not None and status.signal:
            report["signal"] = status.signal
        notes = [self._missing_module_at_end(end)]
        if end.reason == "exited" and not self._relatives.have_hits():
            notes.append(explain_missed(self._debuggee.breakpoints.all(), self._relatives.about_children()))
        if any(notes):
            report["note"] = ". ".join(filter(None, notes))
        return report

    def _missing_module_note(self, message: str) -> str | None:
        module = missing_module(message)
        return self._about_missing(module) if module else None

    def _missing_module_at_end(self, end: End) -> str | None:
        """Look at its last words: Python says there that a module was not found, also that of `python -m`."""
        if end.status is None or not end.status.code:
            return None
        entries = self._debuggee.last_output()
        last = "".join(entry.body[1] for entry in entries if entry.body[0] == "stderr").strip().rpartition("\n")[2]
        return self._missing_module_note(last)

    def _add_output(self, report: ReportParts, budget: int) -> None:
        log = self._debuggee.log
        shown_until = max(self._shown_output, log.output_cleared)
        start = max(shown_until, log.output_end - OUTPUT_LINES)
        skipped = start - shown_until
        _, entries, shown_now = log.output_since(start, OUTPUT_LINES)
        if is_remembered():
            self._shown_output = shown_now
        room = budget // 4
        shown: list[Written] = []
        while entries and room > 0:
            category, text = entries.pop().body
            shown.insert(0, Written(category=category, output=text[-room:]))
            room -= len(shown[0].output)
        if shown:
            report["output"] = shown
        if entries or skipped:
            count = counted(len(entries) + skipped, "earlier output entry", "earlier output entries")
            report.note_omission(count, HOW_TO_GET["output"])


def _own_callers(frames: Frames, start: int) -> list[int]:
    """Return the indexes of own frames from `start` on that called something through a library."""
    is_library_frame = [frame.get("presentationHint") == "subtle" for frame in frames]
    first = is_library_frame.index(True) if True in is_library_frame else len(frames)
    return [index for index in range(max(start, first), len(frames)) if not is_library_frame[index]][:MOST_CALLERS]


def _fitting_notes(notes: list[str], room: int) -> list[str]:
    shown = []
    for note in notes:
        if room > 0:
            shown.append(note if len(note) <= room else note[:room] + "...")
        room -= len(note)
    return shown


def _add_returned(report: ReportParts, stop: Stop, answer: StopRow) -> None:
    """Add the value that the function returned which was just left, and those that calls of the step returned."""
    left = answer["left"]
    if left is not None:
        how: dict[str, Any] = {"function": left["function"]} | ({"yielded": True} if left["how"] == "yield" else {})
        for row in answer["return_value"]:
            report["return_value"] = ReturnValue(type=row["type"], value=row["value"], **how)
        if stop.left_function and left["how"] == "raise":
            report.setdefault("note", f"{left['function']}() is being left by an exception")
    if answer["returned"]:
        report["returned"] = [
            ReturnValue(function=row["name"], type=row["type"], value=row["value"]) for row in answer["returned"]
        ]


def _changed_locals(before: dict[str, Variable], now: dict[str, Variable]) -> list[Change]:
    changes = []
    for name, variable in now.items():
        old = before.get(name)
        if old is None or _differ(old, variable):
            changes.append(Change(name=name, old=str(old.value) if old else None, new=str(variable.value)))
    return changes


def _differ(old: Variable, new: Variable) -> bool:
    """Compare two values as far as both are shown: how much of a long one is depends on the others."""
    before, now = str(old.value), str(new.value)
    if before == now or (old.type, old.length) != (new.type, new.length):
        return before != now
    if old.truncated is not True or new.truncated is not True:
        return True
    shared = max(0, min(len(before), len(now)) - CUT_MARK)
    return before[:shared] != now[:shared]


def check_fields(fields: list[str] | None) -> list[str]:
    """Refuse unknown fields before anything is done: a request that is refused has no effect."""
    unknown = [name for name in fields or [] if name not in (*SECTIONS, "location")]
    if unknown:
        known = "Known fields: location, " + ", ".join(SECTIONS)
        raise invalid_parameter("fields", unknown[0], f"Unknown report field '{unknown[0][:50]}'", known)
    return list(SECTIONS) if fields is None else fields


def _rows_that_fit(rows: list[Variable], room: int) -> list[Variable]:
    """Return as many rows as fit, but at least one: their names, types and references take room too."""
    for index, row in enumerate(rows):
        room -= len(msgspec.json.encode(row)) + 1
        if room < 0 and index:
            return rows[:index]
    return rows


def _shorten_exception(exception: ExceptionInfo | None, room: int) -> ExceptionInfo | None:
    """Cut a long traceback: frames of libraries go first, then its beginning, since the end is the part that tells."""
    if exception and exception.traceback and len(exception.traceback) > room:
        own = _without_libraries(exception.traceback)
        exception = replace(exception, traceback=own if len(own) <= room else "..." + own[-room:])
    if exception and exception.message and len(exception.message) > room:
        exception = replace(exception, message=exception.message[:room] + "...")
    if exception and exception.notes:
        exception = replace(exception, notes=_fitting_notes(exception.notes, room))
    return exception


def _without_libraries(traceback: str) -> str:
    shown, hidden, is_hidden = [], 0, False
    for line in traceback.splitlines(keepends=True):
        frame = FRAME.match(line)
        if frame:
            is_hidden = is_library(frame[1])
            hidden += is_hidden
        elif not line.startswith("    "):
            is_hidden = False  # the end of the frames: what was raised
        if not is_hidden:
            if hidden:
                shown.append(f"  [{counted(hidden, 'frame')} in libraries]\n")
                hidden = 0
            shown.append(line)
    return "".join(shown)
