"""Variables as rows of an answer, where a debugger gives texts only, and pages of them that keep to a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from .rows import EvaluationRow, PageWish, VariablePage, VariableRow, WatchRow

PAGE = 100
MAX_PAGE = 1000
ENVELOPE = 200
"""characters around the rows of an answer"""
VALUE_LIMIT = 240
"""characters of one value in a report"""

Row = VariableRow


def clipped(text: str, limit: int) -> tuple[str, bool]:
    if len(text) <= limit:
        return text, False
    return text[: max(0, limit - 3)] + "..."[: max(0, limit)], True


def row(
    name: str, value: str | None, type: str | None, reference: int = 0, named: int = 0, indexed: int = 0
) -> VariableRow:
    made: VariableRow = {
        "name": name,
        "type": type,
        "variables_reference": reference,
        "named_variables": named,
        "indexed_variables": indexed,
    }
    if value is not None:
        made["value"] = value
    if reference:
        made["expandable"] = True
    return made


def shortened(made: VariableRow, limit: int) -> VariableRow:
    """Cut the value of a row to so many characters; return that row."""
    if "value" in made:
        made["value"], cut = clipped(made["value"], limit)
        if cut:
            made["truncated"] = True
    return made


def within(rows: list[Row], budget: int, most: int = VALUE_LIMIT) -> list[Row]:
    """Return as many rows as the budget affords, at least one; long values share what the others leave."""
    kept: list[Row] = []
    left = budget
    for index, made in enumerate(rows):
        share = max(left // (len(rows) - index), 40)
        shortened(made, min(most, share))
        left -= len(made.get("value") or "")
        if left < 0 and kept:
            break
        kept.append(made)
    return kept


def fitted(rows: list[Row], budget: int) -> list[Row]:
    """Return the rows whose JSON text fits; the first always does, shortened if it must be."""
    kept: list[Row] = []
    left = budget - ENVELOPE
    for made in rows:
        size = len(msgspec.json.encode(made)) + 1
        if size > left and kept:
            break
        if size > left:
            shortened(made, max(0, len(made.get("value") or "") - (size - left)))
        kept.append(made)
        left -= size
    return kept


def page_bounds(page: PageWish) -> tuple[int, int]:
    """Return with which row a page begins, and how many it has at the most."""
    return page.get("start") or 0, min(page.get("count") or PAGE, MAX_PAGE)


def page_of(rows: list[Row], page: PageWish, is_indexed: bool = False) -> VariablePage:
    """Return the page that is wished for of all the rows that there are."""
    start, count = page_bounds(page)
    shown, total = selected(rows, page, is_indexed, start, count)
    return paged(shown, total, start, page)


def selected(rows: list[Row], page: PageWish, is_indexed: bool, start: int, count: int) -> tuple[list[Row], int]:
    if page.get("filter") == ("named" if is_indexed else "indexed"):
        rows = []
    if wanted := page.get("name"):
        rows = [made for made in rows if wanted.lower() in made["name"].lower()]
    return rows[start : start + count], len(rows)


def paged(rows: list[Row], total: int, start: int, page: PageWish) -> VariablePage:
    if page.get("summary"):
        for made in rows:
            made.pop("value", None)
    limit = page.get("limit_total") or 20_000
    budget = page.get("budget")
    rows = within(rows, min(limit, budget or limit), limit)
    rows = fitted(rows, budget) if budget else rows
    return {"variables": rows, "total": total, "has_more": bool(rows) and start + len(rows) < total}


def as_result(made: Row) -> EvaluationRow:
    """Return a row as the value of an expression, which has no name."""
    told = {name: value for name, value in made.items() if name not in ("name", "value")}
    return cast(EvaluationRow, {"result": made.get("value", ""), **told, "presentation_hint": None})


def complaint(answer: Mapping[str, Any]) -> str | None:
    """Return why an expression has no value, if the debugger said so."""
    return (answer.get("syntax_error") or {}).get("message") or answer.get("error")


def has_failed(answer: Mapping[str, Any]) -> bool:
    return bool(answer.get("error") or answer.get("syntax_error") or answer.get("timed_out"))


def watched_row(answer: Mapping[str, Any], limit: int) -> WatchRow:
    if answer.get("timed_out"):
        return {"error": "timed out"}
    problem = complaint(answer)
    if problem is not None:
        return {"error": clipped(problem, limit)[0]}
    told = {name: value for name, value in answer.items() if name != "result" and value is not None}
    return cast(WatchRow, {"value": answer["result"], **told})
