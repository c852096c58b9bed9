"""Serves a Session, and those of its program's children, to the relay; ends all when nobody wants them any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from ..answers import sessions as answers
from ..debuggers.process import program_process
from ..debuggers.process.processor_time import Work
from ..debuggers.python.launch import spare_interpreter
from ..debuggers.python.launch.spare_interpreter import LaunchRecipe
from ..debuggers.run_permission import may_run
from ..default_settings import PREFIX
from ..errors import RelayError, not_written
from ..files import socket_address
from ..operations.advice import advice
from ..operations.asking_client import AskingClient, asking_client
from ..operations.door_words import set_door, speak_as
from ..operations.operation import Operation
from ..operations.scopes import WRITE
from ..operations.states import ENDED, LIVE, State
from ..operations.table import OPERATIONS
from ..session.execution.patience import Patience, call_patience, explain_halt, halted_error
from ..session.lifecycle.family import Family
from ..session.session import Session
from ..session.session_settings import Config
from ..timestamps import timestamp
from ..wording import counted
from . import rpc
from .paths import DETACHED, FINAL, SOCKET
from .tunnel_port import TunnelPort

logger = logging.getLogger(__name__)

RESTORED = (
    "{count} of this project {were} restored, last changed {changed_at}: {list_breakpoints} lists, {clear_breakpoints} "
    "removes them for good. A session that is created with "
    '"restore_breakpoints": false has none of them and saves none of its own'
)
UNCONFIGURED = 60.0
HALTED = 0.7
"""Seconds between two looks at a program that owes an answer; that both find it stopped by a signal is the answer."""
LOOK = 5.0
LOST_DEBUGGER = 502
"""The status of errors that say that the debugger is gone."""
ENDING = 2.0
"""Seconds in which a program ends that has parted from its debugger."""
BETWEEN_CHANGES = 0.05
"""Seconds between two times that relays are told of changes: hundreds of steps a second are no news each."""


@dataclass(eq=False)
class CallUnderway:
    """A call that is being answered."""

    call: rpc.Call
    patience: Patience = field(default_factory=Patience)
    task: asyncio.Task[None] | None = None
    looking: asyncio.TimerHandle | None = None
    is_answered: bool = False

    def give_up(self) -> None:
        """Ends what only waits; what has been begun is finished."""
        self.patience.run_out()
        operation = OPERATIONS.get(self.call.method)
        if self.task is not None and operation is not None and operation.is_stream:
            self.task.cancel()


class RelayConnection(asyncio.Protocol):
    """A relay's connection."""

    def __init__(self, server: SessionServer) -> None:
        self._server = server
        self.calls: dict[int, CallUnderway] = {}
        self._lines = rpc.LineBuffer()
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


@dataclass
class ProgramActivity:
    """Tells whether a program works, which keeps its session alive though it prints nothing and nobody asks for it."""

    _pid: int | None = None
    _work: Work = field(default_factory=Work)
    _own_threads: list[int] = field(default_factory=list)
    _asking: asyncio.Task[None] | None = None

    def has_worked(self, session: Session) -> bool:
        """Tell whether the program, if it runs, has worked since the last look. A paused one does not work."""
        pid = session.adapter.program_pid
        if pid is None or session.state is not State.RUNNING:
            return False
        if pid != self._pid:
            self._pid, self._work, self._own_threads = pid, Work(), []
        if not self._own_threads and (self._asking is None or self._asking.done()):
            self._asking = asyncio.get_running_loop().create_task(self._ask_for_threads(session))
        return self._work.has_happened(pid, self._own_threads)

    async def _ask_for_threads(self, session: Session) -> None:
        """Ask which threads are the debugger's own. One that does not answer is asked again at the next look."""
        with contextlib.suppress(RelayError):
            self._own_threads = await session.adapter.inspection.own_threads()


