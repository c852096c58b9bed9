"""The part common to all streams: each is let in or turned away, runs until one side has had enough, and says why."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect

from ... import logs
from ...auth.access import Access, Caller
from ...debuggers.run_permission import may_run
from ...errors import RelayError
from ...models.problems import validation_refusal
from ...models.reading import QueryReader, pairs_of
from ...models.requests.queries import QueryModel
from ...operations.asking_client import WEBSOCKET, asking_client, client_from_headers
from ...relay.followers import Reader
from ...relay.service import Relay
from ..transport.uvicorn_websocket import EXTENSION, BoundedWebSocket, Gone, Stalled

LOG = logging.getLogger(__name__)

DONE, GOING_AWAY, REFUSED, FAULT, TOO_SLOW = 1000, 1001, 1008, 1011, 1013
"""Codes with which streams are closed."""
LONGEST_REASON = 123
SELF_EXPLANATORY = frozenset({"UNAUTHORIZED", "FORBIDDEN", "SESSION_NOT_FOUND", "SESSION_EXPIRED", "SHUTTING_DOWN"})
GONE = frozenset({"SESSION_NOT_FOUND", "SESSION_EXPIRED"})
TURNS = 16
"""Messages that are taken at once before others get their turn."""

QueryT = TypeVar("QueryT", bound=QueryModel)
T = TypeVar("T")


class Close(NamedTuple):
    """How a stream ends."""

    code: int
    reason: str


class Connection:
    """One client that was let in."""

    def __init__(self, websocket: WebSocket, wire: BoundedWebSocket, caller: Caller) -> None:
        state = websocket.app.state
        self.relay: Relay = state.relay
        self.closing: asyncio.Event = state.closing
        self.session_id: str = websocket.path_params["session_id"]
        self.caller = caller
        self.is_started = False
        self._websocket = websocket
        self.wire = wire
        self._received = 0

    @property
    def as_reader(self) -> Reader:
        """A reader whose stream checks by itself, after each page, whether it is still allowed."""
        return Reader(self.relay, self.session_id, self.closing, lambda operation: None)

    def read_query(self, model: type[QueryT]) -> QueryT:
        found, errors = QueryReader(model).read_pairs(pairs_of(self._websocket.scope["query_string"]))
        if errors:
            raise validation_refusal(errors)
        assert isinstance(found, model)
        return found

    async def start_following(self, first: Awaitable[T]) -> T:
        """The first look at the session: what is wrong is told before any data."""
        try:
            found = await first
        except RelayError as error:
            if error.details.get("parameter") == "cursor":
                raise RelayError("INVALID_PARAMETER", "since is not a cursor that this session gave out") from None
            raise
        self.is_started = True
        return found

    async def receive(self) -> str | bytes:
        self._received += 1
        if self._received % TURNS == 0:
            await asyncio.sleep(0)
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise Gone
        text: str | None = message.get("text")
        return text if text is not None else bytes(message.get("bytes") or b"")

    async def ignore_messages(self) -> Close:
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


def stream_endpoint(operation: str) -> Callable[[Handler], Callable[[WebSocket], Awaitable[None]]]:
    """An endpoint for whoever may do that operation. It is opened first, so that they see why it is closed."""

    def with_handler(handler: Handler) -> Callable[[WebSocket], Awaitable[None]]:
        async def endpoint(websocket: WebSocket) -> None:
            began = time.perf_counter()
            await websocket.accept()
            wire: BoundedWebSocket = websocket.scope["extensions"][EXTENSION]
            close = await close_outcome(websocket, wire, operation, handler)
            wire.end_stream(close.code, close.reason)
            logs.log_access("WS", websocket.scope["path"], close.code, time.perf_counter() - began)

        return endpoint

    return with_handler


async def close_outcome(websocket: WebSocket, wire: BoundedWebSocket, operation: str, handler: Handler) -> Close:
    access: Access = websocket.app.state.access
    connection: Connection | None = None
    try:
        caller = access.find_caller(websocket.scope["headers"], always=True)
        caller.require(operation)
        may_run.set(caller.may_run)
        asking_client.set(client_from_headers(websocket.scope["headers"], WEBSOCKET))
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
    shortened = reason.encode(errors="replace")[:LONGEST_REASON].decode(errors="ignore")
    return Close(FAULT if error.status >= 500 else REFUSED, shortened)
