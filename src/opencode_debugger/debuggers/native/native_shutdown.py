"""The end of a native program, its debugger and all that belongs to them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from dataclasses import dataclass

from ...errors import RelayError
from ..process.foreign_process import Watched
from ..process.program_process import ExitStatus, end_others
from ..protocols import Listener
from .native_conversation import QUIT, NativeConversation
from .native_program import NativeProgram, set_done
from .native_stops import StopMachine

DYING = 10.0
"""Seconds for a program that was killed."""
SERVER_NEWS = 0.5
"""Seconds for the end of a debug server to be known when its connection has ended."""
WITHOUT_SERVER = 0.5
"""Seconds in which a debugger tells the end of a program whose server has ended."""


@dataclass(eq=False)
class Shutdown:
    """Sees the end of the program, or makes it."""

    _program: NativeProgram
    _conversation: NativeConversation
    _listener: Listener
    _stops: StopMachine

    def __post_init__(self) -> None:
        self._sweeping: asyncio.Task[None] | None = None
        self.reset()

    def reset(self) -> None:
        self._released: Watched | None = None
        """a program that runs without its debugger"""
        self._elder: Shutdown | None = None
        """the shutdown of the program itself, if this one is a child of it"""
        self.young: set[Shutdown] = set()
        """those of the children of the program, and of theirs"""

    # The family: a program and its children that are debugged.

    @property
    def marker(self) -> str:
        """Carried by everything that the session of the program starts."""
        return self._program.marker

    @property
    def elder(self) -> Shutdown:
        """The shutdown of the program at the head of the family."""
        return self._elder or self

    @property
    def is_ending(self) -> bool:
        return self._program.is_ending

    def join_family(self, elder: Shutdown) -> None:
        self._elder = elder
        elder.young.add(self)

    def leave_family(self) -> None:
        assert self._elder is not None
        self._elder.young.discard(self)
        self._elder.settle()

    async def _end_young(self) -> None:
        await asyncio.gather(*(child.end(0) for child in list(self.young)))

    # How the end is seen.

    def drain(self) -> None:
        if self._elder is not None:
            self._elder.drain()  # its output comes through the pipes of the program
        elif self._program.pipes is not None:
            self._program.pipes.drain()

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        """Return how the program ended, when the debugger has said that it did."""
        return None if code is None else ExitStatus.of(code)

    async def on_exited(self, code: int | None) -> None:
        program = self._program
        if program.is_over or program.is_detached:
            return
        status = None
        with contextlib.suppress(RelayError):
            status = await self._exit_status(code)
        if status is None and not program.is_attached:
            self._lose_program(self._lost_words())
        else:
            self._finish_program(lambda: self._listener.on_exit(status))

    def _lost_words(self) -> str:
        server = f"the debug server ({self._program.debugger}) ended unexpectedly"
        lost = server if self._conversation.server is not None else "the debugger has lost the program"
        return lost if self._program.startup_problem is None else self._program.startup_problem

    async def on_terminated(self) -> None:
        """Hear what comes right after `exited`, or without it from a debugger that let go."""
        await asyncio.wait([self._program.ended], timeout=1.0)
        if not self._program.is_detached:
            self._lose_program("the debugger let go of the program")

    def on_debugger_ended(self) -> None:
        helper = self._conversation.debugger
        if helper is None or self._program.is_detached:
            return
        words = helper.said.strip().splitlines()[-1:] or [""]
        status = helper.ended.result()
        how = f"{status} {words[0][:300]}".strip()
        self._lose_program(f"the debugger ({self._program.kind}) ended unexpectedly with {how}")

    def on_server_ended(self) -> None:
        self._conversation.spawn(self._without_server())

    async def _without_server(self) -> None:
        """Wait for the debugger to tell the end of the program: its server may have died without a word."""
        await asyncio.wait([self._program.ended], timeout=WITHOUT_SERVER)
        if not self._program.is_detached:
            await self._part_from_program()

    async def _part_from_program(self) -> None:
        """Part from a program whose debug server has ended."""
        self._lose_program(self._lost_words())

    def _lose_program(self, reason: str) -> None:
        self._finish_program(lambda: self._listener.on_lost(reason))

    def _finish_program(self, tell: Callable[[], None]) -> None:
        """Tell, once, that the program is gone, or is not to be seen any more."""
        if self._program.is_over:
            return
        self._program.is_over = True
        self.drain()
        tell()
        set_done(self._program.ended)
        if self._elder is not None:
            self._sweeping = asyncio.get_running_loop().create_task(self._part_from_child())
        else:
            self.settle()

    # What is left when it has ended.

    def settle(self) -> None:
        """End what a program leaves behind with it, or with the last of its children that are debugged."""
        if not self._program.is_over or self._program.is_detached or self._elder is not None:
            return
        sweeping = self.close() if self.young or self._listener.is_expecting() else self._sweep_up()
        self._sweeping = asyncio.get_running_loop().create_task(sweeping)

    async def await_sweeping(self) -> None:
        """Wait until everything that the last program left behind has ended."""
        if self._sweeping is not None:
            await self._sweeping

    async def _sweep_up(self) -> None:
        """End the debugger, and whatever else the session left."""
        if self._program.pipes is not None:
            self._program.pipes.close()
        if not self._program.is_attached:
            self._program.send_signal(signal.SIGKILL)
        await self.close()
        await end_others(self._program.marker)

    async def _part_from_child(self) -> None:
        """Part from a child that is gone; from one that lost its debugger too, where breakpoints may still be in it."""
        program = self._program
        if program.pid is not None:
            watched = Watched(program.pid, is_kept=False)
            if program.is_joined and not program.is_detached:
                watched.send_signal(signal.SIGKILL)
            watched.close()
        await self.close()
        self.leave_family()

    async def close(self) -> None:
        await self._conversation.close()

    # How the end is made.

    async def _set_free(self) -> None:
        """Let a halted program run on without the debugger."""
        await self._conversation.request("disconnect", {"terminateDebuggee": False}, QUIT)

    async def detach(self) -> None:
        """Let all threads run on, without breakpoints. A program that we started keeps its pipes for now."""
        program = self._program
        if program.is_core or program.is_over:
            return
        await self._stops.halt_quietly()
        program.is_detached = True
        if program.pid is not None and program.pipes is not None:
            self._released = Watched(program.pid)
            self._conversation.spawn(self._follow_released(self._released))
        with contextlib.suppress(RelayError):
            await self._set_free()
        await self.close()
        if self._elder is not None:
            self.leave_family()

    async def _follow_released(self, released: Watched) -> None:
        """Tell the end of a program that was let go."""
        status = await released.ended
        pipes = self._program.pipes
        if self._released is released and pipes is not None:
            pipes.drain()
            self._listener.on_exit(status)
            pipes.close()

    async def terminate(self, grace: float) -> None:
        """End the program, whoever started it. What happened before can still be read."""
        program = self._program
        if self._released is not None:
            await self._released.end(grace)
        elif program.is_core:
            self._lose_program("terminated")
        elif not program.is_over and program.pid is not None:
            await self._end_program(grace)
        elif not program.is_over and self._conversation.is_open and not program.is_attached:  # only being started
            self._lose_program("terminated")
        elif not program.is_over and self._conversation.is_open:  # it runs on another machine
            await self._stops.halt_quietly()
            with contextlib.suppress(RelayError):
                await self._conversation.request("terminate")
            await asyncio.wait([program.ended], timeout=DYING)
        await self._end_young()
        await self.await_sweeping()
        if program.debugs_children and self._elder is None and program.is_over:
            await end_others(program.marker)  # one may have been on its way

    async def _end_program(self, grace: float) -> None:
        program = self._program
        program.is_ending = True
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, DYING)):
            if program.is_over or not patience:
                continue
            await (self._kill_program() if number == signal.SIGKILL else self._send_signal(number))
            await asyncio.wait([program.ended], timeout=patience)
        if not program.is_over and self._conversation.debugger is not None:
            await self._conversation.debugger.end()

    async def _send_signal(self, number: int) -> None:
        """Send it: one that is halted gets it when it goes on."""
        self._program.send_signal(number)
        if not self._program.is_running:
            await self._stops.go_on_quietly(1)

    async def _kill_program(self) -> None:
        await self._send_signal(signal.SIGKILL)

    async def end(self, grace: float) -> None:
        """End a program that we started; one that we attached to, or let go, goes on without us."""
        program = self._program
        if program.is_detached:
            await self._end_young()
            if program.pipes is not None and self._released is not None and self._released.is_alive:
                program.pipes.release()
            if self._released is not None:
                self._released.close()
        elif program.is_attached:  # not ours to end, even if attaching to it came to nothing
            if program.started.done() and not program.is_over:
                await self.detach()
        else:
            await self.terminate(grace)
        await self.close()
        if program.pipes is not None and not program.is_detached:
            program.pipes.close()
        program.pipes = program.pid = self._released = None
