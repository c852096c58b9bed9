"""Breakpoints as text, a line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..answers.breakpoints import (
    FILE_MISSING,
    Breakpoint,
    BreakpointChanged,
    BreakpointGone,
    BreakpointList,
    BreakpointRemoved,
    BreakpointsApplied,
    BreakpointsRemoved,
    BreakpointsSet,
    ExceptionBreakpoint,
    ExceptionBreakpointList,
    ExceptionBreakpointSet,
    ExceptionBreakpointsRemoved,
)
from ..answers.machine import DataBreakpointItem, DataBreakpointList, DataBreakpointsRemoved
from ..wording import counted
from .view import View, join_lines, known


def breakpoint_line(each: Breakpoint, view: View) -> str:
    """Return where it is and when it stops; one that is not verified says why, and what would be better."""
    path = each.source.path if each.source else known(each.file)
    place = view.place(path, each.line) if path else ""
    where = " ".join(filter(None, [known(each.function), place])) or "?"
    conditions = [f" if {each.condition}" if each.condition else ""]
    conditions.append(f" hits {each.hit_condition}" if each.hit_condition else "")
    conditions.append(f" log {each.log_message}" if each.log_message else "")
    facts = ["" if each.verified else "NOT VERIFIED", "" if each.enabled else "disabled"]
    facts.append(f"hit {counted(each.hit_count, 'time')}" if each.hit_count else "")
    facts.append(f"moved from line {each.moved_from}" if known(each.moved_from) else "")
    facts.append("restored" if known(each.restored) else "")
    facts.append("its file has changed since it was loaded" if known(each.source_changed) else "")
    facts += [each.message or "", _suggestion(each, view)]
    told = "; ".join(filter(None, facts))
    return f"{each.id} {where}{''.join(conditions)}{f'  ({told})' if told else ''}"


def _suggestion(each: Breakpoint, view: View) -> str:
    better = known(each.suggestion)
    if better is None:
        return "check the path; it is set once the file is there" if each.message == FILE_MISSING else ""
    if path := known(better.path):
        return f"is it {view.path(path)}?"
    return f"line {better.line} has code: {(known(better.text) or '').strip()}" if known(better.line) else ""


def render_breakpoints_set(answer: BreakpointsSet, view: View) -> str:
    lines = [breakpoint_line(each, view) for each in answer.breakpoints]
    if isinstance(answer, BreakpointsApplied):
        lines += [exception_line(each, view) for each in answer.exception_breakpoints]
        lines += [f"removed {_gone_words(each, view)}" for each in answer.removed]
    return join_lines(*lines, known(answer.warning) or "") or "no breakpoints"


def render_breakpoint(answer: Breakpoint, view: View) -> str:
    warning = known(answer.warning) if isinstance(answer, BreakpointChanged) else None
    return join_lines(breakpoint_line(answer, view), warning or "")


def render_breakpoints(answer: BreakpointList, view: View) -> str:
    return "\n".join(breakpoint_line(each, view) for each in answer.breakpoints) or "no breakpoints"


def _gone_words(gone: BreakpointGone, view: View) -> str:
    path = gone.source.path if gone.source else gone.file
    place = view.place(path, gone.line) if path else ""
    return " ".join(filter(None, [gone.id, gone.function, place]))


def render_breakpoints_removed(answer: BreakpointsRemoved, view: View) -> str:
    lines = [f"removed {_gone_words(each, view)}" for each in answer.removed]
    return join_lines(*lines, known(answer.warning) or "") or "nothing to remove"


def render_breakpoint_removed(answer: BreakpointRemoved, view: View) -> str:
    return join_lines(f"removed {_gone_words(answer, view)}", known(answer.warning) or "")


def exception_line(each: ExceptionBreakpoint, view: View) -> str:
    condition = f" if {each.condition}" if each.condition else ""
    hits = f"  (hit {counted(each.hit_count, 'time')})" if each.hit_count else ""
    return f"{each.id} {', '.join(each.filters)}: {', '.join(each.exceptions) or 'any exception'}{condition}{hits}"


def render_exception_breakpoints(answer: ExceptionBreakpointSet | ExceptionBreakpointList, view: View) -> str:
    lines = [exception_line(each, view) for each in answer.exception_breakpoints]
    return "\n".join(lines) or "no exception breakpoints"


def render_exception_breakpoints_removed(answer: ExceptionBreakpointsRemoved, view: View) -> str:
    return f"removed {', '.join(answer.removed) or 'nothing'}"


def data_breakpoint_line(each: DataBreakpointItem, view: View) -> str:
    condition = f" if {each.condition}" if known(each.condition) else ""
    hits = f" hits {each.hit_condition}" if known(each.hit_condition) else ""
    facts = [f"hit {counted(each.hit_count, 'time')}" if each.hit_count else "", known(each.message) or ""]
    told = "; ".join(filter(None, facts))
    return f"{each.id} {each.access} of {each.expression}{condition}{hits}{f'  ({told})' if told else ''}"


def render_data_breakpoints(answer: DataBreakpointList, view: View) -> str:
    return "\n".join(data_breakpoint_line(each, view) for each in answer.data_breakpoints) or "no data breakpoints"


def render_data_breakpoints_removed(answer: DataBreakpointsRemoved, view: View) -> str:
    return "\n".join(f"removed {data_breakpoint_line(each, view)}" for each in answer.removed) or "nothing to remove"


RENDERINGS: dict[type, Callable[[Any, View], str]] = {
    BreakpointsSet: render_breakpoints_set,
    BreakpointChanged: render_breakpoint,
    BreakpointList: render_breakpoints,
    BreakpointsRemoved: render_breakpoints_removed,
    BreakpointRemoved: render_breakpoint_removed,
    ExceptionBreakpointSet: render_exception_breakpoints,
    ExceptionBreakpointList: render_exception_breakpoints,
    ExceptionBreakpointsRemoved: render_exception_breakpoints_removed,
    DataBreakpointItem: data_breakpoint_line,
    DataBreakpointList: render_data_breakpoints,
    DataBreakpointsRemoved: render_data_breakpoints_removed,
}
