"""Answers of the session in the shapes of DAP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ...session.breakpoints.breakpoint_table import number_of
from ...session.session import Session
from .client_places import ClientPlaces

KINDS = {"key": "field"}
"""of completions, where DAP has another word"""
REASONS = {"run_to": "goto", "data_breakpoint": "data breakpoint", "function_breakpoint": "function breakpoint"}
BREAK_MODES = {"user_unhandled": "userUnhandled"}


async def ask_session(session: Session, operation: str, *given: Any, **params: Any) -> dict[str, Any]:
    """Return what a session answers: in its own words, which this door says in those of DAP."""
    shown: dict[str, Any] = msgspec.to_builtins(await session.perform(operation, *given, **params))
    return shown


class Shape(msgspec.Struct, rename="camel", kw_only=True):
    """A part of DAP; what is UNSET is left out."""


Body = Mapping[str, object] | Shape | None
"""what a request is answered"""


class Source(Shape):
    name: str
    path: str
    source_reference: int | UnsetType = UNSET


class Breakpoint(Shape):
    verified: bool
    id: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    source: Source | UnsetType = UNSET
    line: int | UnsetType = UNSET


class Frame(Shape):
    id: int
    name: str
    line: int
    column: int
    presentation_hint: str
    instruction_pointer_reference: str | UnsetType = UNSET
    source: Source | UnsetType = UNSET


class Scope(Shape):
    name: str
    variables_reference: int
    expensive: bool
    presentation_hint: str | UnsetType
    named_variables: int | UnsetType
    indexed_variables: int | UnsetType


class Value(Shape):
    """A value with its type, and how much there is inside; of a variable also its name."""

    variables_reference: int
    name: str | UnsetType = UNSET
    result: str | UnsetType = UNSET
    value: str | UnsetType = UNSET
    evaluate_name: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    named_variables: int | UnsetType = UNSET
    indexed_variables: int | UnsetType = UNSET
    presentation_hint: object = UNSET
    memory_reference: str | UnsetType = UNSET


ABOUT_VALUES = ("type", "named_variables", "indexed_variables", "presentation_hint", "memory_reference")
"""Fields of a value that rows of the session have under the same names."""


class Stop(Shape):
    reason: str
    description: str
    thread_id: int
    all_threads_stopped: bool
    hit_breakpoint_ids: list[int]
    text: str | UnsetType


class ExceptionDetails(Shape):
    message: str
    type_name: str
    full_type_name: str
    stack_trace: str | UnsetType
    inner_exception: list[ExceptionDetails] | UnsetType


class RaisedException(Shape):
    exception_id: str
    description: str
    break_mode: str
    details: ExceptionDetails


class Module(Shape):
    id: object
    name: str
    is_user_code: bool
    path: str | UnsetType
    version: str | UnsetType


class Completion(Shape):
    label: str
    type: str
    start: int
    length: int


class Instruction(Shape):
    address: str
    instruction: str
    instruction_bytes: str | UnsetType
    symbol: str | UnsetType
    location: Source | UnsetType
    line: int | UnsetType


def breakpoint_of(shown: Mapping[str, Any], places: ClientPlaces) -> Breakpoint:
    """Return DAP's breakpoint for the session's own description, or for one that was refused."""
    path = (shown.get("source") or {}).get("path")
    return Breakpoint(
        verified=bool(shown["verified"]), id=number_of(shown["id"]) if "id" in shown else UNSET,
        message=with_suggestion(shown) if shown.get("message") else UNSET,
        source=source_of(path, places) if path else UNSET,
        line=places.their_line(shown["line"]) if shown.get("line") else UNSET,
    )


def with_suggestion(shown: Mapping[str, Any]) -> str:
    match shown.get("suggestion"):
        case {"line": line, "text": text}:
            return f"{shown['message']}. Try line {line}: {text}"
        case {"path": path}:
            return f"{shown['message']} Did you mean {path}?"
    return str(shown["message"])


def source_of(path: str, places: ClientPlaces) -> Source:
    return Source(name=os.path.basename(path), path=places.their_path(path))


def stop_of(body: dict[str, Any]) -> Stop:
    """A stop as the log has it."""
    return Stop(
        reason=REASONS.get(body["reason"], body["reason"]), description=body["description"],
        thread_id=body["thread_id"], all_threads_stopped=body["all_threads_stopped"],
        hit_breakpoint_ids=[number_of(id) for id in body["hit_breakpoint_ids"] if id.startswith("bp_")],
        text=body["text"] or UNSET,
    )


def value_of(row: dict[str, Any], reference: int, **named: Any) -> Value:
    """Return a value whose text and names are given as the answer calls them."""
    return Value(variables_reference=reference, **{name: row[name] for name in ABOUT_VALUES if row.get(name)}, **named)


def exception_of(told: dict[str, Any]) -> RaisedException:
    mode = told.get("break_mode") or "always"
    return RaisedException(
        exception_id=told.get("full_type") or told["type"], description=told.get("message") or "",
        break_mode=BREAK_MODES.get(mode, mode), details=_exception_details(told, told.get("chain") or []),
    )


def _exception_details(told: dict[str, Any], chain: list[dict[str, Any]]) -> ExceptionDetails:
    return ExceptionDetails(
        message=told.get("message") or "", type_name=told["type"], full_type_name=told.get("full_type") or told["type"],
        stack_trace=told.get("traceback") or UNSET,
        inner_exception=[_exception_details(chain[0], chain[1:])] if chain else UNSET,
    )


def module_of(module: dict[str, Any], places: ClientPlaces) -> Module:
    return Module(
        id=module.get("id") or module["name"], name=module["name"], is_user_code=bool(module.get("is_user_code")),
        path=places.their_path(module["path"]) if module.get("path") else UNSET,
        version=str(module["version"]) if module.get("version") else UNSET,
    )


def completion_of(item: dict[str, Any], places: ClientPlaces) -> Completion:
    kind, start = item["type"], places.their_column(item["start"])
    return Completion(label=item["label"], type=KINDS.get(kind, kind), start=start, length=item["length"])


def instruction_of(row: dict[str, Any], places: ClientPlaces) -> Instruction:
    return Instruction(
        address=row["address"], instruction=row["instruction"], instruction_bytes=row.get("bytes") or UNSET,
        symbol=row.get("symbol") or UNSET, location=source_of(row["path"], places) if row.get("path") else UNSET,
        line=places.their_line(row["line"]) if row.get("line") else UNSET,
    )
