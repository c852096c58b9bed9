"""What every stream has in common: it is let in or turned away, runs until one side has had enough, and says why."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel
from starlette.websockets import WebSocket, WebSocketDisconnect

from .. import logs
from ..adapters.permission import may_run
from ..auth.access import Access, Caller
from ..errors import RelayError
from ..models.problems import refusal
from ..models.reading import QueryOf, pairs_of
from .wire import EXTENSION, Gone, Stalled, Wire

LOG = logging.getLogger(__name__)

DONE, GOING_AWAY, REFUSED, FAULT, TOO_SLOW = 1000, 1001, 1008, 1011, 1013
"""Codes with which streams are closed."""
LONGEST_REASON = 123
SELF_EXPLANATORY = frozenset({"UNAUTHORIZED", "FORBIDDEN", "SESSION_NOT_FOUND", "SESSION_EXPIRED", "SHUTTING_DOWN"})
GONE = frozenset({"SESSION_NOT_FOUND", "SESSION_EXPIRED"})
TURNS = 16
"""Messages that are taken at once before others get their turn."""

QueryT = TypeVar("QueryT", bound=BaseModel)
T = TypeVar("T")


class Close(NamedTuple):
    """How a stream ends."""

    code: int
    reason: str


class Service(Protocol):
    """What streams need of the relay."""

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes: ...
    async def clone_session(self, session_id: str, name: str | None) -> bytes: ...
    async def export_session(self, session_id: str, include_env: bool) -> bytes: ...
    async def update_session(self, session_id: str, changes: dict[str, Any]) -> bytes: ...
    async def delete_session(self, session_id: str, force: bool) -> bytes: ...


class Connection:
    """One client that was let in."""

    def __init__(self, websocket: WebSocket, wire: Wire, caller: Caller) -> None:
        state = websocket.app.state
        self.relay: Service = state.relay
        self.closing: asyncio.Event = state.closing
        self.session_id: str = websocket.path_params["session_id"]
        self.caller = caller
        self.is_started = False
        self._websocket = websocket
        self._wire = wire
        self._received = 0

    def query(self, model: type[QueryT]) -> QueryT:
        found, errors = QueryOf(model).read(pairs_of(self._websocket.scope["query_string"]))
        if errors:
            raise refusal(errors)
        assert isinstance(found, model)
        return found

    async def start(self, first: Awaitable[T]) -> T:
        """The first look at the session: what is wrong is told before any data."""
        try:
            found = await first
        except RelayError as error:
            if error.details.get("parameter") == "cursor":
                raise RelayError("INVALID_PARAMETER", "since is not a cursor that this session gave out") from None
            raise
        self.is_started = True
        return found

    async def send(self, texts: Iterable[bytes]) -> None:
        await self._wire.send_texts(texts)

    async def send_bytes(self, data: bytes) -> None:
        await self._wire.send_bytes(data)

    async def receive(self) -> str | bytes:
        self._received += 1
        if self._received % TURNS == 0:
            await asyncio.sleep(0)
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise Gone
        text: str | None = message.get("text")
        return text if text is not None else bytes(message.get("bytes") or b"")

    async def ignore(self) -> Close:
        """Listens only to notice that the other side leaves."""
        while True:
            await self.receive()

    async def until_either(self, *works: Coroutine[Any, Any, Close]) -> Close:
        """Whichever ends first says how; nothing of the others is left."""
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next(task for task in tasks if task.done()).result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


Handler = Callable[[Connection], Awaitable[Close]]


def stream(operation: str) -> Callable[[Handler], Callable[[WebSocket], Awaitable[None]]]:
    """An endpoint for whoever may do that operation. It is opened first, so that they see why it is closed."""

    def with_handler(handler: Handler) -> Callable[[WebSocket], Awaitable[None]]:
        async def endpoint(websocket: WebSocket) -> None:
            began = time.perf_counter()
            await websocket.accept()
            wire: Wire = websocket.scope["extensions"][EXTENSION]
            close = await outcome(websocket, wire, operation, handler)
            wire.end(close.code, close.reason)
            logs.access("WS", websocket.scope["path"], close.code, time.perf_counter() - began)

        return endpoint

    return with_handler


async def outcome(websocket: WebSocket, wire: Wire, operation: str, handler: Handler) -> Close:
    access: Access = websocket.app.state.access
    connection: Connection | None = None
    try:
        caller = access.caller(websocket.scope["headers"], always=True)
        caller.require(operation)
        may_run.set(caller.may_run)
        connection = Connection(websocket, wire, caller)
        return await handler(connection)
    except RelayError as error:
        return close_for(error, connection is not None and connection.is_started)
    except (Gone, WebSocketDisconnect):
        return Close(DONE, "")
    except Stalled:
        return Close(TOO_SLOW, "What was sent is not being read")
    except Exception:
        LOG.exception("%s failed", operation)
        return Close(FAULT, "INTERNAL_ERROR")


def close_for(error: RelayError, is_started: bool) -> Close:
    if error.code == "SHUTTING_DOWN":
        return Close(GOING_AWAY, error.code)
    if is_started and error.code in GONE:
        return Close(DONE, error.code)
    reason = error.code if error.code in SELF_EXPLANATORY else f"{error.code}: {error.message}"
    return Close(FAULT if error.status >= 500 else REFUSED, shortened(reason))


def shortened(reason: str) -> str:
    return reason.encode(errors="replace")[:LONGEST_REASON].decode(errors="ignore")
