"""The stop report: what one needs to know at a stop, in one answer of bounded size."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ..adapters.permission import may_run
from ..errors import RelayError, invalid_parameter
from ..wording import counted
from .choosing_python import missing_module
from .debuggee import LIBRARY, Debuggee
from .input import Input
from .inspection import describe_frame
from .missed import missed
from .patience import halt
from .source import excerpt
from .state import State
from .stops import End, Outcome, Stop, location
from .watches import THREADS, Watches

SECTIONS = ("source", "locals", "changes", "watches", "stack", "exception", "breakpoints", "return_value", "output")
VALUES = frozenset({"locals", "changes", "watches", "return_value"})
NATIVE = "Nothing was entered: what line {line} calls is native code, or code that is not debugged. The step is past it"
STACK_TOP = 5
STACK_MOST = 20
LOCALS_MAX = 50
OUTPUT_LINES = 50
LAST_WORDS = 20
ESSENTIAL = ("type", "message")
"""of an exception, whatever was asked for"""
FEWEST = {"stack": 2, "source": 3, "locals": 4}
"""how many rows of them stay before others of them go altogether"""
NAME = re.compile(r"[^\W\d]\w*")
FRAME = re.compile(r'  File "([^"]*)", line ')
CHILDREN = 20
LEAST_BUDGET = 200
"""characters for the report of a child, however much the parent has to say"""


class Reporter:
    """Builds reports and remembers what the last one said, to tell what is new."""

    def __init__(
        self, debuggee: Debuggee, input: Input, watches: Watches, session_id: str, default_budget: int
    ) -> None:
        self._debuggee = debuggee
        self._input = input
        self._watches = watches
        self._session_id = session_id
        self._default_budget = default_budget
        self._shown_output = 0
        self._last: dict[int, tuple[Any, dict[str, str]]] = {}
        """by thread: where the last report of it was, and its locals"""
        self.paused_children: Callable[[], list[str]] = list
        """sessions of children that stand at a stop, for whom the program may be waiting; what is new comes first"""
        self.report_of: Callable[[str, list[str] | None, int], Awaitable[dict[str, Any]]] = _nothing
        """the report of one of them, by its session"""
        self.about_missing: Callable[[str], str | None] = lambda module: None
        """where a module was looked for that the program has not found"""
        self.about_children: Callable[[], str] = str
        """what to know of processes that it started, if its breakpoints were not reached"""
        self.children_have_hits: Callable[[], bool] = bool
        """whether its breakpoints were hit in processes that it started"""

    async def report(
        self,
        outcome: Outcome | None,
        fields: list[str] | None = None,
        budget: int | None = None,
        frame: str = "own",
    ) -> dict[str, Any]:
        """Of a stop or an end; of a program that is still going, its state and output.

        `frame` is the one that it looks into: that of the program's own code (own), or the top of the stack (top)."""
        wanted = frozenset(check_fields(fields))
        budget = budget or self._default_budget
        if isinstance(outcome, Stop):
            report = await self._stopped(outcome, wanted, budget, 0 if frame == "top" else outcome.focus)
        elif isinstance(outcome, End):
            report = self._ended(outcome)
        else:
            report = self._going(budget)
        if "output" in wanted:
            self._add_output(report, budget)
        return _of_frame(fit(report, budget))

    def _going(self, budget: int) -> dict[str, Any]:
        report: dict[str, Any] = {"session_id": self._session_id, "status": str(self._debuggee.state)}
        prompt = self._input.prompt()
        if prompt is not None:
            report["waiting_for_input"] = {"prompt": prompt[-(budget // 4) :]}
        if why := halt(self._debuggee.adapter):
            report["message"] = why
        return report | self.children()

    def children(self) -> dict[str, Any]:
        """Those for whom the program may be waiting, if there are any."""
        paused = self.paused_children()
        return {"paused_children": paused[:CHILDREN]} if paused else {}

    async def child_report(
        self, answer: dict[str, Any], fields: list[str] | None, budget: int | None
    ) -> dict[str, Any]:
        """Of the first child that the answer names, in the room that the answer leaves."""
        left = (budget or self._default_budget) - len(msgspec.json.encode(answer))
        return await self.report_of(answer["paused_children"][0], fields, max(left, LEAST_BUDGET))

    async def _stopped(self, stop: Stop, wanted: frozenset[str], budget: int, index: int) -> dict[str, Any]:
        place = location(stop.frames[index]) if stop.frames else None
        report: dict[str, Any] = {
            "session_id": self._session_id,
            "status": str(State.PAUSED),
            "stop_reason": stop.reason,
            "current_location": place,
            "thread_id": stop.thread_id,
        }
        if index:
            report |= {"frame_id": index, "top_location": location(stop.frames[0])}
        notes = [stop.note, self._missing(stop.exception)]
        if any(notes):
            report["note"] = ". ".join(filter(None, notes))
        if "breakpoints" in wanted and stop.hit_ids:
            report["hit_breakpoint_ids"] = stop.hit_ids
        if exception := _shortened(stop.to_exception(), budget // 3):
            essential = {name: exception[name] for name in ESSENTIAL}
            report["exception"] = exception if "exception" in wanted else essential
        if "source" in wanted and place and place["path"]:
            report["source"] = excerpt(place["path"], place["line"])
        if "stack" in wanted:
            self._add_stack(report, stop)
        if stop.frames and (wanted & VALUES or report.get("source") == [] or stop.stepped_from):
            await self._add_values(report, stop, wanted, budget, index)
        return report

    def _add_stack(self, report: dict[str, Any], stop: Stop) -> None:
        shown = _shown_of(stop.frames)
        frames = enumerate(stop.frames[:shown])
        report["stack"] = [describe_frame(self._debuggee, frame, index) for index, frame in frames]
        hidden = len(stop.frames) - shown
        if hidden > 0:
            _omit(report, counted(hidden, "more frame"), f"GET /sessions/{{id}}/stacktrace?start_frame={shown}")
        if shown > STACK_TOP and not stop.focus:
            own = report["stack"][-1]
            where = f"{own['name']} at {own['source']['path']}:{own['line']}"
            report.setdefault("note", f"The program's own code is in frame {own['id']}: {where}")

    async def _add_values(
        self, report: dict[str, Any], stop: Stop, wanted: frozenset[str], budget: int, index: int
    ) -> None:
        more: dict[str, Any] = {}
        watched = self._watches.expressions if "watches" in wanted else []
        if watched:
            more["watched"] = watched
        if report.get("source") == []:
            more["with_source"] = True  # it is in no file that can be read here
        if stop.stepped_from:
            more["stepped_from"] = stop.stepped_from
        adapter = self._debuggee.require_adapter()
        try:
            answer = await adapter.report(stop.frames[index]["id"], budget // 2, LOCALS_MAX, **more)
        except RelayError as error:
            if self._debuggee.is_at(stop.thread_id, stop.frames):
                _omit(report, f"locals: {error.message}", "GET /sessions/{id}/frames/0/variables")
            return  # else another client has resumed it: what is above was true at the stop
        if "return_value" in wanted:
            _add_returned(report, stop, answer)
        if answer.get("source"):
            report["source"] = answer["source"]
        if answer.get("calls"):
            report["native_frame"] = True
            report |= {"native_functions": answer["natives"]} if answer["natives"] else {}
            report.setdefault("note", NATIVE.format(line=stop.stepped_from))
        if watched and "watches" in answer:
            report["watches"] = self._watches.look(stop, watched, answer["watches"])
        if "changes" in wanted:
            report["changes"] = self._changes(stop, report["current_location"], answer["variables"])
        if "locals" in wanted:
            report["locals"] = _first_of(_used_first(answer["variables"], report["current_location"]), budget // 2)
            hidden = answer["omitted"] + len(answer["variables"]) - len(report["locals"])
            if hidden:
                _omit(report, counted(hidden, "more local"), GET["locals"])

    def _changes(self, stop: Stop, place: dict[str, Any], variables: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Against the last report of the thread, if it was in the same function.

        Nothing is said to those who may only read: they are shown values in other words, and leave no mark."""
        if not may_run.get():
            return []
        here = (place["path"], place["function"])
        values = {variable["name"]: variable["value"] for variable in variables}
        there, before = self._last.pop(stop.thread_id, (None, {}))
        while len(self._last) >= THREADS:
            del self._last[next(iter(self._last))]
        self._last[stop.thread_id] = (here, values)
        if here != there:
            return []
        return [
            {"name": name, "old": before.get(name), "new": value}
            for name, value in values.items()
            if before.get(name) != value
        ]

    def _ended(self, end: End) -> dict[str, Any]:
        status = end.status
        report: dict[str, Any] = {
            "session_id": self._session_id,
            "status": str(self._debuggee.state),
            "reason": end.reason,
            "exit_code": status.code if status else None,
        }
        if status is not None and status.signal:
            report["signal"] = status.signal
        notes = [self._missing_at_end(end)]
        if end.reason == "exited" and not self.children_have_hits():
            notes.append(missed(self._debuggee.breakpoints.all(), self.about_children()))
        if any(notes):
            report["note"] = ". ".join(filter(None, notes))
        return report

    def _missing(self, exception: dict[str, Any] | None) -> str | None:
        if exception is None or exception["type"] != "ModuleNotFoundError":
            return None
        module = missing_module(exception["message"])
        return self.about_missing(module) if module else None

    def _missing_at_end(self, end: End) -> str | None:
        """Look at its last words: Python says there that a module was not found, also that of `python -m`."""
        if end.status is None or not end.status.code:
            return None
        log = self._debuggee.log
        _, entries, _ = log.output_since(max(0, log.output_end - LAST_WORDS), LAST_WORDS)
        last = "".join(entry.body[1] for entry in entries if entry.body[0] == "stderr").strip().rpartition("\n")[2]
        module = missing_module(last)
        return self.about_missing(module) if module else None

    def _add_output(self, report: dict[str, Any], budget: int) -> None:
        log = self._debuggee.log
        shown_until = max(self._shown_output, log.output_cleared)
        start = max(shown_until, log.output_end - OUTPUT_LINES)
        skipped = start - shown_until
        _, entries, shown_now = log.output_since(start, OUTPUT_LINES)
        if may_run.get():
            self._shown_output = shown_now
        texts = [{"category": entry.body[0], "output": entry.body[1]} for entry in entries]
        room = budget // 4
        shown: list[dict[str, Any]] = []
        while texts and room > 0:
            entry = texts.pop()
            entry["output"] = entry["output"][-room:]
            room -= len(entry["output"])
            shown.insert(0, entry)
        if shown:
            report["output"] = shown
        if texts or skipped:
            _omit(
                report, counted(len(texts) + skipped, "earlier output entry", "earlier output entries"), GET["output"]
            )


async def _nothing(session_id: str, fields: list[str] | None, budget: int) -> dict[str, Any]:
    return {}


def _add_returned(report: dict[str, Any], stop: Stop, answer: dict[str, Any]) -> None:
    """What the function gave that was just left, and what those gave that the step ran."""
    left = answer["left"]
    for row in answer["return_value"]:
        report["return_value"] = {"type": row["type"], "value": row["value"], "function": left["function"]}
        if left["how"] == "yield":
            report["return_value"]["yielded"] = True
    if stop.left and left is not None and left["how"] == "raise":
        report.setdefault("note", f"{left['function']}() is being left by an exception")
    if answer["returned"]:
        report["returned"] = [
            {"function": row["name"], "type": row["type"], "value": row["value"]} for row in answer["returned"]
        ]


def _shown_of(frames: list[dict[str, Any]]) -> int:
    """How many frames are shown: down to the first of the program's own, if it stopped deep in a library."""
    if all(frame.get("presentationHint") == "subtle" for frame in frames[:STACK_TOP]):
        for index, frame in enumerate(frames[:STACK_MOST]):
            if frame.get("presentationHint") != "subtle":
                return index + 1
    return min(STACK_TOP, len(frames))


def check_fields(fields: list[str] | None) -> list[str]:
    """Before anything is done: a request that is refused has no effect."""
    unknown = [name for name in fields or [] if name not in (*SECTIONS, "location")]
    if unknown:
        known = "Known fields: location, " + ", ".join(SECTIONS)
        raise invalid_parameter("fields", unknown[0], f"Unknown report field '{unknown[0][:50]}'", known)
    return list(SECTIONS) if fields is None else fields


def _first_of(rows: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """As many as fit, but at least one: their names, types and references take room too."""
    for index, row in enumerate(rows):
        room -= len(msgspec.json.encode(row)) + 1
        if room < 0 and index:
            return rows[:index]
    return rows


def _of_frame(report: dict[str, Any]) -> dict[str, Any]:
    """What was left out is got from the frame that the report is about."""
    for omission in report.get("omitted", ()) if "frame_id" in report else ():
        omission["get"] = omission["get"].replace("/frames/0/", f"/frames/{report['frame_id']}/")
    return report


def _omit(report: dict[str, Any], what: str, get: str) -> None:
    report.setdefault("omitted", []).append({"what": what, "get": get})


def _used_first(rows: list[dict[str, Any]], place: dict[str, Any]) -> list[dict[str, Any]]:
    """What the line at hand uses, then the others, each in the order that they had."""
    line = excerpt(place["path"], place["line"], 0, 0) if place["path"] else []
    used = set(NAME.findall(line[0]["text"])) if line else set()
    return sorted(rows, key=lambda row: row["name"] not in used)


def _shortened(exception: dict[str, Any] | None, room: int) -> dict[str, Any] | None:
    """Frames of libraries go first; of the rest, the end of a long traceback is the part that tells."""
    if exception and exception["traceback"] and len(exception["traceback"]) > room:
        own = _without_libraries(exception["traceback"])
        exception["traceback"] = own if len(own) <= room else "..." + own[-room:]
    if exception and exception["message"] and len(exception["message"]) > room:
        exception["message"] = exception["message"][:room] + "..."
    return exception


def _without_libraries(traceback: str) -> str:
    shown, hidden, is_hidden = [], 0, False
    for line in traceback.splitlines(keepends=True):
        frame = FRAME.match(line)
        if frame:
            is_hidden = LIBRARY.search(frame[1]) is not None
            hidden += is_hidden
        elif not line.startswith("    "):
            is_hidden = False  # the end of the frames: what was raised
        if not is_hidden:
            if hidden:
                shown.append(f"  [{counted(hidden, 'frame')} in libraries]\n")
                hidden = 0
            shown.append(line)
    return "".join(shown)


GET = {
    "output": "GET /sessions/{id}/output?tail=100",
    "returned": "GET /sessions/{id}/frames/0/variables",
    "changes": "GET /sessions/{id}/frames/0/variables",
    "stack": "GET /sessions/{id}/stacktrace",
    "source": "GET /sessions/{id}/source",
    "locals": "GET /sessions/{id}/frames/0/variables",
    "return_value": "GET /sessions/{id}/frames/0/variables",
    "watches": "GET /sessions/{id}/watch",
}
"""Parts that can be left out, the least needed first."""


def fit(report: dict[str, Any], budget: int) -> dict[str, Any]:
    """Leave parts out, the least needed first, until the report keeps to its budget.

    What it is about always stays: status, reason, place, notes, and the type and message of an exception."""
    if is_longer(report, budget) and (exception := report.get("exception")):
        report["exception"] = {name: exception[name] for name in (*ESSENTIAL, "location") if name in exception}
        if len(exception) > len(report["exception"]):
            _omit(report, "the traceback of the exception", "GET /sessions/{id}/exception")
    for section, get in GET.items():
        if not is_longer(report, budget):
            break
        kept = FEWEST.get(section, 0)
        if len(report.get(section) or ()) > kept > 0:
            report[section] = _fewer(report, section, kept)
            _omit(report, f"most of {section}", get)
        elif report.get(section) and not kept:
            del report[section]
            _omit(report, section, get)
    for section in FEWEST:
        if is_longer(report, budget) and report.pop(section, None):
            report["omitted"] = [each for each in report.get("omitted", ()) if each["what"] != f"most of {section}"]
            _omit(report, section, GET[section])
    return report


def is_longer(report: dict[str, Any], budget: int) -> bool:
    return len(msgspec.json.encode(report)) > budget


def _fewer(report: dict[str, Any], section: str, kept: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = report[section]
    if section != "source":
        return rows[:kept]
    line = (report.get("current_location") or {}).get("line")
    here = next((index for index, row in enumerate(rows) if row["line"] == line), 0)
    return rows[max(0, here - 1) : here + 2]
