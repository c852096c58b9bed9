"""Answers of a recorded run as text: calls on one line each, trees indented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..answers.machine import Recording
from ..answers.recordings import (
    CalledFunction,
    CallLife,
    CallSpan,
    CallSpans,
    CallTable,
    CallTrace,
    DifferingValue,
    ErrorGroup,
    ErrorList,
    FoldedCalls,
    LifeLine,
    NamedValue,
    OpenedRecording,
    OutcomeCount,
    RecordedAnswer,
    RecordedCall,
    RunComparison,
    RunDifference,
    Sighting,
    SlowFunction,
    SlowList,
    TraceRow,
    ValueChange,
    ValueHistory,
    ValueOrigin,
)
from ..wording import counted
from .view import View, join_lines, known, shorten

VALUE_WIDTH = 80
"""characters of a value"""
SHORT_WIDTH = 40
"""of one among several"""
SOURCE_WIDTH = 90
"""of a line of source"""
INDENT = "  "
MOST_SPANS_SHOWN = 100
"""lines of calls over time: a chart is not read as text"""


def render_recording(answer: Recording, view: View) -> str:
    """Render whether a program is recorded, and how much of it is there."""
    calls, functions, lines = known(answer.calls), known(answer.functions), known(answer.lines)
    dropped, rested = known(answer.dropped_calls), known(answer.rested)
    told = [
        "" if calls is None else f"{counted(calls, 'call')} of {counted(functions or 0, 'function')}",
        counted(lines, "line") if lines else "",
        f"the oldest {counted(dropped, 'call')} fell out" if dropped else "",
        f"not all calls of {', '.join(rested)}" if rested else "",
    ]
    facts = "; ".join(filter(None, told))
    state = "recording" if answer.recording else "not recording"
    return join_lines(f"{state}: {facts}" if facts else state, known(answer.message) or "")


def call_words(call: RecordedCall, view: View) -> str:
    """Return a call: `#41 Cart.total(rate=0.2) → 14.4`."""
    arguments = ", ".join(named_words(each, view) for each in call.arguments)
    return f"#{call.call} {call.function}({arguments}) {_end_words(call, view)}{_extra_words(call, view)}"


def named_words(each: NamedValue, view: View) -> str:
    return f"{each.name}={shorten(view.value(each.value, each.name), VALUE_WIDTH)}"


def _end_words(call: RecordedCall, view: View) -> str:
    at = known(call.raised_line)
    return outcome_words(call.outcome, call.value, view) + (f" at :{at}" if at else "")


def outcome_words(outcome: str, value: str | None, view: View, width: int = VALUE_WIDTH) -> str:
    if value is None:
        return f"({outcome})"
    return f"{'→' if outcome == 'returned' else '✗'} {shorten(view.value(value), width)}"


def _extra_words(call: RecordedCall, view: View) -> str:
    caught = dict.fromkeys(
        f"caught {shorten(view.value(each.error), VALUE_WIDTH)} at :{each.line}" for each in known(call.caught) or ())
    yielded = known(call.yielded)
    told = [*caught, f"yielded {counted(yielded, 'value')}" if yielded else ""]
    words = "; ".join(filter(None, told))
    return f"  [{words}]" if words else ""


def trace_line(row: TraceRow, view: View) -> str:
    """Return a line of a call tree, with the line of the caller and what is not shown inside."""
    indent = INDENT * row.depth
    folded, call = known(row.folded), known(row.call)
    if call is None:
        return indent + (_folded_words(folded, view) if folded else "")
    at = _line_words(call) if row.depth else ""
    place = "" if row.depth else f" {view.place(call.path, call.line)} in {call.thread}"
    inside = f"  (+{counted(row.inside, 'call')} inside)" if row.inside else ""
    return f"{indent}{call_words(call, view)}{at}{place}{inside}"


def _folded_words(folded: FoldedCalls, view: View) -> str:
    outcomes = [_outcome_count(each, view) for each in folded.outcomes]
    ended = f": {', '.join(outcomes)}" if outcomes else ""
    return f"… {folded.count} × {', '.join(folded.functions)} [#{folded.first} … #{folded.last}]{ended}"


def _outcome_count(each: OutcomeCount, view: View) -> str:
    return f"{outcome_words(each.outcome, each.value, view, SHORT_WIDTH)} ×{each.count}"


def _notes(answer: RecordedAnswer) -> list[str]:
    return [f"note: {text}" for text in answer.notes]


def render_trace(answer: CallTrace, view: View) -> str:
    rows = [trace_line(row, view) for row in answer.rows]
    head = f"recording {answer.recording}: {counted(answer.recorded_calls, 'call')}"
    return join_lines(head, *rows, *_notes(answer))


def render_calls(answer: CallTable, view: View) -> str:
    which = f"{answer.matching} of {answer.total}" if answer.matching != answer.total else str(answer.total)
    functions = [f"{name} {view.path(place)}" for name, _, place in (each.rpartition(" ") for each in answer.functions)]
    rows = [f"{call_words(call, view)}{_caller_words(call)}" for call in answer.calls]
    more = f"… more: ask with offset={answer.offset + len(rows)}" if answer.has_more else ""
    return join_lines(f"{', '.join(functions)}: {which} calls", *rows, more, *_notes(answer))


def _line_words(call: RecordedCall) -> str:
    return f" @{call.caller_line}" if call.caller_line else ""


def _caller_words(call: RecordedCall) -> str:
    return f"  from #{call.caller}:{call.caller_line}" if call.caller and call.caller_line else ""


def error_lines(group: ErrorGroup, view: View) -> list[str]:
    place = f"{view.place(group.path, group.line)} in {group.function}"
    lines = [f"{counted(group.count, 'time')} {group.error} at {place}: {group.fate}"]
    if len(group.way) > 1:
        lines.append(f"  way: {' ← '.join(group.way)}")
    last = known(group.last)
    lines.append(f"  first: {call_words(group.first, view)}{f'; last: #{last}' if last else ''}")
    if group.locals:
        lines.append(f"  locals: {', '.join(named_words(each, view) for each in group.locals)}")
    return lines


def render_errors(answer: ErrorList, view: View) -> str:
    lines = [line for group in answer.errors for line in error_lines(group, view)]
    left = answer.total - len(answer.errors)
    more = f"… {counted(left, 'more place')}: ask with a larger budget" if left else ""
    nothing = "" if lines else f"no exception in {counted(answer.recorded_calls, 'call')}"
    return join_lines(nothing, *lines, more, *_notes(answer))


def change_line(change: ValueChange, view: View) -> str:
    """Return a value that something had from a moment on."""
    was, shown = known(change.was), view.value(change.value, change.name or "")
    value = shorten(shown, VALUE_WIDTH) + (f", was {shorten(view.value(was), VALUE_WIDTH)}" if was is not None else "")
    place = f"{change.how} #{change.call} {change.function} {view.place(change.path, change.line)}"
    return f"#{change.moment} {change.name or 'result'} = {value}  {place}"


def render_values(answer: ValueHistory, view: View) -> str:
    rows = [change_line(each, view) for each in answer.changes]
    more = f"… more: ask with offset={answer.offset + len(rows)}" if answer.has_more else ""
    return join_lines(f"{answer.name}: {counted(answer.total, 'value')}", *rows, more, *_notes(answer))


def render_spans(answer: CallSpans, view: View) -> str:
    lines: list[str] = []
    for each in answer.threads:
        lines += [each.thread, *(f"{INDENT * (span.depth + 1)}{_span_words(span)}" for span in each.spans)]
    left = answer.total - len(answer.threads)
    shown = lines[:MOST_SPANS_SHOWN]
    return join_lines(
        f"milliseconds, {answer.start_ms:g} to {answer.end_ms:g} of {answer.first_ms:g} to {answer.last_ms:g}", *shown,
        f"… {counted(len(lines) - len(shown), 'more line')}: ask with fewer parts" if len(lines) > len(shown) else "",
        f"… {counted(left, 'more thread')}" if left else "", *_notes(answer))


def _span_words(span: CallSpan) -> str:
    more = f" and {counted(span.count - 1, 'more call')}" if span.count > 1 else ""
    return f"{span.start_ms:g} +{span.duration_ms:g} #{span.call} {span.function}{more}{' ✗' if span.raised else ''}"


def slow_line(each: SlowFunction, view: View) -> str:
    waited = f", waited {each.waited_ms:g}" if each.waited_ms else ""
    lines = ", ".join(f":{line.line} {line.ms:g} ({line.count}×)" for line in each.lines)
    inside = f"; calls from {lines}" if lines else ""
    return (
        f"{each.own_ms:g} own, {each.total_ms:g} total{waited}: {each.function} {view.place(each.path, each.line)} "
        f"{each.count}×, slowest #{each.slowest} {each.slowest_ms:g}{inside}")


def render_slow(answer: SlowList, view: View) -> str:
    left = answer.total - len(answer.functions)
    more = f"… {counted(left, 'more function')}" if left else ""
    head = f"milliseconds, of {answer.span_ms:g} in all"
    return join_lines(head, *(slow_line(each, view) for each in answer.functions), more, *_notes(answer))


def life_line(row: LifeLine, view: View) -> str:
    """Return a line that a call took: its source, what it changed, and what it called."""
    if row.skipped_rounds:
        return f"     … {counted(row.skipped_rounds, 'more round')} the same way"
    changes = ", ".join(named_words(each, view) for each in row.changes)
    changed = f"   ⇒ {changes}" if changes else ""
    called = "; ".join(call_words(each, view) for each in row.calls)
    more = f" … {counted(row.more_calls, 'more call')}" if row.more_calls else ""
    made = f"   called {called}{more}" if called else ""
    return f"{row.line:4} {shorten(row.source, SOURCE_WIDTH)}{changed}{made}"


def render_life(answer: CallLife, view: View) -> str:
    call = answer.call
    place = f"{call_words(call, view)}  {view.place(call.path, call.line)}{_caller_words(call)}"
    called = [f"  {call_words(each, view)}{_line_words(each)}" for each in answer.calls]
    more = f"  … {counted(answer.more_calls, 'more call')}" if answer.more_calls else ""
    shown = f"locals: {', '.join(named_words(each, view) for each in answer.locals)}" if answer.locals else ""
    return join_lines(
        place, *(life_line(row, view) for row in answer.lines), "it called:" if called else "", *called, more, shown,
        *_notes(answer))


def sighting_line(seen: Sighting, view: View) -> str:
    """Return a place where a value was seen: `set in #3 … at shop.py:13: amount=0; 181 times, last 195.0 in #908`."""
    at = f" at {view.place(seen.call.path, seen.line)}" if seen.line and seen.how != "given to" else ""
    caller = _caller_words(seen.call) if seen.how == "given to" else ""
    named = f": {seen.name}={_seen_words(seen.value, seen, view)}" if seen.name else ""
    was, last = known(seen.was), known(seen.last_value)
    before = f" (was {_seen_words(was, seen, view)})" if was is not None else ""
    times = ""
    if last is not None:
        end = f" {_seen_words(last, seen, view)}" if last != seen.value else ""
        times = f"; {counted(seen.count, 'time')}, last{end} in #{known(seen.last_call)}"
    return f"{seen.how} {call_words(seen.call, view)}{caller}{at}{named}{before}{times}"


def _seen_words(value: str, seen: Sighting, view: View) -> str:
    return shorten(view.value(value, seen.name or ""), VALUE_WIDTH)


def render_origin(answer: ValueOrigin, view: View) -> str:
    what = "seen" if answer.kind == "value" else "given or changed"
    left = answer.places - len(answer.sightings)
    more = f"  … {counted(left, 'more place')}: ask with a larger budget" if left else ""
    lines = [f"  {sighting_line(each, view)}" for each in answer.sightings]
    way = f"  way to the first: {' ← '.join(answer.way)}" if answer.way else ""
    return join_lines(f"{answer.asked}: {what} {counted(answer.total, 'time')}", *lines, more, way, *_notes(answer))


def difference_lines(found: RunDifference, view: View) -> list[str]:
    """Return a difference of two runs: what it is, the call on both sides, and the way to it."""
    calls = [("A", known(found.a)), ("B", known(found.b))]
    place = f" at {view.path(found.path)}{_differing_place(found)}"
    lines = [f"{_difference_head(found)}{place}{_differing_values(found, view)}"]
    lines += [f"  {side} {call_words(call, view)}{_caller_words(call)}" for side, call in calls if call]
    if len(found.way) > 1:
        lines.append(f"  way: {' ← '.join(found.way)}")
    return lines


def difference_line(found: RunDifference, view: View) -> str:
    """Return a further difference on one line."""
    a, b = known(found.a), known(found.b)
    if a is None or b is None:
        call = a or b
        return f"  only {'A' if a else 'B'} calls {call_words(call, view) if call else ''}{_times(found)}"
    head = f"  {_difference_head(found)}"
    numbers = f" A #{a.call}, B #{b.call}"
    if found.kind == "outcome":
        ended = f" A #{a.call} {_end_words(a, view)}, B #{b.call} {_end_words(b, view)}"
        return f"{head}{ended}{_times(found)}"
    return f"{head}{_differing_place(found)}{numbers}{_differing_values(found, view)}{_times(found)}"


def _difference_head(found: RunDifference) -> str:
    if found.kind in ("only_a", "only_b"):
        return f"only {found.kind[-1].upper()} calls {found.function}"
    what = {"arguments": "other arguments of", "line": "another value or line in"}.get(found.kind, "other outcome of")
    a = known(found.a)
    same = "same arguments, " if known(found.same_arguments) and a and a.arguments else ""
    return f"{same}{what} {found.function}"


def _differing_place(found: RunDifference) -> str:
    line_a, line_b = known(found.line_a), known(found.line_b)
    if found.kind != "line":
        return ""
    source = shorten((known(found.source) or "").strip(), SOURCE_WIDTH)
    both = f":{line_a}" if line_a == line_b else f": A line {line_a or '(ended)'}, B line {line_b or '(ended)'}"
    return f"{both}  {source}".rstrip()


def _differing_values(found: RunDifference, view: View) -> str:
    told = "; ".join(_differing_value(each, view) for each in found.values)
    return f": {told}" if told else ""


def _times(found: RunDifference) -> str:
    return f" and {counted(found.count - 1, 'more call')}" if found.count > 1 else ""


def _differing_value(each: DifferingValue, view: View) -> str:
    a, b = (
        "(not there)" if value is None else shorten(view.value(value, each.name), VALUE_WIDTH)
        for value in (each.a, each.b))
    return f"{each.name}: A {a}, B {b}"


def _called_words(side: str, functions: list[CalledFunction], view: View) -> str:
    told = ", ".join(f"{each.function} {view.place(each.path, each.line)} {each.count}×" for each in functions)
    return f"functions that only {side} calls: {told}" if told else ""


def render_comparison(answer: RunComparison, view: View) -> str:
    """Render where two runs part, and what else differs."""
    head = (
        f"A {answer.recording}: {counted(answer.recorded_calls, 'call')}; "
        f"B {answer.other}: {counted(answer.other_calls, 'call')}")
    if answer.first is None:
        return join_lines(head, f"no difference in {counted(answer.matched, 'call')}", *_notes(answer))
    parting = known(answer.parting)
    first, *others = difference_lines(answer.first, view)
    lines = [f"first: {first}", *others]
    if parting:
        first, *others = difference_lines(parting, view)
        lines += [f"first on another way: {first}", *others]
    left = answer.total - 1 - bool(parting) - len(answer.further)
    return join_lines(
        head, *lines, "further:" if answer.further else "", *(difference_line(each, view) for each in answer.further),
        f"… {counted(left, 'more difference')}: ask with a larger budget" if left else "",
        _called_words("A", answer.only_a, view), _called_words("B", answer.only_b, view), *_notes(answer))


def render_opened(answer: OpenedRecording, view: View) -> str:
    facts = f"{counted(answer.recorded_calls, 'call')} of {counted(answer.functions, 'function')}"
    session = known(answer.session_id)
    told = f"recording {answer.recording} of {view.path(answer.file)}: {facts}"
    return join_lines(f"{session} has {told}" if session else told, *_notes(answer))


RENDERINGS: dict[type, Callable[[Any, View], str]] = {
    Recording: render_recording,
    CallTrace: render_trace,
    CallTable: render_calls,
    ErrorList: render_errors,
    SlowList: render_slow,
    ValueHistory: render_values,
    CallSpans: render_spans,
    CallLife: render_life,
    ValueOrigin: render_origin,
    RunComparison: render_comparison,
    OpenedRecording: render_opened,
}
