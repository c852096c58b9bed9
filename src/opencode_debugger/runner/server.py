"""Serves a Session, and those of its program's children, to the relay; ends all when nobody wants them any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from ..adapters import processes
from ..adapters.permission import may_run
from ..core.events import timestamp
from ..core.patience import Patience, halt, halted, of_this_call
from ..core.session import Session
from ..core.settings import Config
from ..errors import RelayError, not_written
from ..files import socket_address
from ..wording import counted
from . import rpc
from .activity import Activity
from .paths import DETACHED, FINAL, SOCKET
from .tunnel import Tunnel

logger = logging.getLogger(__name__)

PASSIVE = frozenset({"info", "status", "summary", "describe", "follow_output", "follow_events"})
"""Looking at a session does not keep it alive, or nobody would ever see that it is about to expire."""

FOLLOWS = frozenset({"follow_output", "follow_events"})
"""Calls that only read: they can be cut short at any point."""

RESTORED = (
    "{count} of this project {were} restored, last changed {changed_at}: GET /sessions/{{id}}/breakpoints lists, "
    "DELETE /sessions/{{id}}/breakpoints removes them for good. A session that is created with "
    '"restore_breakpoints": false has none of them and saves none of its own'
)
STOPPED_OR_NOT = PASSIVE | {"configure", "end", "terminate", "detach", "restart"}
"""Calls that come to an end also if the program's process is stopped by a signal."""
UNCONFIGURED = 60.0
HALTED = 0.7
"""Seconds between two looks at a program that owes an answer; that both find it stopped by a signal is the answer."""
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
        self.looking: asyncio.TimerHandle | None = None
        self.is_answered = False

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
        try:
            lines = self._lines.feed(data)
        except ValueError as error:
            logger.warning("a relay is hung up on: %s", error)
            self.close()
            return
        for line in lines:
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
        with socket_address(str(self.folder), SOCKET) as address:
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
        except rpc.GARBAGE as error:
            logger.warning("not a call: %s", error)
            return
        if call.method == rpc.PING:
            client.write(rpc.encode_result(call.id or 0, None))
            return
        if call.method == rpc.GIVE_UP:
            id = call.params.get("id")
            if isinstance(id, int) and (given_up := client.calls.get(id)) is not None:
                given_up.give_up()
            return
        underway = Underway(call)
        task = underway.task = asyncio.get_running_loop().create_task(self._answer(underway, client))
        if (id := call.id) is not None:
            client.calls[id] = underway
            task.add_done_callback(lambda _: client.calls.pop(id, None))
            if call.method not in STOPPED_OR_NOT:
                self._look_later(underway, client, None)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _look_later(self, underway: Underway, client: Client, before: str | None) -> None:
        loop = asyncio.get_running_loop()
        underway.looking = loop.call_later(HALTED, self._look, underway, client, before)

    def _look(self, underway: Underway, client: Client, before: str | None) -> None:
        """Answers for a program that cannot. What was asked of it is still done when it goes on."""
        call = underway.call
        session = self.session and self.session.family.members.get(call.session or self.session.id)
        why = halt(session.adapter) if session else None
        if why is None or before is None or call.id is None:
            self._look_later(underway, client, why)
            return
        underway.is_answered = True
        underway.patience.end()
        client.write(rpc.encode_fault(call.id, rpc.Fault.of(halted(why, call.method))))

    async def _answer(self, underway: Underway, client: Client) -> None:
        call = underway.call
        of_this_call.set(underway.patience)
        may_run.set(call.may_run)
        answer = await self._perform(call)
        if underway.looking is not None:
            underway.looking.cancel()
        if call.id is not None and not underway.is_answered:
            client.write(answer)
        if call.method == "end" and call.session is None:
            self._done.set()

    async def _perform(self, call: rpc.Call) -> bytes:
        id = call.id or 0
        try:
            return rpc.encode_result(id, await self._dispatch(call.method, call.params, call.session))
        except RelayError as error:
            return rpc.encode_fault(id, rpc.Fault.of(error))
        except msgspec.ValidationError as error:
            return rpc.encode_fault(id, rpc.Fault.of(RelayError("INVALID_REQUEST", str(error))))
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
        operation = session.operations.get(method)
        if operation is None:
            raise RelayError("INVALID_REQUEST", f"There is no operation {method[:100]!r}")
        if method in PASSIVE:
            return await _result(operation(**params))
        self._in_progress += 1
        try:
            with self._letting_go() if method == "detach" else contextlib.nullcontext():
                return await _result(operation(**params))
        finally:
            self._in_progress -= 1
            session.debuggee.touch()

    @contextlib.contextmanager
    def _letting_go(self) -> Iterator[None]:
        """Noted first: what is let go without a note would be ended with the session."""
        note = self.folder / DETACHED
        was_noted = note.exists()
        try:
            note.touch()
        except OSError as error:
            raise not_written(note, error, "so the program was not let go") from error
        try:
            yield
        except BaseException:
            if not was_noted:
                note.unlink(missing_ok=True)
            raise

    async def _configure(self, params: dict[str, Any]) -> Any:
        if self.session is not None:
            raise RelayError("INTERNAL_ERROR", "The runner has a session already")
        self.session = Session(msgspec.convert({**params, "folder": str(self.folder)}, Config))
        self.session.family.on_change = self._tell
        self.session.family.on_session = give_tunnel
        give_tunnel(self.session)
        warnings = await self.session.restore()
        self._news.set()
        answer = self.session.info()
        if self.session.config.parts is not None:
            answer["warnings"] = warnings
        elif answer["breakpoint_count"]:
            answer |= self._restored(self.session)
        return answer

    def _restored(self, session: Session) -> dict[str, Any]:
        """What the session has from earlier ones."""
        count, changed_at = len(session.debuggee.breakpoints), session.config.breakpoints_changed_at
        shown = None if changed_at is None else timestamp(changed_at)
        words = {"count": counted(count, "breakpoint"), "were": "was" if count == 1 else "were"}
        restored = {"count": count, "changed_at": shown, "edits": session.placement.take_edits()}
        return {"message": RESTORED.format(**words, changed_at=shown), "restored_breakpoints": restored}

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
                session.id: rpc.LastWords(str(session.state), "timeout", session.config.name)
                for session in self.session.family.members.values()
            }
            last = words.pop(self.session.id)
            last.children = words
            await self.session.end("timeout")
            self._tell("expired", msgspec.to_builtins(last))
            try:
                (self.folder / FINAL).write_bytes(msgspec.json.encode(last))
            except OSError as error:
                logger.warning("the last words of the session cannot be left: %s", error)
