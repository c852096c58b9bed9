"""Serves a Session, and those of its program's children, to the relay; ends all when nobody wants them any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from pathlib import Path
from typing import Any, cast

import msgspec

from ..adapters import processes
from ..core.patience import Patience, of_this_call
from ..core.session import Session
from ..core.settings import Config
from ..errors import RelayError
from . import rpc
from .activity import Activity
from .paths import DETACHED, FINAL, SOCKET, socket_address
from .tunnel import Tunnel

logger = logging.getLogger(__name__)

PASSIVE = frozenset({"info", "status", "summary", "describe", "follow_output", "follow_events"})
"""Looking at a session does not keep it alive, or nobody would ever see that it is about to expire."""

FOLLOWS = frozenset({"follow_output", "follow_events"})
"""Calls that only read: they can be cut short at any point."""

RESTORED = (
    "{count} breakpoints of this project were restored: GET /sessions/{{id}}/breakpoints lists them, "
    "DELETE /sessions/{{id}}/breakpoints removes them"
)
UNCONFIGURED = 60.0
LOOK = 5.0


async def _result(value: Any) -> Any:
    return await value if asyncio.iscoroutine(value) else value


def give_tunnel(session: Session) -> None:
    session.starting.tunnel = Tunnel(session)


class Underway:
    """A call that is being answered."""

    def __init__(self, call: rpc.Call) -> None:
        self.call = call
        self.patience = Patience()
        self.task: asyncio.Task[None] | None = None

    def give_up(self) -> None:
        """Ends what only waits; what has been begun is finished."""
        self.patience.end()
        if self.task is not None and self.call.method in FOLLOWS:
            self.task.cancel()


class Client(asyncio.Protocol):
    """A relay's connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.calls: dict[int, Underway] = {}
        self._lines = rpc.Lines()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.connected(self)

    def data_received(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._server.take(line, self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        for underway in self.calls.values():
            underway.give_up()
        self._server.disconnected(self)

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session: Session | None = None
        self._clients: set[Client] = set()
        self._unclaimed_since: float | None = time.monotonic()
        self._done = asyncio.Event()
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_progress = 0
        self._activity = Activity()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._done.set)
        with socket_address(self.folder) as address:
            server = await loop.create_unix_server(lambda: Client(self), address)
        os.chmod(self.folder / SOCKET, 0o600)
        watch = loop.create_task(self._watch())
        await self._done.wait()
        watch.cancel()
        server.close()
        if self.session is not None:
            await self.session.end("terminated")
        for client in list(self._clients):
            client.close()

    def connected(self, client: Client) -> None:
        self._clients.add(client)
        self._unclaimed_since = None

    def disconnected(self, client: Client) -> None:
        self._clients.discard(client)
        if not self._clients:
            self._unclaimed_since = time.monotonic()
            if self.session is None:
                self._done.set()  # a spare that lost its relay

    def take(self, line: bytes, client: Client) -> None:
        try:
            call = rpc.decode_call(line)
        except msgspec.MsgspecError as error:
            logger.warning("not a call: %s", error)
            return
        if call.method == rpc.GIVE_UP:
            if (given_up := client.calls.get(call.params.get("id", 0))) is not None:
                given_up.give_up()
            return
        underway = Underway(call)
        task = underway.task = asyncio.get_running_loop().create_task(self._answer(underway, client))
        if (id := call.id) is not None:
            client.calls[id] = underway
            task.add_done_callback(lambda _: client.calls.pop(id, None))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, underway: Underway, client: Client) -> None:
        call = underway.call
        of_this_call.set(underway.patience)
        answer = await self._perform(call)
        if call.id is not None:
            client.write(answer)
        if call.method == "end" and call.session is None:
            self._done.set()

    async def _perform(self, call: rpc.Call) -> bytes:
        id = call.id or 0
        try:
            return rpc.encode_result(id, await self._dispatch(call.method, call.params, call.session))
        except RelayError as error:
            return rpc.encode_fault(id, rpc.Fault.of(error))
        except Exception as error:
            logger.exception("%s failed", call.method)
            return rpc.encode_fault(id, rpc.Fault(rpc.FAILED, f"{call.method} failed: {type(error).__name__}"))

    async def _dispatch(self, method: str, params: dict[str, Any], session_id: str | None) -> Any:
        if method == "configure":
            return await self._configure(params)
        if self.session is None:
            return None  # a spare has nothing to describe and nothing to end
        if method == "end":
            return await self.session.family.end(session_id, "deleted", **params)
        session = self.session.family.find(session_id)
        operation = session.operations[method]
        if method in PASSIVE:
            return await _result(operation(**params))
        self._in_progress += 1
        try:
            answer = await _result(operation(**params))
            if method == "detach":
                (self.folder / DETACHED).touch()
            return answer
        finally:
            self._in_progress -= 1
            session.debuggee.touch()

    async def _configure(self, params: dict[str, Any]) -> Any:
        if self.session is not None:
            raise RelayError("INTERNAL_ERROR", "The runner has a session already")
        self.session = Session(msgspec.convert(params, Config))
        self.session.family.on_change = self._tell
        self.session.family.on_session = give_tunnel
        give_tunnel(self.session)
        warnings = await self.session.restore()
        self._news.set()
        answer = self.session.info()
        if self.session.config.parts is not None:
            answer["warnings"] = warnings
        elif restored := answer["breakpoint_count"]:
            answer["message"] = RESTORED.format(count=restored)
        return answer

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        for client in self._clients:
            client.write(rpc.encode_call(method, params))

    async def _watch(self) -> None:
        """Ends the session when its time is up, with a relay or without."""
        while True:
            if self.session is not None and (self._activity.look(self.session) or self._in_progress):
                self.session.debuggee.touch()  # it works, or somebody is waiting for it
            processes.reap_adopted()
            remaining = self._remaining()
            if remaining <= 0:
                try:
                    await self._expire()
                finally:
                    self._done.set()
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.02, min(remaining, LOOK))):
                    await self._news.wait()
            self._news.clear()

    def _remaining(self) -> float:
        if self.session is None:
            unclaimed = self._unclaimed_since
            return UNCONFIGURED if unclaimed is None else UNCONFIGURED - (time.monotonic() - unclaimed)
        return self.session.lifetime.remaining()

    async def _expire(self) -> None:
        if self.session is not None:
            words = {
                session.id: {"last_status": str(session.state), "reason": "timeout", "name": session.config.name}
                for session in self.session.family.members.values()
            }
            last = {**words.pop(self.session.id), "children": words}
            await self.session.end("timeout")
            (self.folder / FINAL).write_bytes(msgspec.json.encode(last))
            self._tell("expired", last)
