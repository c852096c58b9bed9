"""Output and source of sessions as MCP resources."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import msgspec
from mcp_types import Resource, ResourceTemplate, TextResourceContents

from ...agents.conversation import Conversation
from ...answers.output import OutputPage
from ...answers.sessions import SessionList
from ...answers.source_code import Source
from ...errors import RelayError
from ...operations.operation import ID

TEXT = "text/plain"
TEMPLATES = [
    ResourceTemplate(
        name="output", uri_template="session://{session}/output", mime_type=TEXT,
        description="What the program of a session wrote: its last 1000 entries"),
    ResourceTemplate(
        name="source", uri_template="session://{session}/source/{+path}", mime_type=TEXT,
        description="Source file as a paused session knows it"),
]
ADDRESS = re.compile(r"session://(?P<session>[^/]+)/(?:(?P<output>output)|source/(?P<path>.+))")
MOST_ENTRIES = 1000


async def list_outputs(conversation: Conversation) -> list[Resource]:
    answer = await conversation.asker.ask("list_sessions", {"limit": 1000})
    return [
        Resource(
            name=f"output of {item.session_id}", uri=f"session://{quote(item.session_id)}/output", mime_type=TEXT,
            description=f"{item.program or item.name or 'no program yet'}, {item.status}")
        for item in msgspec.json.decode(answer, type=SessionList).items
    ]


async def read_resource(conversation: Conversation, uri: str) -> TextResourceContents:
    found = ADDRESS.fullmatch(uri)
    if found is None:
        forms = " and ".join(template.uri_template for template in TEMPLATES)
        raise RelayError("INVALID_PARAMETER", f"There is no resource {uri[:200]}", suggestion=f"Resources are {forms}")
    session = unquote(found["session"])
    read = _read_output(conversation, session) if found["output"] else _read_source(
        conversation, session, unquote(found["path"]))
    return TextResourceContents(uri=uri, mime_type=TEXT, text=await read)


async def _read_output(conversation: Conversation, session: str) -> str:
    answer = await conversation.asker.ask("output", {ID: session, "tail": MOST_ENTRIES})
    return "".join(entry.output for entry in msgspec.json.decode(answer, type=OutputPage).entries)


async def _read_source(conversation: Conversation, session: str, path: str) -> str:
    """Read all of a file, a page at a time."""
    lines: list[str] = []
    while True:
        params = {ID: session, "path": path, "start_line": len(lines) + 1}
        page = msgspec.json.decode(await conversation.asker.ask("source", params), type=Source)
        lines += [line.text for line in page.lines]
        if not page.lines or len(lines) >= page.total_lines:
            return "".join(f"{line}\n" for line in lines)
