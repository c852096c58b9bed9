"""Agent calls as MCP tools: their descriptions, and schemas of arguments in few bytes."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from mcp_types import Tool, ToolAnnotations

from ...agents.table import AGENT_CALLS, AgentCall

KEPT = ("type", "description", "enum", "items")
"""What a model needs to know of an argument; titles, defaults and limits are told by errors."""


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
