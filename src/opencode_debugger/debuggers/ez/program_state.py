"""The state of a program under its debugger: how far it has come, whether it runs, and where it has stopped."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Halt:
    reason: str
    path: str
    """absolute; empty if it is in no file"""
    line: int
    column: int
    thread_id: int = 1
    breakpoint_id: int | None = None
    data_id: int | None = None
    text: str | None = None


class ProgramState:
    def __init__(self) -> None:
        self._has_started = False
        """before that, stops are nobody's business"""
        self.is_ending = False
        """its debugger is being made to go"""
        self.is_over = False
        """the program has ended; its debugger may still be there"""
        self.is_running = False
        self.wants_pause = False
        """a client has asked for a pause that was not told yet"""
        self.halt: Halt | None = None
        """the last stop"""
        self.early: list[Halt] = []
        """stops before the program was started"""
        self.stirred = asyncio.Event()
        """set at each stop, and at the end"""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_live(self) -> bool:
        return self._has_started and not (self.is_ending or self.is_over)

    async def wait_for_stir(self, seconds: float) -> None:
        """Wait so long for the next stop, or the end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stirred.wait()

    def go_live(self) -> None:
        """Let stops be judged from now on."""
        self._has_started = True

    def let_go(self) -> None:
        self.is_running = True

    def stay_halted(self) -> None:
        """Note that the program has not gone on after all."""
        self.is_running = False

    def note_stop(self, halt: Halt) -> None:
        self.halt = halt
        self.is_running = False
        if not (self._has_started or self.is_ending or self.is_over):
            self.early.append(halt)

    def dismiss_debugger(self) -> None:
        self.is_ending = True

    def finish_program(self) -> bool:
        """Note that the program is gone; say whether that is new."""
        if self.is_over:
            return False
        self.is_over = True
        self.ended.set_result(None)
        self.stirred.set()
        return True
