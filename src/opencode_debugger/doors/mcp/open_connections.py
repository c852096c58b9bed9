"""Connections of MCP over HTTP: a bounded number, in which nobody takes the place of the others."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

MOST_CONNECTIONS = 500
CONNECTION = "mcp-session-id"
VERSION = "mcp-protocol-version"
OK, NOT_FOUND = 200, 404


class OpenConnections:
    """Passes requests on. For a new connection that is one too many, another ends: of whoever has most of them, the one
    that was used longest ago. Its client is told to begin anew, should it come back."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager
        self._owners: OrderedDict[str, str] = OrderedDict()
        """whose each connection is, the one used last at the end"""
        self._beginning = 0

    async def answer_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner = scope["caller"].identity
        scope["user"] = _user(owner)
        headers = Headers(scope=scope)
        connection = headers.get(CONNECTION)
        if headers.get(VERSION) not in (None, *HANDSHAKE_PROTOCOL_VERSIONS):
            await self._manager.handle_request(scope, receive, send)  # of a protocol without connections
        elif connection is None:
            await self._begin_connection(owner, scope, receive, send)
        else:
            await self._continue_connection(connection, owner, scope, receive, send)

    async def _begin_connection(self, owner: str, scope: Scope, receive: Receive, send: Send) -> None:
        async def note_connection(message: Message) -> None:
            if message["type"] == "http.response.start":
                connection = Headers(raw=message["headers"]).get(CONNECTION)
                if connection is not None and message["status"] == OK:
                    self._owners[connection] = owner
            await send(message)

        self._beginning += 1
        try:
            while self._owners and len(self._owners) + self._beginning > MOST_CONNECTIONS:
                await self._end_connection()
            await self._manager.handle_request(scope, receive, note_connection)
        finally:
            self._beginning -= 1

    async def _continue_connection(
        self, connection: str, owner: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def note_end(message: Message) -> None:
            ended = (OK, NOT_FOUND) if scope["method"] == "DELETE" else (NOT_FOUND,)
            if message.get("status") in ended and self._owners.get(connection) == owner:
                del self._owners[connection]
            await send(message)

        if self._owners.get(connection) == owner:
            self._owners.move_to_end(connection)
        await self._manager.handle_request(scope, receive, note_end)

    async def _end_connection(self) -> None:
        most, _ = Counter(self._owners.values()).most_common(1)[0]
        connection = next(each for each, owner in self._owners.items() if owner == most)
        del self._owners[connection]
        headers = [(b"mcp-session-id", connection.encode())]
        scope: dict[str, Any] = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"",
                                 "headers": headers, "user": _user(most)}

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            """Nobody has asked."""

        await self._manager.handle_request(scope, receive, send)


def _user(owner: str) -> AuthenticatedUser:
    """A connection is only for the token with which it was opened."""
    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
