"""The MCP server on stdin and stdout, for the client that started this process."""

from __future__ import annotations

import asyncio
import os

from mcp.server.stdio import stdio_server

from ...agents.conversation import Conversation, LastSession
from ...client.http import AsyncHttpAsker, FindAgain
from ...operations.door_words import MCP
from .mcp_server import Context, client_name, make_server


async def serve_stdio(find_relay: FindAgain) -> None:
    """Serve until the client closes its end."""
    connection = StdioConnection(find_relay)
    server = make_server(connection)
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        connection.close()


class StdioConnection:
    """The one client. Its relay is found, or started, when it first asks for something: most never do."""

    def __init__(self, find_relay: FindAgain) -> None:
        self._find_relay = find_relay
        self._finding = asyncio.Lock()
        self._asker: AsyncHttpAsker | None = None
        self._choice = LastSession()

    async def converse(self, context: Context) -> Conversation:
        """Relative paths are meant from the folder in which the client has started us."""
        async with self._finding:
            if self._asker is None:
                address = await asyncio.to_thread(self._find_relay)
                self._asker = AsyncHttpAsker(address, os.getcwd(), MCP, self._find_relay, client_name(context))
        return Conversation(self._asker, self._choice)

    def has_relay(self) -> bool:
        return self._asker is not None

    def close(self) -> None:
        if self._asker is not None:
            self._asker.close()
