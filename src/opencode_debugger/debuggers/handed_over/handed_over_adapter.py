"""A program whose debugger belongs to somebody else: the session can still read and write its streams, and end it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Never, Protocol

from ...errors import RelayError
from ..optional_features import Refuse
from ..process.program_process import Pipes
from ..process.standard_input import Stdin
from ..registry import DebuggerSetup
from ..shapes import AttachSpec, ExceptionRule, Groups, LaunchSpec
from ..small_debugger import SmallDebugger
from .tunnel_client import Client

OCCUPIED = "Another client is connected to the debugger of this program: disconnect that one first"
LEAVING = 1.0
"""Seconds for a client to make room for the next."""
FOR_THE_CLIENT = ("stop_on_entry", "just_my_code", "debug_subprocesses")
NOT_SET = (
    "The session's breakpoints are not set: with tunnel_only the debugger is the tunnel's client's, and so are its "
    "breakpoints"
)


class ClientLine(Protocol):
    """The line to a debugger or debug server, for one client after the other."""

    @property
    def is_closed(self) -> bool: ...
    async def carry(self, first: bytes, client: Client) -> None:
        """Pass on both ways, until either end has had enough."""

    async def part_from_client(self) -> None:
        """Make ready for the next client: one has left."""

    def close(self) -> None: ...


class RefusingPart:
    """Refuses whatever it is asked, by whatever name, except what a session asks of every debugger by itself."""

    def __init__(self, refuse: Refuse) -> None:
        self._refuse = refuse

    def __getattr__(self, name: str) -> Never:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._refuse(name)

    async def hits(self) -> dict[int, int]:
        return {}

    async def own_threads(self) -> list[int]:
        return []

    async def loaded(self, paths: list[str]) -> dict[str, None]:
        return {}


class HandedOverAdapter(SmallDebugger):
    """Puts clients through to the debugger of a program; a subclass starts both."""

    is_undebugged = True
    protocol: str
    """the protocol of its clients: dap or gdb-remote"""
    gone: str
    """said to clients when there is no debugger any more"""
    foreign: tuple[bytes, ...]
    """how clients begin that speak another protocol"""
    not_spoken: str
    """said to those"""

    def __init__(self, name: str, setup: DebuggerSetup) -> None:
        super().__init__(name)
        self._session_id = setup.session_id
        self._listener = setup.listener
        self._timeout = setup.launch_timeout
        self._line: ClientLine | None = None
        self._pipes: Pipes | None = None
        """the program's input and output"""
        self._turn = asyncio.Lock()
        part: Any = RefusingPart(self.refusal)
        self.control = self.breakpoints = self.inspection = self.sources = part

    def refusal(self, capability: str) -> RelayError:
        message = "The debugger of this session is left to the client of its tunnel (tunnel_only)"
        advice = "Use a debugger that connects with `opencode-debugger tunnel SESSION`, or launch without tunnel_only"
        return RelayError("NOT_SUPPORTED", message, capability=capability, suggestion=advice)

    @property
    def stdin(self) -> Stdin | None:
        return self._pipes.stdin if self._pipes is not None else None

    def drain(self) -> None:
        if self._pipes is not None:
            self._pipes.drain()

    async def pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_use: Callable[[], None]
    ) -> None:
        """Serve a client of the tunnel until it leaves. One after the other: the last may be leaving."""
        client = Client(reader, writer, on_use)
        try:
            async with asyncio.timeout(LEAVING):
                await self._turn.acquire()
        except TimeoutError:
            return await client.turn_away(OCCUPIED)
        try:
            await self._put_through(client)
        finally:
            self._turn.release()

    async def _put_through(self, client: Client) -> None:
        line = self._line
        if line is None or line.is_closed:
            await client.turn_away(self.gone)
            return
        first = await client.read()
        if first.startswith(self.foreign):
            await client.turn_away(self.not_spoken, first)
        elif first:
            try:
                await line.carry(first, client)
            finally:
                await line.part_from_client()

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        ignored = [name for name in FOR_THE_CLIENT if getattr(spec, name)]
        self.warnings = [f"{name} has no effect with tunnel_only: that is for the client to say" for name in ignored]
        self.warnings += [NOT_SET] if breakpoints else []
        await self._start_program(spec)

    async def _start_program(self, spec: LaunchSpec) -> None:
        raise NotImplementedError

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        raise self.refusal("attach")

    async def join(self, *_: Any) -> None:
        raise self.refusal("join")

    async def detach(self) -> None:
        raise self.refusal("detach")
