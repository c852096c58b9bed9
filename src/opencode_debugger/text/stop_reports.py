"""Stop reports as text: a first stop with all that is needed there, a step with what it changed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import msgspec

from ..answers.inspection import Variable, WatchValue
from ..answers.sessions import ExceptionInfo, PastMoment
from ..answers.stop_reports import (
    Attached,
    InputSent,
    Launched,
    ProgramAttached,
    ProgramRun,
    RanTo,
    Restarted,
    ReturnValue,
    SourceLine,
    Stepped,
    SteppedUntil,
    StepTarget,
    StopReport,
)
from ..operations.advice import advice
from ..operations.states import State
from ..wording import counted
from .breakpoint_lines import breakpoint_line
from .stacks import NAME_WIDTH, stack_line
from .tracebacks import RaisedIn, own_places
from .view import MARK_WIDTH, View, known, marked_output, one_line, shorten

FIRST_STOP = 1200
"""characters of a stop"""
STEP = 300
"""characters of a step that stays in its function"""
PROMPT_WIDTH = 200
MOST_LINKS = 5
"""exceptions of a chain or group that are shown"""
_NAME = re.compile(r"[^\W\d]\w*")
_COUNTED = re.compile(r"(\d+) more (local|frame)s?$")
_ABOUT_STEPS = re.compile(r"^(changes|watches|return|locals: )|output")
"""omissions that matter to a step"""
_DEFINITIONS = ("<function ", "<class ", "<module ", "<built-in ")
_ENDED = ("terminated", "failed")
MAIN_THREAD = "thread MainThread"
"""as recordings call it"""
_BEGINNINGS = (Launched, Restarted, Attached, ProgramRun, ProgramAttached)
"""reports that begin a session's run: all of the stop is new"""


class Detail(msgspec.Struct, frozen=True):
    """How much of a stop is shown; output in characters."""

    value_width: int
    names: int
    source_around: int
    source_width: int
    frames: int
    output: int


DETAILS = (
    Detail(1000, 200, 3, 300, 20, 4000),
    Detail(400, 100, 3, 200, 12, 1500),
    Detail(200, 40, 3, 120, 8, 400),
    Detail(120, 40, 3, 120, 8, 400),
    Detail(80, 40, 3, 120, 8, 400),
    Detail(60, 24, 3, 120, 6, 400),
    Detail(60, 14, 3, 120, 5, 300),
    Detail(50, 10, 2, 110, 5, 200),
    Detail(40, 8, 1, 100, 4, 160),
    Detail(30, 5, 1, 80, 3, 120),
    Detail(24, 4, 0, 60, 2, 80),
    Detail(16, 2, 0, 40, 1, 40),
)
"""From all that is useful to the least: values are cut first, then there are fewer names, then there is less source."""
STEP_DETAILS = (
    Detail(1000, 100, 0, 300, 0, 2000),
    Detail(300, 40, 0, 150, 0, 400),
    Detail(80, 10, 0, 100, 0, 120),
    Detail(40, 6, 0, 80, 0, 80),
    Detail(24, 4, 0, 60, 0, 40),
    Detail(16, 2, 0, 40, 0, 20),
    Detail(12, 1, 0, 30, 0, 10),
)


def render_stop_report(
    report: StopReport, view: View, is_asked_again: bool = False, budget: int | None = None
) -> str:
    """Render what became of the program within a budget; a report that is asked for again shows all of the stop."""
    is_new = is_asked_again or isinstance(report, _BEGINNINGS) or _is_far(report)
    is_step = known(report.same_function) is True and known(report.exception) is None and not is_new
    details, most = (STEP_DETAILS, STEP) if is_step else (DETAILS, FIRST_STOP)
    text = ""
    for detail in details:
        text = _StopText(report, view, detail, is_step).render()
        if len(text) <= (budget or most):
            break
    if child := known(report.child_report):
        text += f"\n{render_stop_report(child, view)}"
    link = known(report.link)
    return f"{text}\npage: {link}" if link else text


def _is_far(report: StopReport) -> bool:
    """Tell whether several steps were made: what they changed, and where they led, need the room of a stop."""
    return isinstance(report, (Stepped, SteppedUntil)) and (known(report.steps) or 1) > 1


def past_words(past: PastMoment, status: str) -> str:
    now = "no program" if status == State.CREATED else f"{status} now"
    return f"in the past, #{past.moment} of call #{past.call} ({now})"


