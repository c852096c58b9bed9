"""How a program, its debugger and all that belongs to them come to their end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from ...errors import RelayError
from ..processes import ExitStatus, end_others
from .stopping import Stopping

LAST_WORDS = 0.1
"""Seconds in which what a program wrote may still come, when its debugger has said that it has ended."""
LEAVING = 0.5
"""Seconds for a debugger that says that it is done, or whose program has ended, to go by itself."""
TERM = 0.5
"""Seconds for one that was told to go by a signal."""
RUN_ON = "The program lives in its debugger, which cannot let it go"


class Ending(Stopping):
    def drain(self) -> None:
        if self._program is not None:
            self._program.drain()

    def _on_exited(self, data: dict[str, Any]) -> None:
        self._exit_code = data["exitCode"]
        self._spawn(self._program_ended(ExitStatus.of(self._exit_code)))

    async def _program_ended(self, status: ExitStatus) -> None:
        assert self._program is not None
        await asyncio.wait([self._program.ended], timeout=LAST_WORDS)
        self.drain()
        self._finish(lambda: self._listener.on_exit(status))

    def _on_terminated(self, data: dict[str, Any]) -> None:
        self._spawn(self._leave_off())

    async def _leave_off(self) -> None:
        """Some say that they are done, and run on."""
        assert self._program is not None
        await asyncio.wait([self._program.ended], timeout=LEAVING)
        if self._program.is_alive:
            self._is_ending = True
            await self._program.end(TERM)

    def _debugger_ended(self, status: ExitStatus) -> None:
        """Of its own accord, which is the end of the program too; or before it was done."""
        broke_off = self._hearing.end()
        if self._exit_code is not None:
            known = ExitStatus.of(self._exit_code)
            self._finish(lambda: self._listener.on_exit(known))
        elif self._is_ending:
            self._finish(lambda: self._listener.on_lost("terminated"))
        elif broke_off or self._announced is not None:
            how = status.signal or f"exit code {status.code}"
            self._finish(lambda: self._listener.on_lost(f"the debugger ({self.name}) ended unexpectedly, with {how}"))
        else:
            self._finish(lambda: self._listener.on_exit(status))

    def _finish(self, tell: Callable[[], None]) -> None:
        """Once: the program is gone."""
        if self._is_over:
            return
        self._is_over = True
        self._input.close()
        tell()
        if not self._ended.done():
            self._ended.set_result(None)
        self._stirred.set()
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep())

    async def _sweep(self) -> None:
        """The debugger goes, and whatever else the session left."""
        program = self._program
        if program is not None and program.is_alive:
            with contextlib.suppress(RelayError):
                self._send("terminate")
            await asyncio.wait([program.ended], timeout=LEAVING)
            await program.end(TERM)
        await end_others(self._session_id)

    def settle(self) -> None:
        """Children are not debugged: there is nobody to wait for."""

    async def detach(self) -> None:
        raise RelayError(
            "NOT_SUPPORTED", RUN_ON, suggestion="Remove its breakpoints and POST /sessions/{id}/continue: it runs on"
        )

    async def terminate(self, grace: float) -> None:
        """Ends the program. What happened before can still be read."""
        if self._program is not None and self._program.is_alive:
            await self._end_debugger(grace)
        if self._sweeping is not None:
            await self._sweeping

    async def _end_debugger(self, grace: float) -> None:
        """Asks, and does not rely on an answer: some hang, some crash, some say that they are done and run on.

        One whose program may read what it is asked, or that is locked up, is not asked."""
        program = self._program
        assert program is not None
        self._is_ending = True
        if grace and not (self._must_be_silent or self._is_locked_up):
            with contextlib.suppress(RelayError):
                self._send("terminate")
            await asyncio.wait([program.ended], timeout=grace)
        await program.end(TERM if grace else 0)

    async def end(self, grace: float) -> None:
        await self.terminate(grace)
        self.pid = None
