"""`/mcp` of the relay: MCP as streamable HTTP, behind the guard, for the caller whose token a request has."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from typing import Any

import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from ...agents.conversation import Conversation, LastSession
from ...auth.access import Caller
from ...errors import RelayError
from ...models.reading import SHORT, check_extent
from .mcp_server import Context, client_name, make_server
from .open_connections import CONNECTION, MOST_CONNECTIONS, OpenConnections
from .relay_asker import RelayAsker

IDLE_SECONDS = 1800.0
"""after which a connection is forgotten; a client that comes back is told to begin anew, and finds its session"""
BETWEEN_CHECKS = 5.0
"""seconds after which the token of whoever listens is looked at again"""


class McpEndpoint:
    def __init__(self, app: Starlette, max_body_bytes: int) -> None:
        logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells of each connection, by its id
        self._app = app
        self._choices: OrderedDict[tuple[str, str], LastSession] = OrderedDict()
        self._manager = StreamableHTTPSessionManager(
            make_server(self), session_idle_timeout=IDLE_SECONDS, max_sessions=None,
            max_request_body_size=max_body_bytes)
        self._connections = OpenConnections(self._manager)
        self._started = asyncio.Event()
        self._serving = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        """Keep the connections until the relay closes."""
        async with self._manager.run():
            self._started.set()
            await self._app.state.closing.wait()

    async def answer_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._started.wait()
        client = CheckedClient(scope["caller"], receive)
        receive = await read_ahead(client.receive) if scope["method"] == "POST" else client.receive
        try:
            await self._connections.answer_request(scope, receive, send)
        except Exception:
            if not self._app.state.closing.is_set():
                raise
            raise RelayError("SHUTTING_DOWN", "The relay is shutting down") from None
        if client.is_refused:
            with contextlib.suppress(RuntimeError):  # not begun, or complete already
                await send({"type": "http.response.body", "body": b""})

    async def converse(self, context: Context) -> Conversation:
        request: Any = context.request
        caller: Caller = request.scope["caller"]
        asker = RelayAsker(self._app, caller, client_name(context))
        return Conversation(asker, self._choice_of(caller, request.headers.get(CONNECTION)))

    def has_relay(self) -> bool:
        return True

    def _choice_of(self, caller: Caller, connection: str | None) -> LastSession:
        """Return what is remembered for a connection of a caller; clients of the newest protocol have none."""
        if connection is None:
            return LastSession()
        key = (caller.identity, connection)
        choice = self._choices.setdefault(key, LastSession())
        self._choices.move_to_end(key)
        if len(self._choices) > MOST_CONNECTIONS:
            self._choices.popitem(last=False)
        return choice


class CheckedClient:
    """A client that counts as gone once its token is no longer good."""

    def __init__(self, caller: Caller, receive: Receive) -> None:
        self._caller, self._receive = caller, receive
        self.is_refused = False

    async def receive(self) -> Message:
        receiving = asyncio.ensure_future(self._receive())
        try:
            while not (await asyncio.wait((receiving,), timeout=BETWEEN_CHECKS))[0]:
                if not self._caller.is_good:
                    self.is_refused = True
                    return {"type": "http.disconnect"}
            return receiving.result()
        finally:
            receiving.cancel()


async def read_ahead(receive: Receive) -> Receive:
    """Read the body and refuse one of very many parts: to be looked at in detail, it would keep the relay busy.

    What is no JSON is left to the server, which says so in the words of its protocol."""
    messages: list[Message] = []
    while not messages or messages[-1].get("more_body"):
        messages.append(await receive())
    body = b"".join(message.get("body", b"") for message in messages)
    if len(body) > SHORT:
        with contextlib.suppress(ValueError, RecursionError):
            check_extent(msgspec.json.decode(body), "body")

    async def receive_again() -> Message:
        return messages.pop(0) if messages else await receive()

    return receive_again
