"""Agents that speak MCP: the official client, over stdio and over HTTP, and what they expect."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, TextContent
from relays import RUN_ID, RUN_MARKER, Relay
from waiting import runs, wait_until

MODERN = "2026-07-28"
Tell = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass
class Agent:
    client: Client

    async def ask(self, tool: str, /, tell: Tell | None = None, **arguments: Any) -> CallToolResult:
        return await self.client.call_tool(tool, arguments, progress_callback=tell)

    async def call(self, tool: str, /, tell: Tell | None = None, **arguments: Any) -> str:
        """The text of an answer."""
        result = await self.ask(tool, tell, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """The text of a refusal, which says what to do."""
        result = await self.ask(tool, **arguments)
        assert result.is_error, text_of(result)
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def server_command(data_dir: Path) -> list[str]:
    return [sys.executable, "-m", "opencode_debugger", "mcp", "--data-dir", str(data_dir)]


@contextlib.asynccontextmanager
async def over_stdio(
    data_dir: Path, folder: Path, mode: str = "auto", server: str | None = None, log: TextIO | None = None
) -> AsyncIterator[Agent]:
    """A server of its own; `log` is where the client keeps what it writes to stderr."""
    program, *args = [*server_command(data_dir), *(["--server", server] if server else [])]
    # What a debugged pytest does is not to depend on this run of pytest, nor on plugins that are installed.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env = {**inherited, RUN_MARKER: RUN_ID, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    started = StdioServerParameters(command=program, args=args, cwd=folder, env=env)
    async with Client(stdio_client(started, errlog=log or sys.stderr), mode=mode) as client:
        yield Agent(client)


def mcp_url(relay: Relay) -> str:
    return f"{relay.base_url.removesuffix('/api/v1')}/mcp"


@contextlib.asynccontextmanager
async def over_http(
    relay: Relay, mode: str = "auto", token: str | None = None, client: str = "tests",
    headers: dict[str, str] | None = None,
) -> AsyncIterator[Agent]:
    authorization = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=authorization | (headers or {}), timeout=120, verify=False) as http:
        about = Implementation(name=client, version="1")
        transport = streamable_http_client(mcp_url(relay), http_client=http)
        async with Client(transport, mode=mode, client_info=about) as connected:
            yield Agent(connected)


@contextlib.contextmanager
def relay_ended(data_dir: Path) -> Iterator[None]:
    """End the relay that somebody has started for a data folder."""
    try:
        yield
    finally:
        pid = pid_of_relay(data_dir)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not runs(pid))


def pid_of_relay(data_dir: Path) -> int:
    return int(json.loads((data_dir / "relay.lock").read_bytes())["pid"])
