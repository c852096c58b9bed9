"""Variables as rows of an answer, where a debugger gives texts only, and pages of them that keep to a budget."""

from __future__ import annotations

from typing import Any

import msgspec

PAGE = 100
MAX_PAGE = 1000
ENVELOPE = 200
"""characters around the rows of an answer"""
VALUE_LIMIT = 240
"""characters of one value in a report"""

Row = dict[str, Any]


def clipped(text: str, limit: int) -> tuple[str, bool]:
    if len(text) <= limit:
        return text, False
    return text[: max(0, limit - 3)] + "..."[: max(0, limit)], True


def row(name: str, value: str | None, type: str | None, reference: int = 0, named: int = 0, indexed: int = 0) -> Row:
    made: Row = {
        "name": name,
        "value": value,
        "type": type,
        "variables_reference": reference,
        "named_variables": named,
        "indexed_variables": indexed,
    }
    if value is None:
        del made["value"]
    if reference:
        made["expandable"] = True
    return made


def shortened(made: Row, limit: int) -> Row:
    """`made` itself, its value cut to so many characters."""
    if "value" in made:
        made["value"], cut = clipped(made["value"], limit)
        if cut:
            made["truncated"] = True
    return made


def within(rows: list[Row], budget: int, most: int = VALUE_LIMIT) -> list[Row]:
    """As many as the budget affords, at least one; those with long values share what the others leave."""
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
    """Those whose JSON text fits; the first always does, shortened if it must be."""
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


def selected(rows: list[Row], page: dict[str, Any], is_indexed: bool, start: int, count: int) -> tuple[list[Row], int]:
    if page.get("filter") == ("named" if is_indexed else "indexed"):
        rows = []
    if page.get("name"):
        rows = [made for made in rows if page["name"].lower() in made["name"].lower()]
    return rows[start : start + count], len(rows)


def paged(rows: list[Row], total: int, start: int, page: dict[str, Any]) -> dict[str, Any]:
    if page.get("summary"):
        for made in rows:
            made.pop("value", None)
    limit = page.get("limit_total") or 20_000
    budget = page.get("budget")
    rows = within(rows, min(limit, budget or limit), limit)
    rows = fitted(rows, budget) if budget else rows
    return {"variables": rows, "total": total, "has_more": bool(rows) and start + len(rows) < total}


def as_result(made: Row) -> dict[str, Any]:
    del made["name"]
    return {"result": made.pop("value", ""), **made, "presentation_hint": None}


def complaint(answer: dict[str, Any]) -> Any:
    """Why an expression has no value, if the debugger said so."""
    return (answer.get("syntax_error") or {}).get("message") or answer.get("error")


def has_failed(answer: dict[str, Any]) -> bool:
    return bool(answer.get("error") or answer.get("syntax_error") or answer.get("timed_out"))


def watched_row(answer: dict[str, Any], limit: int) -> dict[str, Any]:
    if answer.get("timed_out"):
        return {"error": "timed out"}
    problem = complaint(answer)
    if problem is not None:
        return {"error": clipped(problem, limit)[0]}
    made = {"value": answer.pop("result")}
    return made | {name: value for name, value in answer.items() if value is not None}
