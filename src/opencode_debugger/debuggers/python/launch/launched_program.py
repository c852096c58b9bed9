"""The program that a session has started: its process, what it left running, and its children that are debugged."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ....dap.channel import Channel
from ....errors import RelayError
from ...process.program_process import ExitStatus, Program, end_others, not_started
from ...process.standard_input import Stdin
from ...shapes import LaunchSpec
from ..children.debugged_child import END_PATIENCE, ChildArrival
from ..debugpy_connection import DebugpyConnection, Link
from ..debugpy_events import DebugpyEvents
from ..program_target import ProgramTarget
from .callback_socket import CallBack, tell_when_connected

if TYPE_CHECKING:
    from ...protocols import Listener

REFERENCES_PER_LAUNCH = 1_000_000


class Follower(Protocol):
    """The adapter that follows a child."""

    async def end(self, grace: float) -> None: ...


@dataclass(eq=False)
class LaunchedProgram(ProgramTarget):
    """One after the other: another is begun when the last has ended."""

    _session_id: str
    _listener: Listener
    _connection: DebugpyConnection
    _process: Program | None = None
    first_reference: int = 1000
    """from which on the next program numbers its values: those of the last are not used again"""
    _callback: CallBack | None = None
    """where debuggers of children call"""
    children: set[Follower] = field(default_factory=set)
    """all that live and are debugged"""
    _is_detached: bool = False
    _sweeping: asyncio.Task[None] | None = None

    # How it comes.

    async def forget_last(self) -> None:
        """Wait until what the last one left running has ended: the next one will carry the same marker."""
        if self._sweeping is not None:
            await self._sweeping
        self._process = None

    def begin(
        self, argv: list[str], spec: LaunchSpec, environment: dict[str, str],
        started: subprocess.Popen[bytes] | None = None,
    ) -> Program:
        self.first_reference += REFERENCES_PER_LAUNCH
        told = self._listener.on_output, self._exited
        try:
            process = Program(argv, spec.cwd, environment, *told, is_outlived=self._is_outlived, started=started)
        except (OSError, ValueError) as error:
            raise not_started(error) from error
        self._process = process
        self._listener.on_process(process.pid)
        with contextlib.suppress(RelayError):  # one that has ended already tells more by its end
            process.pipes.stdin.send(spec.stdin, spec.stdin_eof)
        return process

    # What is known of it.

    @property
    def stdin(self) -> Stdin | None:
        return self._process.pipes.stdin if self._process is not None else None

    @property
    def own_pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.is_alive else None

    @property
    def has_ended(self) -> bool:
        return self._process is not None and not self._process.is_alive

    def drain_output(self) -> None:
        if self._process is not None:
            self._process.pipes.drain()

    # Children: each is followed by an adapter of its own.

    def welcome_children(self, callback: CallBack, only_children: bool = False) -> None:
        """Take the debuggers of children that call after the program's own, unless that has none."""
        self._callback = callback
        callback.stay_open(self._child_called, only_children)

    def _child_called(self) -> Channel:
        arrival = ChildArrival(self)
        return tell_when_connected(arrival.channel, lambda channel: self._listener.on_child(arrival))

    def child_left(self, child: Follower) -> None:
        self.children.discard(child)
        self.settle()

    def _is_outlived(self) -> bool:
        return bool(self.children) or self._listener.is_expecting()

    def settle(self) -> None:
        """End what it left behind, with it or with the last of its children that are debugged."""
        if self._process is None or self._process.is_alive or self._is_outlived():
            return
        self._close_callback()
        self._process.pipes.close()
        if not self._is_detached:
            self._sweeping = asyncio.get_running_loop().create_task(end_others(self._session_id))

    def _close_callback(self) -> None:
        if self._callback is not None:
            self._callback.close()
            self._callback = None

    # How it ends.

    def _exited(self, status: ExitStatus) -> None:
        self._connection.hang_up()
        self._listener.on_exit(status)
        self.settle()

    def connection_closed(self, link: Link, reason: Exception | None) -> None:
        assert self._process is not None
        ending = self._expect_end(self._process, link.events)
        link.conversation.farewell = asyncio.get_running_loop().create_task(ending)

    async def _expect_end(self, process: Program, events: DebugpyEvents) -> None:
        """The connection ends just before the program does, unless the program closed it and goes on without us."""
        await asyncio.wait([process.ended], timeout=0 if events.replaced_by else END_PATIENCE)
        if process.is_alive:
            self._listener.on_lost(events.why_it_left())

    async def let_go(self) -> None:
        """Let it run on. It keeps its pipes for now."""
        self._is_detached = True
        self._close_callback()  # nor is what it starts from now on debugged
        await self._connection.disconnect(terminate=False)

    async def terminate(self, grace: float) -> None:
        """End it and its children. What happened before can still be read."""
        if self._process is None:
            return
        process = self._process
        await process.end(grace)
        await asyncio.gather(*(child.end(0) for child in list(self.children)))
        process.pipes.close()
        await end_others(self._session_id)

    async def end(self, grace: float) -> None:
        """End it, unless it was let go."""
        self._close_callback()
        if self._process is not None and self._is_detached:
            self._process.release()
        else:
            await self.terminate(grace)
        self._process = None
