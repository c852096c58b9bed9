"""What the session says, as DAP has it."""

from __future__ import annotations

import os
from typing import Any

from .places import Places

KINDS = {"key": "field"}
"""of completions, where DAP has another word"""
REASONS = {"run_to": "goto", "data_breakpoint": "data breakpoint", "function_breakpoint": "function breakpoint"}
BREAK_MODES = {"user_unhandled": "userUnhandled"}


def breakpoint_of(shown: dict[str, Any], places: Places) -> dict[str, Any]:
    """Of the session's own description, or of one that was refused."""
    body: dict[str, Any] = {"verified": bool(shown["verified"])}
    if "id" in shown:
        body["id"] = number_of(shown["id"])
    if shown.get("message"):
        body["message"] = with_suggestion(shown)
    if (shown.get("source") or {}).get("path"):
        body["source"] = source_of(shown["source"]["path"], places)
    if shown.get("line"):
        body["line"] = places.their_line(shown["line"])
    return body


def with_suggestion(shown: dict[str, Any]) -> str:
    match shown.get("suggestion"):
        case {"line": line, "text": text}:
            return f"{shown['message']}. Try line {line}: {text}"
        case {"path": path}:
            return f"{shown['message']} Did you mean {path}?"
    return str(shown["message"])


def number_of(id: str) -> int:
    """bp_12 is 12."""
    return int(id.rpartition("_")[2])


def source_of(path: str, places: Places) -> dict[str, Any]:
    return {"name": os.path.basename(path), "path": places.their_path(path)}


def stop_of(body: dict[str, Any]) -> dict[str, Any]:
    """A stop as the log has it."""
    shown = {
        "reason": REASONS.get(body["reason"], body["reason"]),
        "description": body["description"],
        "threadId": body["thread_id"],
        "allThreadsStopped": body["all_threads_stopped"],
        "hitBreakpointIds": [number_of(id) for id in body["hit_breakpoint_ids"] if id.startswith("bp_")],
    }
    return shown | ({"text": body["text"]} if body["text"] else {})


def variable_of(row: dict[str, Any], reference: int, expression: str | None) -> dict[str, Any]:
    shown = {"name": row["name"], **value_of({**row, "result": row.get("value")}, reference)}
    shown["value"] = shown.pop("result")
    return shown | ({"evaluateName": expression} if expression else {})


def value_of(row: dict[str, Any], reference: int) -> dict[str, Any]:
    """A value with its type, and how much there is inside."""
    shown: dict[str, Any] = {"result": row.get("result") or "", "variablesReference": reference}
    for theirs, ours in (
        ("type", "type"),
        ("namedVariables", "named_variables"),
        ("indexedVariables", "indexed_variables"),
        ("presentationHint", "presentation_hint"),
        ("memoryReference", "memory_reference"),
    ):
        if row.get(ours):
            shown[theirs] = row[ours]
    return shown


def exception_of(told: dict[str, Any]) -> dict[str, Any]:
    mode = told.get("break_mode") or "always"
    return {
        "exceptionId": told.get("full_type") or told["type"],
        "description": told.get("message") or "",
        "breakMode": BREAK_MODES.get(mode, mode),
        "details": _details(told, told.get("chain") or []),
    }


def _details(told: dict[str, Any], chain: list[dict[str, Any]]) -> dict[str, Any]:
    details: dict[str, Any] = {"message": told.get("message") or "", "typeName": told["type"]}
    details["fullTypeName"] = told.get("full_type") or told["type"]
    if told.get("traceback"):
        details["stackTrace"] = told["traceback"]
    if chain:
        details["innerException"] = [_details(chain[0], chain[1:])]
    return details


def module_of(module: dict[str, Any], places: Places) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": module.get("id") or module["name"], "name": module["name"]}
    shown["isUserCode"] = bool(module.get("is_user_code"))
    if module.get("path"):
        shown["path"] = places.their_path(module["path"])
    return shown | ({"version": str(module["version"])} if module.get("version") else {})


def completion_of(item: dict[str, Any], places: Places) -> dict[str, Any]:
    return {
        "label": item["label"],
        "type": KINDS.get(item["type"], item["type"]),
        "start": places.their_column(item["start"]),
        "length": item["length"],
    }
