"""Looking at a moment of the past: the operations that look at a paused program, answered from what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...answers import inspection as answers
from ...answers.shape import unless_none
from ...errors import RelayError
from ...operations.advice import advice
from ..inspection.paused_program import MOST_FRAMES, describe_frame, reference_gone
from ..lifecycle.debuggee import Debuggee
from ..recording.recorded_values import MOST_CHARACTERS, Recorded, value_text
from ..recording.value_filter import UNANSWERABLE, RecordedExpression, Unreadable
from .past_stop import PastStop, length_or_unset, type_of

if TYPE_CHECKING:
    from ...debuggers.rows import WatchRow

PAGE = 100
"""variables in an answer, unless more are asked for"""
ONLY_RECORDED = "In the past only recorded values can be asked for"
LANGUAGE = "Ask for names, attributes and items that were kept, comparisons, arithmetic, len, abs and str"
IN_PRESENT = "; {return_to_now} returns to the present, where a paused program evaluates everything"


def stack_trace(debuggee: Debuggee, stop: PastStop, start_frame: int = 0, levels: int = 20) -> answers.StackTrace:
    rows = stop.rows[start_frame : start_frame + (levels or MOST_FRAMES)]
    shown = [describe_frame(debuggee, row, index) for index, row in enumerate(rows, start_frame)]
    return answers.StackTrace(thread_id=stop.thread_id, frames=shown, total_frames=len(stop.rows))


def threads(stop: PastStop) -> answers.ThreadList:
    """Return the one thread or task that the moment is of."""
    row = answers.Thread(
        id=stop.thread_id, name=stop.thread, status="paused", is_current=True, location=stop.location)
    return answers.ThreadList(threads=[row], stopped_thread_id=stop.thread_id)


def scopes(stop: PastStop, frame_id: int | None = None) -> answers.ScopeList:
    frame = require_frame(stop, frame_id)
    count = len(stop.frames[frame].values)
    scope = answers.VariableScope(
        name="Locals (recorded)", presentation_hint="locals", variables_reference=stop.scope_reference(frame),
        named_variables=count, indexed_variables=0, expensive=False)
    return answers.ScopeList(frame_id=frame, scopes=[scope])


def frame_variables(stop: PastStop, frame_id: int = 0, **page: Any) -> answers.FrameVariables:
    rows = stop.variables(require_frame(stop, frame_id))
    return answers.FrameVariables(frame_id=frame_id, **_page_of(rows, **page))


def variables(stop: PastStop, variables_reference: int, **page: Any) -> answers.VariableList:
    rows = _rows_under(stop, variables_reference)
    return answers.VariableList(variables_reference=variables_reference, **_page_of(rows, **page))


def children(stop: PastStop, variables_reference: int, **page: Any) -> answers.ChildList:
    found = _page_of(_rows_under(stop, variables_reference), **page)
    return answers.ChildList(variables_reference=variables_reference, items=found.pop("variables"), **found)


def evaluate(stop: PastStop, expression: str, frame_id: int | None = None) -> answers.Evaluation:
    """Look up recorded values; refuse what was not recorded, and what is more than that."""
    value = recorded_value(stop, expression, require_frame(stop, frame_id))
    return answers.Evaluation(
        result=value_text(value)[:MOST_CHARACTERS], type=type_of(value), length=length_or_unset(value),
        variables_reference=stop.reference_of(value))


def watch_row(stop: PastStop, expression: str) -> WatchRow:
    """Return the value of a watch, or why it has none, as debuggers tell it."""
    try:
        value = recorded_value(stop, expression, 0)
    except RelayError as error:
        return {"error": error.message}
    return {"value": value_text(value)[:MOST_CHARACTERS], "type": type_of(value)}


def recorded_value(stop: PastStop, expression: str, frame: int) -> Recorded:
    names = stop.frames[frame].values
    try:
        wanted = RecordedExpression(expression)
    except Unreadable as error:
        raise _refusal(stop, expression, f"{ONLY_RECORDED}: {error}") from None
    try:
        return wanted.value(names)
    except UNANSWERABLE:
        missing = sorted(wanted.names - names.keys())
        function, moment = stop.frames[frame].call.function.name, stop.moment.number
        if missing:
            known = ", ".join(names) or "no names"
            raise _refusal(stop, expression, f"{ONLY_RECORDED}: {', '.join(missing)} was not, of {function} at "
                f"#{moment}; there are {known}") from None
        raise _refusal(stop, expression, f"{ONLY_RECORDED}: this part of it was not kept at #{moment}") from None


def require_frame(stop: PastStop, frame_id: int | None) -> int:
    index = frame_id or 0
    if index >= len(stop.frames):
        message = f"Frame {index} does not exist: the recorded stack has {len(stop.frames)}"
        raise RelayError("FRAME_NOT_FOUND", message, frame_id=index, total_frames=len(stop.frames))
    return index


def require_thread(stop: PastStop, thread_id: int | None) -> None:
    if thread_id not in (None, stop.thread_id):
        message = f"Thread {thread_id} is not known in the past: this moment is of thread {stop.thread_id}"
        raise RelayError("THREAD_NOT_FOUND", message, thread_id=thread_id)


def _refusal(stop: PastStop, expression: str, message: str) -> RelayError:
    suggestion = advice(LANGUAGE + (IN_PRESENT if stop.sources is None else ""))
    return RelayError("EVALUATE_ERROR", message, expression=expression[:1000], suggestion=suggestion)


def _rows_under(stop: PastStop, reference: int) -> list[answers.Variable]:
    rows = stop.children(reference)
    if rows is None:
        raise reference_gone(reference)
    return rows


def _page_of(
    rows: list[answers.Variable], start: int | None = None, count: int | None = None, name: str | None = None,
    filter: str | None = None, **_: Any,
) -> dict[str, Any]:
    """Return a page of rows; what else can be wished for makes no difference to so few and short ones."""
    if name:
        rows = [row for row in rows if name.lower() in row.name.lower()]
    if filter is not None:
        rows = [row for row in rows if isinstance(row.index, int) == (filter == "indexed")]
    start, count = start or 0, PAGE if count is None else count
    page = rows[start : start + count]
    return {"variables": page, "total": unless_none(len(rows)), "has_more": start + len(page) < len(rows)}