class SessionServer:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.session: Session | None = None
        self._clients: set[RelayConnection] = set()
        self._unclaimed_since: float | None = time.monotonic()
        self._done = asyncio.Event()
        self._news = asyncio.Event()
        self._changed = asyncio.Event()
        """one of the sessions may have changed"""
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_progress = 0
        self._activity = ProgramActivity()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._done.set)
        with socket_address(self.folder, SOCKET) as address:
            server = await loop.create_unix_server(lambda: RelayConnection(self), address)
        os.chmod(os.path.join(self.folder, SOCKET), 0o600)
        watch, tell = loop.create_task(self._watch_lifetime()), loop.create_task(self._tell_changes())
        await self._done.wait()
        watch.cancel()
        tell.cancel()
        server.close()
        spare_interpreter.CURRENT.end()
        if self.session is not None:
            await self.session.end("terminated")
        for client in list(self._clients):
            client.close()

    def connected(self, client: RelayConnection) -> None:
        self._clients.add(client)
        self._unclaimed_since = None

    def disconnected(self, client: RelayConnection) -> None:
        self._clients.discard(client)
        if not self._clients:
            self._unclaimed_since = time.monotonic()
            if self.session is None:
                self._done.set()  # a spare that lost its relay

    def take(self, line: bytes, client: RelayConnection) -> None:
        try:
            call = rpc.decode_call(line)
        except rpc.GARBAGE as error:
            logger.warning("not a call: %s", error)
            return
        if call.method == rpc.PING:
            client.write(rpc.frame_result(call.id or 0, b"null"))
            return
        if call.method == rpc.GIVE_UP:
            if isinstance(id := call.params.get("id"), int) and id in client.calls:
                client.calls[id].give_up()
            return
        underway = CallUnderway(call)
        task = underway.task = asyncio.get_running_loop().create_task(self._answer_call(underway, client))
        if (id := call.id) is not None:
            client.calls[id] = underway
            task.add_done_callback(lambda _: client.calls.pop(id, None))
            operation = OPERATIONS.get(call.method)  # without one for `configure` and `end`
            if operation is not None and not operation.is_passive and not operation.ends_though_stopped:
                self._look_later(underway, client, None)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _look_later(self, underway: CallUnderway, client: RelayConnection, before: str | None) -> None:
        loop = asyncio.get_running_loop()
        underway.looking = loop.call_later(HALTED, self._look_at_program, underway, client, before)

    def _look_at_program(self, underway: CallUnderway, client: RelayConnection, before: str | None) -> None:
        """Answers for a program that cannot. What was asked of it is still done when it goes on."""
        call = underway.call
        session = self.session and self.session.family.members.get(call.session or self.session.id)
        why = explain_halt(session.adapter) if session else None
        if why is None or before is None or call.id is None:
            self._look_later(underway, client, why)
            return
        underway.is_answered = True
        underway.patience.run_out()
        with speak_as(call.door):
            client.write(rpc.encode_fault(call.id, rpc.Fault.of(halted_error(why, call.method))))

    async def _answer_call(self, underway: CallUnderway, client: RelayConnection) -> None:
        call = underway.call
        call_patience.set(underway.patience)
        may_run.set(call.may_run)
        set_door(call.door)
        asking_client.set(AskingClient(call.door, call.client, call.wheel))
        answer = await self._perform_call(call)
        if underway.looking is not None:
            underway.looking.cancel()
        if call.id is not None and not underway.is_answered:
            client.write(answer)
        if (recipe := spare_interpreter.CURRENT.take_news()) is not None:
            self._tell_relays(rpc.LAUNCHED, recipe)
        if call.method == "end" and call.session is None:
            self._done.set()

    async def _perform_call(self, call: rpc.Call) -> bytes:
        id = call.id or 0
        try:
            return rpc.frame_result(id, await self._dispatch_call(call.method, call.params, call.session))
        except RelayError as error:
            fault = rpc.Fault.of(error)
        except msgspec.ValidationError as error:
            fault = rpc.Fault.of(RelayError("INVALID_REQUEST", str(error)))
        except Exception as error:
            logger.exception("%s failed", call.method)
            fault = rpc.Fault(rpc.FAILED, f"{call.method} failed: {type(error).__name__}")
        return rpc.encode_fault(id, fault)

    async def _dispatch_call(self, method: str, params: dict[str, Any], session_id: str | None) -> bytes:
        """Return the answer as JSON."""
        if method == "configure":
            return msgspec.json.encode(await self._configure_session(params))
        if method == rpc.PREPARE:
            self._prepare_launch(params)
            return b"null"
        if self.session is None:
            return b"null"  # a spare has nothing to describe and nothing to end
        if method == "end":
            return msgspec.json.encode(await self.session.family.end_session(session_id, "deleted", **params))
        session = self.session.family.find_session(session_id)
        carry_out, operation = session.method_of(method), OPERATIONS[method]
        is_activity = not operation.is_passive
        self._in_progress += is_activity
        letting_go = self._letting_go() if method == "detach" else contextlib.nullcontext()
        try:
            with session.command_notes.begin(operation, params) as note, letting_go:
                note.answer = msgspec.json.encode(await self._carry_out(session, operation, carry_out, params))
            return note.answer
        finally:
            self._in_progress -= is_activity
            if is_activity:
                session.debuggee.touch()
                self._changed.set()

    async def _carry_out(
        self, session: Session, operation: Operation, carry_out: Callable[..., Any], params: dict[str, Any]
    ) -> Any:
        """Return the answer. That the program ends while it is looked at is no fault of the debugger: who asked is told
        what is so now."""
        try:
            answer = carry_out(**params)
            return await answer if asyncio.iscoroutine(answer) else answer
        except RelayError as error:
            is_look = WRITE not in operation.scopes  # what runs something may have ended the program itself
            if not is_look or error.status != LOST_DEBUGGER or not await _comes_to_its_end(session):
                raise
            session.debuggee.require_state(operation.name)
        answer = carry_out(**params)
        return await answer if asyncio.iscoroutine(answer) else answer

    def _prepare_launch(self, params: dict[str, Any]) -> None:
        if self.session is None:
            spare_interpreter.CURRENT.start(msgspec.convert(params, LaunchRecipe), os.path.basename(self.folder))

    @contextlib.contextmanager
    def _letting_go(self) -> Iterator[None]:
        """Noted first: what is let go without a note would be ended with the session."""
        note = os.path.join(self.folder, DETACHED)
        was_noted = os.path.exists(note)
        try:
            open(note, "ab").close()
        except OSError as error:
            raise not_written(note, error, "so the program was not let go") from error
        try:
            yield
        except BaseException:
            if not was_noted:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(note)
            raise

    async def _configure_session(self, params: dict[str, Any]) -> answers.Session:
        if self.session is not None:
            raise RelayError("INTERNAL_ERROR", "The runner has a session already")
        config = msgspec.convert({**params, "folder": self.folder}, Config)
        if config.environment is not None:
            _take_environment(config.environment)
        self.session = Session(config, Family(TunnelPort, self._tell_relays, self._changed.set))
        self.session.command_notes.note_driver(asking_client.get(), "create_session")
        warnings = await self.session.restore_parts()
        self._news.set()
        answer = self.session.info()
        if config.parts is not None:
            return replace(answer, warnings=warnings)
        return _with_restored_breakpoints(answer, self.session) if answer.breakpoint_count else answer

    def _tell_relays(self, method: str, params: Any) -> None:
        for client in self._clients:
            client.write(rpc.encode_call(method, msgspec.to_builtins(params)))

    async def _tell_changes(self) -> None:
        """Tell relays what sessions look like now, soon after it has changed: at most so many times a second."""
        told: dict[str, answers.SessionItem] = {}
        while True:
            await self._changed.wait()
            self._changed.clear()
            for member in [] if self.session is None else list(self.session.family.members.values()):
                item = member.summary()
                if told.get(member.id) != item:
                    told[member.id] = item
                    self._tell_relays("changed", item)
            await asyncio.sleep(BETWEEN_CHANGES)

    async def _watch_lifetime(self) -> None:
        """Ends the session when its time is up, with a relay or without."""
        while True:
            if self.session is not None and (self._activity.has_worked(self.session) or self._in_progress):
                self.session.debuggee.touch()  # it works, or somebody is waiting for it
            self._read_recordings_ahead()
            program_process.reap_adopted()
            unclaimed = 0.0 if self._unclaimed_since is None else time.monotonic() - self._unclaimed_since
            remaining = self.session.lifetime.seconds_left() if self.session else UNCONFIGURED - unclaimed
            if remaining <= 0:
                try:
                    await self._expire_session()
                finally:
                    self._done.set()
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.02, min(remaining, LOOK))):
                    await self._news.wait()
            self._news.clear()

    def _read_recordings_ahead(self) -> None:
        """Have recordings read while programs write them: to read one of a long run at once takes seconds."""
        for session in self.session.family.members.values() if self.session else ():
            if session.state is State.RUNNING:
                session.recorded_run.read_ahead()

    async def _expire_session(self) -> None:
        if self.session is None:
            return
        family = self.session.family.members.values()
        words = {each.id: rpc.LastWords(str(each.state), "timeout", each.config.name) for each in family}
        last = words.pop(self.session.id)
        last.children = words
        await self.session.end("timeout")
        self._tell_relays("expired", last)
        self._leave_words(last)

    def _leave_words(self, last: rpc.LastWords) -> None:
        try:
            with open(os.path.join(self.folder, FINAL), "wb") as file:
                file.write(msgspec.json.encode(last))
        except OSError as error:
            logger.warning("the last words of the session cannot be left: %s", error)


async def _comes_to_its_end(session: Session) -> bool:
    """Tell whether a program whose debugger is gone has ended by itself: that is known a moment later."""
    deadline = time.monotonic() + ENDING
    while session.state in LIVE and (left := deadline - time.monotonic()) > 0:
        await session.debuggee.log.wait_for_news(left)
    end = session.debuggee.end
    return session.state in ENDED and end is not None and end.status is not None  # else it is its debugger that died


def _with_restored_breakpoints(answer: answers.Session, session: Session) -> answers.Session:
    """Tell which breakpoints the session has from earlier ones."""
    count, changed_at = answer.breakpoint_count, session.config.breakpoints_changed_at
    shown = None if changed_at is None else timestamp(changed_at)
    words = {"count": counted(count, "breakpoint"), "were": "was" if count == 1 else "were"}
    edits = session.placement.take_edit_notes()
    restored = answers.RestoredBreakpoints(count=count, changed_at=shown, edits=edits)
    return replace(answer, message=advice(RESTORED, **words, changed_at=shown), restored_breakpoints=restored)


def _take_environment(environment: dict[str, str]) -> None:
    """Take the client's environment for ours, but for the relay's settings: what the session starts inherits it."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
    os.environ.clear()
    os.environ.update(environment | kept)
