"""Clients of MCP: where each keeps its configuration, and how it names a server there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

NAME = "opencode-debugger"
"""What clients call the server."""


class Client(NamedTuple):
    place: str
    """of its configuration; what is not absolute is in the current folder"""
    section: str
    """under which it lists servers"""
    entry: dict[str, Any]
    """fields besides the command"""
    is_one_list: bool = False
    """command and arguments are one list"""

    @property
    def path(self) -> Path:
        return Path(os.path.expandvars(self.place)).expanduser().absolute()

    def describe_server(self) -> dict[str, Any]:
        program, *args = server_command()
        if self.is_one_list:
            return {**self.entry, "command": [program, *args]}
        return {**self.entry, "command": program, "args": args}


IS_MAC = sys.platform == "darwin"
CLAUDE_DESKTOP = "~/Library/Application Support/Claude" if IS_MAC else "~/.config/Claude"
CLIENTS = {
    "claude-code": Client(".mcp.json", "mcpServers", {"type": "stdio"}),
    "claude-desktop": Client(f"{CLAUDE_DESKTOP}/claude_desktop_config.json", "mcpServers", {}),
    "cursor": Client(".cursor/mcp.json", "mcpServers", {}),
    "vscode": Client(".vscode/mcp.json", "servers", {"type": "stdio"}),
    "codex": Client("~/.codex/config.toml", "mcp_servers", {}),
    "gemini": Client(".gemini/settings.json", "mcpServers", {}),
    "opencode": Client("opencode.json", "mcp", {"type": "local", "enabled": True}, is_one_list=True),
    "zed": Client("~/.config/zed/settings.json", "context_servers", {}),
}


def server_command() -> list[str]:
    """Return the command with absolute paths, because clients have a PATH of their own."""
    script = Path(sys.executable).with_name("ocdb")
    return [str(script), "mcp"] if script.exists() else [sys.executable, "-P", "-m", "opencode_debugger", "mcp"]