class _StopText(msgspec.Struct):
    report: StopReport
    view: View
    detail: Detail
    is_step: bool
    omitted: dict[str, str] = {}
    """what was left out, by the call that shows it"""
    has_cut_values: bool = False

    def render(self) -> str:
        for omission in known(self.report.omitted) or ():
            if not self.is_step or _ABOUT_STEPS.search(omission.what):
                self.omitted[omission.get] = omission.what
        lines = [self._head(), *self._facts(), *self._source(), *self._values(), *self._watches()]
        lines += [*self._stack(), *self._output()]
        if self.has_cut_values and (get := advice(self._locals_call)):
            self.omitted.setdefault(get, "longer values")
        if self.omitted:
            lines.append("more: " + "; ".join(f"{what}: {get}" for get, what in self.omitted.items()))
        return "\n".join(lines)

    # What happened, where.

    def _head(self) -> str:
        report = self.report
        who = f"{report.session_id} " if known(report.session_id) else ""
        past = known(report.past)
        return f"{who}{past_words(past, report.status) if past else report.status}{self._reason()}{self._place()}"

    def _reason(self) -> str:
        report = self.report
        if report.status in _ENDED and known(report.past) is None:
            return ": " + end_words(known(report.reason), known(report.exit_code), known(report.signal))
        if waiting := known(report.waiting_for_input):
            return f": waits for input{f' after {waiting.prompt[-PROMPT_WIDTH:]!r}' if waiting.prompt else ''}"
        reason = known(report.stop_reason)
        hits = known(report.hit_breakpoint_ids) or []
        return ": " + " ".join([reason, *hits]) if reason else ""

    def _place(self) -> str:
        report, place = self.report, known(self.report.current_location)
        if place is None:
            return ""
        path = self.view.path(place.path)
        function = shorten(place.function, NAME_WIDTH)
        words = f" at {path.rpartition('/')[2] if self.is_step else path}:{place.line} in {function}"
        words += self._thread()
        if top := known(report.top_location):
            words += f", frame {report.frame_id}; stopped in {self.view.place(top.path, top.line)} in {top.function}"
        return words

    def _thread(self) -> str:
        """Name the thread, unless it is the main one."""
        if past := known(self.report.past):
            return "" if past.thread == MAIN_THREAD else f", {past.thread}"
        thread = known(self.report.thread_id)
        return "" if thread in (None, 1) else f", thread {thread}"

    # What must not be lost.

    def _facts(self) -> Iterator[str]:
        report = self.report
        yield from self._kind_facts()
        if (exception := known(report.exception)) is not None:
            yield from self._exception(exception)
        for text in (known(report.message), known(report.note)):
            if text:
                yield text
        if children := known(report.paused_children):
            yield f"paused children: {', '.join(children)}"
        if value := known(report.return_value):
            yield ("yielded: " if known(value.yielded) else "returned: ") + self._returned(value)
        if returned := known(report.returned):
            yield "returned: " + "; ".join(map(self._returned, returned[: self.detail.names]))
        if natives := known(report.native_functions):
            yield f"native: {shorten(', '.join(natives), 80)}"

    def _kind_facts(self) -> Iterator[str]:
        """Tell what only reports of some kinds have."""
        report = self.report
        if isinstance(report, (Launched, Restarted)) and (previous := known(report.previous)):
            yield f"the run before: {end_words(previous.reason, previous.exit_code, previous.signal)}"
        if isinstance(report, _BEGINNINGS):
            yield from (f"warning: {text}" for text in known(report.warnings) or ())
        if isinstance(report, (Attached, ProgramAttached)):
            yield attached_words(report)
        if isinstance(report, (ProgramRun, ProgramAttached)):
            yield from (breakpoint_line(each, self.view) for each in known(report.breakpoints) or ())
            if restored := known(report.restored_breakpoints):
                yield f"restored: {counted(restored.count, 'breakpoint')} of earlier sessions of the project"
                yield from restored.edits
        if isinstance(report, Stepped):
            yield from step_facts(report)
        if isinstance(report, SteppedUntil):
            yield from until_facts(report)
        if isinstance(report, RanTo) and not report.reached:
            yield f"not at {self.view.place(report.target.path, report.target.line)}, to which it was to run"
        if isinstance(report, InputSent):
            yield sent_words(report)

    def _exception(self, exception: ExceptionInfo) -> Iterator[str]:
        message = "\n".join(line for line in exception.message.split("\n") if line.strip())
        yield f"{exception.type}: {message}" if message else exception.type
        yield from (f"  note: {note}" for note in known(exception.notes) or ())
        places = own_places(known(exception.traceback) or "")
        elsewhere = self._raised_elsewhere(places[0]) if places else ""
        if elsewhere:
            yield f"  raised in {elsewhere}"
        for index, cause in enumerate((known(exception.chain) or ())[:MOST_LINKS], 1):
            relation = "from" if cause.relation == "cause" else "while handling"
            raised = places[index][0] if index < len(places) and places[index] else None
            where = f" at {self.view.place(raised.path, raised.line)} in {raised.function}" if raised else ""
            yield f"  {relation} {cause.type}: {shorten(one_line(cause.message), 200)}{where}"
        for member in (known(exception.exceptions) or ())[:MOST_LINKS]:
            at = member.location
            where = f" at {self.view.place(at.path, at.line)} in {at.function}" if at else ""
            yield f"  member {member.type}: {shorten(one_line(member.message), 200)}{where}"

    def _raised_elsewhere(self, places: list[RaisedIn]) -> str:
        """Return the calls that led to the exception, as far as the stack does not have them."""
        report = self.report
        here = known(report.current_location)
        shown = {(frame.source.path, frame.line) for frame in known(report.stack) or ()}
        shown |= {(here.path, here.line)} if here else set()
        words = []
        for path, line, function in places[: self.detail.frames]:
            if (path, line) in shown:
                break
            words.append(f"{function} {self.view.place(path, line)}")
        return " < ".join(words)

    def _returned(self, value: ReturnValue) -> str:
        function = f"{value.function} → " if value.function else ""
        return function + self._shown(value.value, value.function or "", value.type)

    # The source.

    def _source(self) -> list[str]:
        here = known(self.report.current_location)
        around = 0 if self.is_step else self.detail.source_around
        lines = known(self.report.source) or []
        near = [each for each in lines if here is not None and abs(each.line - here.line) <= around]
        return source_lines(near, here.line if here else None, self.detail.source_width)

    # Values.

    def _values(self) -> Iterator[str]:
        changes = known(self.report.changes) or []
        names = self._line_names()
        if self.is_step:
            ordered = sorted(changes, key=lambda change: (change.name not in names, len(change.new or "")))
            parts = [self._change_words(each.name, each.old, each.new) for each in ordered[: self.detail.names]]
            if parts:
                yield "changed: " + "; ".join(parts)
            self._note_cut(len(ordered) - len(parts), "change", self._locals_call)
            return
        changed = {change.name for change in changes}
        rows = known(self.report.locals) or []

        def order(row: Variable) -> int:
            is_definition = (known(row.value) or "").startswith(_DEFINITIONS)
            return 0 if row.name in names else 1 if row.name in changed else 3 if is_definition else 2

        shown = [row for row in sorted(rows, key=order) if order(row) < 3][: self.detail.names]
        defined = [row.name for row in rows if order(row) == 3][: self.detail.names]
        if shown:
            yield "locals: " + "; ".join(f"{row.name} = {self._row_value(row)}" for row in shown)
        if defined:
            yield "defined: " + ", ".join(defined)
        self._note_cut(len(rows) - len(shown) - len(defined), "local", self._locals_call)

    def _line_names(self) -> set[str]:
        here = known(self.report.current_location)
        text = [each.text for each in known(self.report.source) or () if here and each.line == here.line]
        return set(_NAME.findall(text[0])) if text else set()

    @property
    def _locals_call(self) -> str:
        return f"{{frame_variables frame_id={known(self.report.frame_id) or 0}}}"

    def _change_words(self, name: str, old: str | None, new: str | None) -> str:
        now = self._shown(new or "?", name)
        if old is None:
            return f"{name} = {now}"
        return f"{name}: {shorten(self.view.value(old, name), self.detail.value_width // 2)} → {now}"

    def _row_value(self, row: Variable) -> str:
        text = known(row.value)
        if text is None:
            return row.type or "?"
        shown = self._shown(text, row.name, row.type)
        length = known(row.length)
        is_cut = known(row.truncated) is True or ("…" in shown and "…" not in text)
        return f"{shown} (len {length})" if is_cut and length else shown

    def _shown(self, text: str, name: str, kind: str | None = None) -> str:
        shown = self.view.value(text, name, kind)
        self.has_cut_values |= len(shown) > self.detail.value_width
        return shorten(shown, self.detail.value_width)

    def _note_cut(self, count: int, what: str, call: str) -> None:
        """Name what the text leaves out; what the report had left out already is counted with it."""
        get = advice(call)
        if count <= 0 or not get:
            return
        before = _COUNTED.match(self.omitted.get(get, ""))
        many = f"more {what}es" if what.endswith("ch") else None
        self.omitted[get] = counted(count + (int(before[1]) if before else 0), f"more {what}", many)

    def _watches(self) -> Iterator[str]:
        watches = known(self.report.watches) or []
        shown = [self._watch(watch) for watch in watches if not self.is_step or known(watch.changed)]
        if shown:
            yield "watches: " + "; ".join(shown[: self.detail.names * 2])
        self._note_cut(len(shown) - self.detail.names * 2, "watch", "{list_watches}")

    def _watch(self, watch: WatchValue) -> str:
        if error := known(watch.error):
            return f"{watch.name}: {shorten(one_line(error), self.detail.value_width)}"
        was = f" (was {self._shown(watch.old, '')})" if known(watch.changed) and isinstance(watch.old, str) else ""
        return f"{watch.name} = {self._shown(known(watch.value) or '?', '')}{was}"

    # Stack and output.

    def _stack(self) -> Iterator[str]:
        frames = known(self.report.stack) or []
        if self.is_step or len(frames) < 2:
            return
        beyond = [get for get, what in self.omitted.items() if what.endswith(("more frame", "more frames"))]
        total = len(frames) + sum(int(self.omitted.pop(get).split()[0]) for get in beyond)
        frames = [*frames, *(known(self.report.callers) or ())]
        focus = frozenset({known(self.report.frame_id) or 0})
        line, end = stack_line(frames, self.detail.frames, focus)
        yield "stack: " + line
        self._note_cut(total - end, "frame", "{stack_trace}")

    def _output(self) -> Iterator[str]:
        room = self.detail.output * (2 if self.report.status in _ENDED else 1)
        lines = marked_output((entry.category, entry.output) for entry in known(self.report.output) or ())
        shown: list[str] = []
        while lines and room > 0:
            line = lines.pop()
            if len(line) > room:
                lines.append(line)
                line = f"{line[:MARK_WIDTH]}…{line[-room:]}"
                room = 0
            shown.append(line)
            room -= len(line)
        yield from reversed(shown)
        self._note_cut(len(lines), "output line", "{output tail=100}")


