"""Answers and advice of the session in the protocol's words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, cast

from ...errors import RelayError
from ...ez.messages import EventData, EzFrame, EzLocation, EzThread, EzVariable
from ...ez.protocol import COMMANDS
from ...operations.operation import Operation
from ...session.breakpoints.breakpoint_table import number_of

Row = dict[str, Any]

REASONS = {name: name for name in ("step", "breakpoint", "entry", "exception", "pause")}
REASONS["data_breakpoint"] = "dataBreakpoint"
DEFINED = frozenset({"module", "function", "type"})
"""Types of names in a Python module that are no variables to whoever reads it."""
ROWS = 1000
"""Variables of a frame that are shown."""
ELSEWHERE = re.compile(r"details\.|session|\b(strict|cwd)\b")
"""Advice that is for clients of the relay, with its parameters."""
WAITS = "pending"
CALLED_OTHERWISE = {"launch": "start", "stdin": "input", "frame_variables": "getVariables", "threads": "getThreads"}
CALLED_OTHERWISE |= {"list_watches": "getWatches", "stack_trace": "getStackTrace"}
"""Commands that are not called as the operation that they stand for."""


def ez_call(operation: Operation, arguments: dict[str, str], is_full: bool) -> str | None:
    """Spell a call that advice names as a command; return None if there is none for it."""
    in_camel_case = re.sub(r"_(\w)", lambda match: match[1].upper(), operation.name)
    command = CALLED_OTHERWISE.get(operation.name, in_camel_case)
    return command if command in COMMANDS else None


def ez_location(place: Row | None) -> EzLocation:
    place = place or {}
    return {"file": place.get("path") or "", "line": place.get("line") or 0, "column": max(1, place.get("column") or 1)}


def ez_frame(row: Row) -> EzFrame:
    return {"index": row["id"], "function": row["name"], **ez_location({**row, "path": row["source"]["path"]})}


def ez_variable(row: Row) -> EzVariable:
    return {"name": row["name"], "value": row.get("value") or "", "type": row["type"] or ""}


def ez_variables(rows: Iterable[Row], function: str | None) -> list[EzVariable]:
    """Return the variables; those of a module without what it imports and defines."""
    if function == "<module>":
        kinds = [((row.get("presentation_hint") or {}).get("kind"), row) for row in rows]
        rows = [row for kind, row in kinds if row["type"] not in DEFINED and kind not in ("class", "method")]
    return [ez_variable(row) for row in rows]


def ez_watch(row: Row) -> EventData:
    told = {name: row[name] for name in ("expression", "value", "type", "error") if row.get(name) is not None}
    return cast("EventData", {"id": number_of(row["watch_id"]), **told})


def ez_thread(row: Row) -> EzThread:
    state = "stopped" if row["status"] == "paused" else "running"
    return {"id": row["id"], "name": row["name"], "state": state, "current": row["is_current"]}


def breakpoint_details(breakpoint: Row, why: str) -> str:
    place = breakpoint.get("function") or f"{(breakpoint['source'] or {}).get('path')}:{breakpoint['line']}"
    return f"Breakpoint at {place}: {why}"


def is_useless(breakpoint: Row, has_ended: bool = False) -> str | None:
    """Tell whether a breakpoint, set in good faith, turned out to be on a line without code, or nowhere."""
    why, line = breakpoint["message"] or "", (breakpoint.get("suggestion") or {}).get("line")
    if breakpoint["verified"] or not why or (WAITS in why and not has_ended):
        return None
    if WAITS in why:
        why = f"the program had no {'such function' if breakpoint.get('function') else 'code there'}"
    elif line:
        why += f". The next line with code is {line}"
    return breakpoint_details(breakpoint, why)


def syntax_mistake(details: Row) -> tuple[str, EzLocation]:
    """Return message and place of a mistake in a program: whatever is no native program is taken for Python."""
    path = details.get("file") or ""
    advice = "" if path.endswith((".py", ".pyw")) else f". {os.path.basename(path)} was read as Python"
    place = ez_location({"path": path, "line": details.get("line"), "column": details.get("offset")})
    where = f" ({path}:{place['line']}:{place['column']})" if place["line"] else f" ({path})"
    return f"SyntaxError: {details['error_message']}{where}{advice}", place


def error_message(error: RelayError) -> str:
    """Say what happened, and what to do about it."""
    problems = error.details.get("errors") or [{}]
    said = problems[0].get("message") or error.message
    advice = error.details.get("suggestion") or ""
    return f"{said.rstrip('.')}. {advice}" if advice and not ELSEWHERE.search(advice) else str(said)
