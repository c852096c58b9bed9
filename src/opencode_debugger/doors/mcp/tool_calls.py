"""Agent calls as MCP tools: described in few bytes, and what models send for them read leniently.

What is wrong with it is told with the name of the argument and what is allowed."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec
from mcp_types import Tool, ToolAnnotations

from ...agents.arguments import Arguments
from ...agents.table import AGENT_CALLS, AgentCall
from ...errors import RelayError, invalid_parameter

KEPT = ("type", "description", "enum", "items")
"""What a model needs to know of an argument; titles, defaults and limits are told by errors."""
VALIDATION = re.compile(r"(?P<message>.*?)(?: - at `(?:key in )?\$\.?(?P<place>.*)`)?", re.DOTALL)
"""A message of msgspec: what it expected, and where."""
SHOWN = 100


@cache
def list_tools() -> list[Tool]:
    return [make_tool(call) for call in AGENT_CALLS.values()]


def make_tool(call: AgentCall) -> Tool:
    hints = ToolAnnotations(title=call.name.removeprefix("debug_").capitalize())
    if call.is_read_only:
        hints.read_only_hint = True
    else:
        hints.destructive_hint = call.is_destructive
    return Tool(name=call.name, description=call.summary, input_schema=compact_schema(call.takes), annotations=hints)


@cache
def compact_schema(takes: type[msgspec.Struct]) -> dict[str, Any]:
    (whole,), parts = msgspec.json.schema_components([takes], ref_template="{name}")
    whole = parts[whole["$ref"]]
    schema = {"type": "object", "properties": {name: _compact(each) for name, each in whole["properties"].items()}}
    return schema | ({"required": whole["required"]} if whole.get("required") else {})


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what an argument may be besides, which is null."""
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            schema = {**choice, **schema}
    if "enum" in schema:
        schema = {**schema, "enum": [each for each in schema["enum"] if each is not None], "type": "string"}
    kept = {name: schema[name] for name in KEPT if name in schema}
    return kept | ({"items": _compact(kept["items"])} if "items" in kept else {})


# Arguments of a call.


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
