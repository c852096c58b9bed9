"""Asks the relay in its own process, through the routes of REST: the same checks, for the same caller."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import unquote

import msgspec
from starlette.applications import Starlette
from starlette.types import Message, Scope

from ...auth.access import Caller
from ...client.http import spell_request
from ...debuggers.run_permission import may_run
from ...operations.door_words import MCP
from ...operations.http_request import HttpRequest
from ...operations.table import OPERATIONS

HEADERS = [(b"content-type", b"application/json"), (b"x-debug-door", MCP.encode())]
NAME_HEADER = b"x-debug-client"


class Answered(msgspec.Struct):
    """An answer in its envelope; failures are raised before there is one."""

    data: msgspec.Raw


class RelayAsker:
    base: str | None = None
    environment: dict[str, str] | None = None

    def __init__(self, app: Starlette, caller: Caller, client_name: str) -> None:
        self._app = app
        self._caller = caller
        self._headers = [*HEADERS, (NAME_HEADER, client_name.encode())]

    async def ask(self, operation: str, params: dict[str, Any]) -> bytes:
        request = InnerRequest(spell_request(operation, params))
        asking = self._answer_request(request)
        if not OPERATIONS[operation].by_relay:
            return await asking
        # What the relay has begun it finishes, though nobody waits any more: a session half made would be lost.
        task = asyncio.ensure_future(asking)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            request.abandoned.set()
            raise

    async def _answer_request(self, request: InnerRequest) -> bytes:
        may_run.set(self._caller.may_run)
        scope = {**request.make_scope(), "headers": self._headers, "app": self._app, "caller": self._caller}
        await self._app.router(scope, request.receive, request.send)
        return bytes(msgspec.json.decode(request.answer, type=Answered).data)


class InnerRequest:
    """A request as a route takes it, without a wire."""

    def __init__(self, spelled: HttpRequest) -> None:
        self._spelled = spelled
        self.answer = bytearray()
        self.abandoned = asyncio.Event()
        self._is_read = False

    def make_scope(self) -> Scope:
        path, _, query = self._spelled.path.partition("?")
        return {
            "type": "http", "method": self._spelled.method, "path": unquote(path), "query_string": query.encode(),
            "root_path": "",
        }

    async def receive(self) -> Message:
        if self._is_read:
            await self.abandoned.wait()
            return {"type": "http.disconnect"}
        self._is_read = True
        return {"type": "http.request", "body": self._spelled.body or b""}

    async def send(self, message: Message) -> None:
        self.answer += message.get("body", b"")
