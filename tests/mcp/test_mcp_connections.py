"""Connections of MCP over HTTP: nobody keeps the others out by having many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from opencode_debugger.doors.mcp import open_connections

ACCEPT = {"Accept": "application/json, text/event-stream"}
BEGIN = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
MOST = 5


class Caller:
    def __init__(self, app: Any, name: str) -> None:
        self.http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers={**ACCEPT, "X-Caller": name})

    async def begin(self) -> str:
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": BEGIN}
        answer = await self.http.post("http://127.0.0.1/mcp", json=message)
        assert answer.status_code == 200, answer.text
        connection: str = answer.headers["mcp-session-id"]
        return connection

    async def is_open(self, connection: str, **headers: str) -> bool:
        message = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        told = {"Mcp-Session-Id": connection, **headers}
        return (await self.http.post("http://127.0.0.1/mcp", json=message, headers=told)).status_code == 200

    async def end(self, connection: str) -> None:
        await self.http.delete("http://127.0.0.1/mcp", headers={"Mcp-Session-Id": connection})


@asynccontextmanager
async def callers(*names: str) -> AsyncIterator[list[Caller]]:
    manager = StreamableHTTPSessionManager(Server("tests"), json_response=True, max_sessions=None)
    connections = open_connections.OpenConnections(manager)

    async def answer_request(scope: Scope, receive: Receive, send: Send) -> None:
        name = dict(scope["headers"])[b"x-caller"].decode()
        await connections.answer_request({**scope, "caller": SimpleNamespace(identity=name)}, receive, send)

    async with manager.run():
        yield [Caller(answer_request, name) for name in names]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_connections, "MOST_CONNECTIONS", MOST)


def test_who_has_most_connections_loses_the_one_used_longest_ago() -> None:
    async def story() -> None:
        async with callers("owner", "greedy") as (owner, greedy):
            first = await owner.begin()
            taken = [await greedy.begin() for _ in range(MOST + 2)]
            second = await owner.begin()
            assert await owner.is_open(first) and await owner.is_open(second)
            assert [await greedy.is_open(each) for each in taken] == [False] * 4 + [True] * 3
            await greedy.is_open(taken[4])
            newest = await greedy.begin()
            assert [await greedy.is_open(each) for each in (*taken[4:], newest)] == [True, False, True, True]

    asyncio.run(story())


def test_connections_that_ended_leave_their_place_to_others() -> None:
    async def story() -> None:
        async with callers("owner", "other") as (owner, other):
            kept = [await owner.begin() for _ in range(MOST - 1)]
            for _ in range(3):
                await owner.end(await owner.begin())
            await other.begin()
            assert all([await owner.is_open(each) for each in kept])

    asyncio.run(story())


def test_a_connection_counts_whatever_others_say_of_it() -> None:
    """Neither another caller nor a request of a protocol without connections makes room in secret."""

    async def story() -> None:
        async with callers("greedy", "other") as (greedy, other):
            taken = [await greedy.begin() for _ in range(MOST)]
            for each in taken:
                await other.end(each)
                assert not await greedy.is_open(each, **{"Mcp-Protocol-Version": "2026-07-28"})
            newest = await greedy.begin()
            assert [await greedy.is_open(each) for each in (*taken, newest)] == [False, *[True] * MOST]

    asyncio.run(story())
