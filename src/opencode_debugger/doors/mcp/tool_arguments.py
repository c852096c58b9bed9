"""Reads the arguments of a tool call; what is wrong is told with the name of the argument and what is allowed."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

import msgspec

from ...agents.arguments import Arguments
from ...agents.table import AgentCall
from ...errors import RelayError, invalid_parameter
from .tool_list import compact_schema

VALIDATION = re.compile(r"(?P<message>.*?)(?: - at `(?:key in )?\$\.?(?P<place>.*)`)?", re.DOTALL)
"""A message of msgspec: what it expected, and where."""
SHOWN = 100


def read_arguments(call: AgentCall, given: dict[str, Any]) -> Arguments:
    """Read what models send: "42" for 42, one text for a list of one, JSON in a text, null for what is left out."""
    schema = compact_schema(call.takes)
    known = schema["properties"]
    given = {_plain_name(name, known): value for name, value in given.items() if value is not None}
    if unknown := next((name for name in given if name not in known), None):
        raise _unknown_argument(call, unknown, list(known))
    if missing := next((name for name in schema.get("required", ()) if name not in given), None):
        message = f"{call.name} needs {missing}"
        raise RelayError("MISSING_PARAMETER", message, suggestion=f"{missing} is {_allowed_values(known[missing])}")
    meant = {name: _unpack_text(value, known[name].get("type")) for name, value in given.items()}
    try:
        return msgspec.convert(meant, call.takes, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong_argument(call, given, str(error)) from None


def _plain_name(name: str, known: dict[str, Any]) -> str:
    """Answers speak of a session_id, thread_id or frame_id, where calls take session, thread or frame."""
    plain = name.removesuffix("_id")
    return plain if name not in known and plain in known else name


def _unpack_text(value: Any, kind: str | None) -> Any:
    if not isinstance(value, str) or kind not in ("array", "object"):
        return value
    try:
        decoded = msgspec.json.decode(value)
    except msgspec.DecodeError:
        decoded = None
    if isinstance(decoded, list if kind == "array" else dict):
        return decoded
    return [value] if kind == "array" else value


def _unknown_argument(call: AgentCall, name: str, known: list[str]) -> RelayError:
    near = get_close_matches(name, known, 1)
    suggestion = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(known)}"
    return invalid_parameter(name[:SHOWN], "", f"{call.name} has no argument {name[:SHOWN]!r}", suggestion)


def _wrong_argument(call: AgentCall, given: dict[str, Any], told: str) -> RelayError:
    found = VALIDATION.fullmatch(told)
    place = (found and found["place"]) or ""
    name = re.split(r"[.\[]", place)[0]
    shown = str(given.get(name))[:SHOWN]
    message = f"{call.name} {place}: {found['message'] if found else told}, not {shown!r}".replace("`", "")
    allowed = _allowed_values(compact_schema(call.takes)["properties"].get(name, {}))
    return invalid_parameter(name, shown, message, f"{name} is {allowed}")


def _allowed_values(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    kind = schema.get("type", "any value")
    said = f"{kind} of {schema['items']['type']}s" if "items" in schema else kind
    return f"{said}: {schema['description']}" if "description" in schema else said
