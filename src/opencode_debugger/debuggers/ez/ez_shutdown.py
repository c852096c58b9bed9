"""How a program, its debugger and all that belongs to them come to their end."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from ...errors import RelayError
from ...ez.messages import EventData
from ..process.program_process import ExitStatus, end_others
from ..protocols import Listener
from .ez_conversation import NAME, Conversation, ToldInput
from .program_state import ProgramState

LAST_WORDS = 0.1
"""Seconds in which what a program wrote may still come, when its debugger has said that it has ended."""
LEAVING = 0.5
"""Seconds for a debugger that says that it is done, or whose program has ended, to go by itself."""
TERM = 0.5
"""Seconds for one that was told to go by a signal."""


@dataclass(eq=False)
class EzShutdown:
    _session_id: str
    _state: ProgramState
    _conversation: Conversation
    _input: ToldInput
    _listener: Listener
    _exit_code: int | None = None
    _sweeping: asyncio.Task[None] | None = None

    def drain(self) -> None:
        if self._conversation.process is not None:
            self._conversation.process.pipes.drain()

    def on_exited(self, data: EventData) -> None:
        self._exit_code = data["exitCode"]
        self._conversation.spawn(self._hear_last_words(ExitStatus.of(self._exit_code)))

    async def _hear_last_words(self, status: ExitStatus) -> None:
        process = self._conversation.process
        assert process is not None
        await asyncio.wait([process.ended], timeout=LAST_WORDS)
        self.drain()
        self._finish_once(status)

    def on_terminated(self, data: EventData) -> None:
        self._conversation.spawn(self._leave_off())

    async def _leave_off(self) -> None:
        """End a debugger that says that it is done: some run on."""
        process = self._conversation.process
        assert process is not None
        await asyncio.wait([process.ended], timeout=LEAVING)
        if process.is_alive:
            self._state.dismiss_debugger()
            await process.end(TERM)

    def on_debugger_ended(self, status: ExitStatus, broke_off: bool) -> None:
        """Tell of the end of a debugger that has left by itself, and the program with it, or before it was done."""
        if self._exit_code is not None:
            self._finish_once(ExitStatus.of(self._exit_code))
        elif self._state.is_ending:
            self._finish_once("terminated")
        elif broke_off or self._conversation.announced is not None:
            how = status.signal or f"exit code {status.code}"
            self._finish_once(f"the debugger ({NAME}) ended unexpectedly, with {how}")
        else:
            self._finish_once(status)

    def _finish_once(self, how: ExitStatus | str) -> None:
        """Tell once that the program is gone: by itself, or why it was lost."""
        if not self._state.finish_program():
            return
        self._input.close()
        if isinstance(how, str):
            self._listener.on_lost(how)
        else:
            self._listener.on_exit(how)
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep_up())

    async def _sweep_up(self) -> None:
        """Make the debugger go, and whatever else the session left."""
        process = self._conversation.process
        if process is not None and process.is_alive:
            with contextlib.suppress(RelayError):
                self._conversation.send("terminate")
            await asyncio.wait([process.ended], timeout=LEAVING)
            await process.end(TERM)
        await end_others(self._session_id)

    async def wait_until_swept(self) -> None:
        """Wait until all that the program left running is gone: the next one will carry the same marker."""
        if self._sweeping is not None:
            await self._sweeping

    async def terminate(self, grace: float) -> None:
        """End the program. What happened before can still be read.

        The debugger is asked, without relying on an answer: some hang, some crash, some say that they are done and run
        on. One whose program may read what it is asked, or that is locked up, is not asked."""
        talk, process = self._conversation, self._conversation.process
        if process is not None and process.is_alive:
            self._state.dismiss_debugger()
            if grace and not (talk.must_be_silent or talk.is_locked_up):
                with contextlib.suppress(RelayError):
                    talk.send("terminate")
                await asyncio.wait([process.ended], timeout=grace)
            await process.end(TERM if grace else 0)
        await self.wait_until_swept()
