"""The page about MCP: its session runs as printed, and its table has the tools that there are."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

from mcp_clients import over_stdio
from places import DOCS
from relays import Relay

from opencode_debugger.agents.table import AGENT_CALLS
from opencode_debugger.doors.mcp.tool_calls import compact_schema

PAGE = (DOCS / "mcp.md").read_text(encoding="utf-8")
SESSION = r"sess_[0-9a-f]{8}"
VARIES = ((SESSION, "SESSION"), (r"\d+ (more )?frames", "N frames"))
"""ids, and how many frames the installed pytest has"""


def test_table_of_tools_has_those_that_there_are() -> None:
    rows = re.findall(r"^\| `(debug_\w+)` \| (.*) \| (.*) \|$", PAGE, flags=re.MULTILINE)
    assert [(name, does) for name, does, _ in rows] == [(call.name, call.summary) for call in AGENT_CALLS.values()]
    for name, _, arguments in rows:
        assert re.findall(r"`(\w+)`", arguments) == list(compact_schema(AGENT_CALLS[name].takes)["properties"])


def test_session_of_the_page_runs_as_printed(relay: Relay, tmp_path: Path) -> None:
    """With RECORD=1 the page is written anew."""
    for name, text in re.findall(r"^`(\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (transcript,) = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    calls = re.findall(r"^> (\w+) (.*)$", transcript, flags=re.MULTILINE)
    told = asyncio.run(replay(relay, tmp_path, calls))
    if os.environ.get("RECORD"):
        shown = re.sub(SESSION, "sess_a1b2c3d4", told)
        (DOCS / "mcp.md").write_text(PAGE.replace(transcript, shown), encoding="utf-8")
    else:
        assert without_variation(told) == without_variation(transcript)


async def replay(relay: Relay, folder: Path, calls: list[tuple[str, str]]) -> str:
    told = ""
    async with over_stdio(relay.data_dir, folder) as agent:
        for tool, arguments in calls:
            told += f"> {tool} {arguments}\n{await agent.call(tool, **json.loads(arguments))}\n"
    return told


def without_variation(text: str) -> str:
    for pattern, shown in VARIES:
        text = re.sub(pattern, shown, text)
    return "\n".join(line.rstrip() for line in text.splitlines())
