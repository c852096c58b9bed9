"""What a session can still do with a program whose debugger belongs to somebody else: read, write, end it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ...errors import RelayError
from ..base import AttachSpec, ExceptionRule, Groups, LaunchSpec, Listener
from ..offered import Offered
from ..stdin import Stdin
from . import strangers
from .client import Client

BUSY = "Another client is connected to the debugger of this program: disconnect that one first"
LEAVING = 1.0
"""Seconds for a client to make room for the next."""
FOR_THE_CLIENT = ("stop_on_entry", "just_my_code", "debug_subprocesses")
NOT_SET = (
    "The session's breakpoints are not set: with tunnel_only the debugger is the tunnel's client's, and so are its "
    "breakpoints"
)


class PassedOn(Offered):
    """Everything that needs the debugger is refused, by whatever name it is asked for."""

    protocol = ""
    is_undebugged = True

    def __init__(self, session_id: str, listener: Listener, timeout: float) -> None:
        self._session_id = session_id
        self._listener = listener
        self._timeout = timeout
        self.pid: int | None = None
        self.warnings: list[str] = []
        self._turn = asyncio.Lock()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self.refusal(name)

    def refusal(self, capability: str) -> RelayError:
        return RelayError(
            "NOT_SUPPORTED",
            "The debugger of this session is left to the client of its tunnel (tunnel_only)",
            capability=capability,
            suggestion="Use a debugger that connects with `opencode-debugger tunnel SESSION`, "
            "or launch without tunnel_only",
        )

    async def pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_use: Callable[[], None]
    ) -> None:
        """A client that was let into the tunnel, until it leaves. One after the other: the last may be leaving."""
        client = Client(reader, writer, on_use)
        try:
            async with asyncio.timeout(LEAVING):
                await self._turn.acquire()
        except TimeoutError:
            await strangers.turn_away(client, BUSY)
            return
        try:
            await self._carry(client)
        finally:
            self._turn.release()

    async def _carry(self, client: Client) -> None:
        raise NotImplementedError

    async def check_interpreter(self, path: str) -> None:
        """Looked at when it is launched."""

    def use_interpreter(self, path: str) -> None:
        """A launch says which."""

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        ignored = [name for name in FOR_THE_CLIENT if getattr(spec, name)]
        self.warnings = [f"{name} has no effect with tunnel_only: that is for the client to say" for name in ignored]
        self.warnings += [NOT_SET] if breakpoints else []
        await self._start(spec)

    async def _start(self, spec: LaunchSpec) -> None:
        raise NotImplementedError

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        raise self.refusal("attach")

    @property
    def program_pid(self) -> int | None:
        return self.pid

    def describe_target(self) -> dict[str, Any]:
        return {}

    @property
    def stdin(self) -> Stdin | None:
        return None

    def drain(self) -> None:
        raise NotImplementedError

    async def hits(self) -> dict[int, int]:
        return {}

    async def loaded(self, paths: list[str]) -> dict[str, Any]:
        return {}

    async def own_threads(self) -> list[int]:
        return []

    def settle(self) -> None:
        """Nobody else is debugged."""
