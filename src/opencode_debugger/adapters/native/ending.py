"""How a native program, its debugger and all that belongs to them come to their end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable

from ...errors import RelayError
from ..processes import ExitStatus, end_others
from ..watched import Watched
from .process import Helper
from .stopping import Stopping
from .talking import done

QUIT = 2.0
"""Seconds for a debugger that was told to go."""
DYING = 10.0
"""Seconds for a program that was killed."""


class Ending(Stopping):
    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        """How the program ended, when the debugger has said that it did."""
        return None if code is None else ExitStatus.of(code)

    async def _go_free(self) -> None:
        """Lets a halted program run on without the debugger."""
        await self._request("disconnect", {"terminateDebuggee": False}, QUIT)

    def drain(self) -> None:
        if self._elder is not None:
            self._elder.drain()  # its output comes through the pipes of the program
        elif self._pipes is not None:
            self._pipes.drain()

    async def _on_exited(self, code: int | None) -> None:
        if self._is_over or self._is_detached:
            return
        status: ExitStatus | None = None
        with contextlib.suppress(RelayError):
            status = await self._exit_status(code)
        if status is None and not self._is_attached:
            self._finish(lambda: self._listener.on_lost(self._lost_words()))
        else:
            self._finish(lambda: self._listener.on_exit(status))

    def _lost_words(self) -> str:
        if self._startup_problem is not None:
            return self._startup_problem
        if self._server is not None:
            return f"the debug server ({self.name}) ended unexpectedly"
        return "the debugger has lost the program"

    async def _on_terminated(self) -> None:
        """Comes right after `exited`, or without it from a debugger that let go."""
        await asyncio.wait([self._ended], timeout=1.0)
        if not self._is_detached:
            self._finish(lambda: self._listener.on_lost("the debugger let go of the program"))

    def _debugger_ended(self) -> None:
        helper = self._helper
        if helper is None or self._is_detached:
            return
        words = helper.said.strip().splitlines()[-1:] or [""]
        status = helper.ended.result()
        message = f"the debugger ({self.kind}) ended unexpectedly with {status} {words[0][:300]}".strip()
        self._finish(lambda: self._listener.on_lost(message))

    def _server_ended(self) -> None:
        self._spawn(self._without_server())

    async def _without_server(self) -> None:
        """The debugger tells the end of the program, unless its server died without a word."""
        await asyncio.wait([self._ended], timeout=0.5)
        if not self._is_detached:
            self._finish(lambda: self._listener.on_lost(self._lost_words()))

    async def _hung_up(self, helper: Helper) -> None:
        """A debugger that no longer talks is of no use."""
        if helper.is_alive:
            await helper.end(QUIT)

    def _finish(self, tell: Callable[[], None]) -> None:
        """Once: the program is gone, or is not to be seen any more."""
        if self._is_over:
            return
        self._is_over = True
        self.drain()
        tell()
        done(self._ended)
        if self._elder is not None:
            self._sweeping = asyncio.get_running_loop().create_task(self._part_from_child())
        else:
            self.settle()

    def settle(self) -> None:
        """What a program leaves behind ends with it, or with the last of its children that are debugged."""
        if not self._is_over or self._is_detached or self._elder is not None:
            return
        sweeping = self._close() if self._young or self._listener.is_expecting() else self._sweep()
        self._sweeping = asyncio.get_running_loop().create_task(sweeping)

    async def _sweep(self) -> None:
        """The debugger goes, and whatever else the session left."""
        if self._pipes is not None:
            self._pipes.close()
        if not self._is_attached:
            self._signal_program(signal.SIGKILL)
        await self._close()
        await end_others(self._session_id)

    async def _part_from_child(self) -> None:
        """From a child that is gone; from one that lost its debugger too, where breakpoints may still be in it."""
        watched = Watched(self.pid, is_kept=False) if self.pid is not None else None
        if watched is not None:
            if self._is_joined and not self._is_detached:
                watched.send_signal(signal.SIGKILL)
            watched.close()
        await self._close()
        self._leave_family()

    def _leave_family(self) -> None:
        self._elder._young.discard(self)
        self._elder.settle()

    async def _end_young(self, grace: float = 0) -> None:
        """With the program all of its family ends."""
        await asyncio.gather(*(child.end(grace) for child in list(self._young)))

    async def _close(self) -> None:
        """Ends the debugger and its server."""
        talk, self._talk = self._talk, None
        helper, self._helper = self._helper, None
        server, self._server = self._server, None
        if talk is not None and helper is not None and helper.is_alive:
            with contextlib.suppress(RelayError):
                talk.send("disconnect", {})
            await helper.end(QUIT)
        if helper is not None:
            await helper.end()
        if talk is not None:
            talk.channel.close()
        if server is not None:
            await server.end()

    def _signal_program(self, number: int) -> None:
        if self.pid is None or self._is_core:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)

    async def detach(self) -> None:
        """All threads run on, without breakpoints. A program that we started keeps its pipes for now."""
        if self._is_core or self._is_over:
            return
        await self._halt()
        self._is_detached = True
        if self.pid is not None and self._pipes is not None:
            self._watched = Watched(self.pid)
            self._spawn(self._follow(self._watched))
        with contextlib.suppress(RelayError):
            await self._go_free()
        await self._close()
        if self._elder is not None:
            self._leave_family()

    async def _follow(self, watched: Watched) -> None:
        """The end of a program that was let go."""
        status = await watched.ended
        if self._watched is watched and self._pipes is not None:
            self._pipes.drain()
            self._listener.on_exit(status)
            self._pipes.close()

    async def terminate(self, grace: float) -> None:
        """Ends the program, whoever started it. What happened before can still be read."""
        if self._watched is not None:
            await self._watched.end(grace)
        elif self._is_core:
            self._finish(lambda: self._listener.on_lost("terminated"))
        elif not self._is_over and self.pid is not None:
            await self._end_program(grace)
        elif not self._is_over and self._talk is not None and not self._is_attached:  # it is only being started
            self._finish(lambda: self._listener.on_lost("terminated"))
        elif not self._is_over and self._talk is not None:  # it runs on another machine
            await self._halt()
            with contextlib.suppress(RelayError):
                await self._request("terminate")
            await asyncio.wait([self._ended], timeout=DYING)
        await self._end_young()
        if self._sweeping is not None:
            await self._sweeping
        if self._debugs_children and self._elder is None and self._is_over:
            await end_others(self._session_id)  # one may have been on its way

    async def _end_program(self, grace: float) -> None:
        self._is_ending = True
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, DYING)):
            if self._is_over or not patience:
                continue
            if number == signal.SIGKILL:
                await self._kill()
            else:
                await self._send_signal(number)
            await asyncio.wait([self._ended], timeout=patience)
        if not self._is_over and self._helper is not None:
            await self._helper.end()

    async def _send_signal(self, number: int) -> None:
        """One that is halted gets it when it goes on."""
        self._signal_program(number)
        if not self._is_running:
            await self._go_on_quietly(1)

    async def _kill(self) -> None:
        await self._send_signal(signal.SIGKILL)

    async def end(self, grace: float) -> None:
        """A program that we started ends; one that we attached to, or let go, goes on without us."""
        if self._is_detached:
            await self._end_young()
            if self._pipes is not None and self._watched is not None and self._watched.is_alive:
                self._pipes.release()
            if self._watched is not None:
                self._watched.close()
        elif self._is_attached:  # not ours to end, even if attaching to it came to nothing
            if self._started.done() and not self._is_over:
                await self.detach()
        else:
            await self.terminate(grace)
        await self._close()
        if self._pipes is not None and not self._is_detached:
            self._pipes.close()
        self._pipes = self._watched = self.pid = None


LONGEST_LOG = 10_000
