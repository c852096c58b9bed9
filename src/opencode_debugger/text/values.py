"""Variables, results of expressions and watches as text: `name: type = value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..answers.inspection import (
    Assigned,
    ChildList,
    Evaluation,
    FrameVariables,
    Page,
    ScopeList,
    Value,
    Variable,
    VariableList,
    WatchesRemoved,
    WatchList,
    WatchValue,
)
from ..answers.source_code import CompletionList, Hover
from ..wording import counted
from .tracebacks import own_places
from .view import PLAIN_TYPES, View, join_lines, known, marked_output, one_line, shorten

ROW_WIDTH = 500
"""characters of a value"""
ROW_WIDTHS = (ROW_WIDTH, 200, 100, 60)
PAGE_SIZE = 4000
"""characters of a page of rows, for which their values are cut more"""
RESULT_WIDTH = 2000
"""characters of the result of an expression"""


def render_variables(answer: VariableList | FrameVariables, view: View) -> str:
    return _render_page(answer, answer.variables, view)


def render_children(answer: ChildList, view: View) -> str:
    return _render_page(answer, answer.items, view)


def _next_page(rows: Sequence[Variable]) -> str:
    last = known(rows[-1].index)
    return "ask with a larger start" if last is None else f"go on with start {last + 1}"


def _render_page(page: Page, rows: Sequence[Variable], view: View) -> str:
    total = known(page.total) or 0
    lines: list[str] = []
    for width in ROW_WIDTHS:
        lines = [variable_line(row, view, width) for row in rows]
        if sum(map(len, lines)) <= PAGE_SIZE:
            break
    if (text := known(page.text)) is not None:
        lines.append(text)
    if (data := known(page.base64)) is not None:
        lines.append(f"base64 of {known(page.length)} bytes in all: {data}")
    if known(page.has_more):
        lines.append(f"… {total} in all: {_next_page(rows)}" if rows else f"… {total} characters in all")
    if known(page.incomplete):
        lines.append("the search ended before the end: it is very large")
    return join_lines(*lines) or "nothing inside"


def variable_line(row: Variable, view: View, width: int) -> str:
    """Return a row; a value that was cut says how long it is, and where the rest of it is."""
    value = known(row.value)
    shown = "" if value is None else " = " + shorten(view.value(value, row.name, row.type), width)
    is_cut = known(row.truncated) is True or value is None or len(value) > width
    return f"{row.name}{f': {row.type}' if row.type else ''}{shown}{_facts(row, is_cut)}"


def _facts(value: Value, is_cut: bool) -> str:
    facts = []
    shape, dtype, length = known(value.shape), known(value.dtype), known(value.length)
    if shape is not None:
        facts.append(f"shape {shape}{f' of {dtype}' if dtype else ''}")
    elif is_cut and length is not None:
        facts.append(f"len {length}")
    if state := known(value.state):
        facts.append(f"{state} at line {value.line}" if known(value.line) else state)
    reference = getattr(value, "variables_reference", None)
    if (is_cut or known(value.circular)) and isinstance(reference, int) and reference:
        facts.append(f"inside: variables_reference {reference}")
    return f"  ({', '.join(facts)})" if facts else ""


def render_evaluation(answer: Evaluation, view: View) -> str:
    """Render a result and what was printed; an expression that asks for a secret by its name is shown it."""
    printed = _printed(answer)
    if error := known(answer.error):
        places = own_places(known(answer.traceback) or "")[0]
        raised = " < ".join(f"{each.function} {view.place(each.path, each.line)}" for each in places)
        return join_lines(*printed, f"raised {error}", f"  in {raised}" if raised else "")
    note = "evaluated on another thread: this one is inside a call" if known(answer.elsewhere) else ""
    value = answer.result or ""
    kind = f"  ({answer.type})" if _needs_type(answer.type, value) else ""
    facts = _facts(answer, known(answer.truncated) is True or len(value) > RESULT_WIDTH)
    return join_lines(*printed, shorten(view.masked(value), RESULT_WIDTH) + kind + facts, note) or "(no value)"


def _printed(answer: Evaluation) -> list[str]:
    lines = marked_output((each.category, each.output) for each in known(answer.output) or ())
    return [*lines, "out| …"] if known(answer.output_truncated) else lines


def _needs_type(kind: str | None, value: str) -> bool:
    """Tell whether the text of a value does not say its type by itself, as those of texts, numbers and lists do."""
    if not kind or kind in PLAIN_TYPES:
        return False
    return not value.startswith(("<", f"{kind}(", f"{kind.rpartition('.')[2]}("))


def render_assigned(answer: Assigned, view: View) -> str:
    name = known(answer.expression) or answer.name
    old = known(answer.old)
    was = f" (was {shorten(view.value(old, name, known(answer.old_type)), ROW_WIDTH)})" if old is not None else ""
    value = shorten(view.value(known(answer.value) or "?", name, answer.type), ROW_WIDTH)
    return join_lines(f"{name}: {answer.type} = {value}{was}", known(answer.note) or "")


def render_hover(answer: Hover, view: View) -> str:
    if error := known(answer.error):
        return f"{answer.expression} raised {error}"
    kind = f": {answer.type}" if answer.type else ""
    value = view.value(answer.value or "?", answer.expression, answer.type)
    return join_lines(f"{answer.expression}{kind} = {value}", known(answer.documentation) or "")


def render_completions(answer: CompletionList, view: View) -> str:
    shown = ", ".join(f"{item.label} ({item.type})" for item in answer.items)
    more = f", … {answer.total} in all" if answer.has_more else ""
    return shown + more or "nothing fits"


def render_scopes(answer: ScopeList, view: View) -> str:
    lines = [
        f"{scope.name}: {counted(scope.named_variables + scope.indexed_variables, 'variable')}"
        f"  (inside: variables_reference {scope.variables_reference})"
        for scope in answer.scopes
    ]
    return "\n".join([f"frame {answer.frame_id}", *lines])


def render_watch(watch: WatchValue, view: View) -> str:
    name = watch.name if watch.name == watch.expression else f"{watch.name} ({watch.expression})"
    if error := known(watch.error):
        return f"{watch.watch_id} {name}: {one_line(error)}"
    value = known(watch.value)
    shown = f" = {shorten(view.value(value), ROW_WIDTH)}" if value is not None else ""
    was = f" (was {shorten(view.value(watch.old), ROW_WIDTH)})" if isinstance(watch.old, str) else ""
    return f"{watch.watch_id} {name}{shown}{was}"


def render_watches(answer: WatchList, view: View) -> str:
    return "\n".join(render_watch(watch, view) for watch in answer.watches) or "no watches"


def render_removed_watches(answer: WatchesRemoved, view: View) -> str:
    removed = ", ".join(f"{watch.watch_id} {watch.expression}" for watch in answer.removed)
    return f"removed {removed or 'nothing'}; {counted(answer.total, 'watch', 'watches')} left"


RENDERINGS: dict[type, Any] = {
    VariableList: render_variables,
    FrameVariables: render_variables,
    ChildList: render_children,
    Evaluation: render_evaluation,
    Assigned: render_assigned,
    Hover: render_hover,
    CompletionList: render_completions,
    ScopeList: render_scopes,
    WatchValue: render_watch,
    WatchList: render_watches,
    WatchesRemoved: render_removed_watches,
}