def source_lines(lines: list[SourceLine], current: int | None, width: int) -> list[str]:
    """Return numbered lines, without the indentation that all of them have, and without empty ones at both ends."""
    while lines and not lines[0].text.strip() and lines[0].line != current:
        lines = lines[1:]
    while lines and not lines[-1].text.strip() and lines[-1].line != current:
        lines = lines[:-1]
    texts = textwrap.dedent("\n".join(each.text.expandtabs(4) for each in lines)).split("\n")
    digits = len(str(lines[-1].line)) if lines else 0
    return [
        f"{'>' if each.line == current else ' '}{each.line:>{digits}} {shorten(text.rstrip(), width)}".rstrip()
        for each, text in zip(lines, texts, strict=False)
    ]


def end_words(reason: str | None, exit_code: int | None, signal: str | None) -> str:
    """Tell how a program ended: `exited with code 1`, `killed by SIGSEGV`."""
    words = "ended on request" if reason == "terminated" else reason or "ended"
    if signal:
        return f"{words} by {signal}" if words == "killed" else f"{words}, {signal}"
    return f"{words} with code {exit_code}" if exit_code is not None else words


def attached_words(report: Attached | ProgramAttached) -> str:
    command = known(report.program.command) if report.program else None
    where = f"{report.host}:{report.port}" if known(report.port) else f"process {report.pid}"
    return f"attached to {where}" + (f": {shorten(command, 100)}" if command else "")


def step_facts(report: Stepped) -> Iterator[str]:
    if steps := known(report.steps):
        yield counted(steps, "step")
    target: StepTarget | None = known(report.target)
    if target is not None and not known(report.target_reached):
        yield f"not in {target.label}, which was to be stepped into"


def until_facts(report: SteppedUntil) -> Iterator[str]:
    made = f" after {counted(report.steps, 'step')}" if report.steps is not None else ""
    yield f"condition {'is met' if report.condition_met else 'is not met'}{made}"
    if error := known(report.error):
        yield f"the condition raised {error}"


def sent_words(report: InputSent) -> str:
    unread = f", {report.pending} not read yet" if report.pending else ""
    return f"sent {counted(report.accepted, 'byte')}{unread}{', and the end of input' if report.eof else ''}"
