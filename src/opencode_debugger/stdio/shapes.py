"""What the session knows, in the protocol's words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from ..errors import RelayError

Row = dict[str, Any]

REASONS = {"step": "step", "breakpoint": "breakpoint", "entry": "entry", "exception": "exception", "pause": "pause"}
REASONS |= {"data_breakpoint": "dataBreakpoint"}
DEFINED = frozenset({"module", "function", "type"})
"""Types of names in a Python module that are no variables to whoever reads it."""
MODULE = "<module>"
ROWS = 1000
"""Variables of a frame that are shown."""
ELSEWHERE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) /|details\.|session|\b(strict|cwd)\b")
"""Advice that is for clients of the relay, with its routes and parameters."""
WAITS = "pending"


def location(place: Row | None) -> Row:
    place = place or {}
    return {"file": place.get("path") or "", "line": place.get("line") or 0, "column": max(1, place.get("column") or 1)}


def frames(rows: Iterable[Row]) -> list[Row]:
    return [
        {"index": row["id"], "function": row["name"], **location({**row, "path": row["source"]["path"]})}
        for row in rows
    ]


def variable(row: Row) -> Row:
    return {"name": row["name"], "value": text(row["value"]), "type": row["type"] or ""}


def variables(rows: Iterable[Row], function: str | None) -> list[Row]:
    """Those of a module without what it imports and defines."""
    return [variable(row) for row in rows if function != MODULE or not is_definition(row)]


def is_definition(row: Row) -> bool:
    return row["type"] in DEFINED or (row.get("presentation_hint") or {}).get("kind") in ("class", "method")


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def watch(row: Row) -> Row:
    shown: Row = {"id": number(row["watch_id"]), "expression": row["expression"]}
    return shown | {name: text(row[name]) for name in ("value", "type", "error") if row.get(name) is not None}


def thread(row: Row) -> Row:
    state = "stopped" if row["status"] == "paused" else "running"
    return {"id": row["id"], "name": row["name"], "state": state, "current": row["is_current"]}


def number(id: str) -> int:
    """bp_3, dbp_3 and w_3 are 3 to a client."""
    return int(id.rpartition("_")[2])


def about(breakpoint: Row, why: str) -> str:
    place = breakpoint.get("function") or f"{(breakpoint['source'] or {}).get('path')}:{breakpoint['line']}"
    return f"Breakpoint at {place}: {why}"


def useless(breakpoint: Row, has_ended: bool = False) -> str | None:
    """Of one that was set in good faith it may show later that there is no code on its line, or nowhere."""
    why, line = breakpoint["message"] or "", (breakpoint.get("suggestion") or {}).get("line")
    if breakpoint["verified"] or not why or (WAITS in why and not has_ended):
        return None
    if WAITS in why:
        what = "such function" if breakpoint.get("function") else "code there"
        return about(breakpoint, f"the program had no {what}")
    return about(breakpoint, f"{why}. The next line with code is {line}" if line else why)


def syntax_error(details: Row) -> Row:
    """Whatever is no native program is taken for Python."""
    path = details.get("file") or ""
    advice = "" if path.endswith((".py", ".pyw")) else f". {os.path.basename(path)} was read as Python"
    place = {"path": path, "line": details.get("line"), "column": details.get("offset")}
    where = f" ({path}:{place['line']}:{max(1, place['column'] or 1)})" if place["line"] else f" ({path})"
    return {"message": f"SyntaxError: {details['error_message']}{where}{advice}", "location": location(place)}


def message(error: RelayError) -> str:
    """What happened, and what to do about it."""
    problems = error.details.get("errors") or [{}]
    said = problems[0].get("message") or error.message
    advice = error.details.get("suggestion") or ""
    if not advice or ELSEWHERE.search(advice):
        return str(said)
    return f"{said.rstrip('.')}. {advice}"
