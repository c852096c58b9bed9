"""The end of a program under lldb, whose debug servers die as well."""

from __future__ import annotations

import asyncio
import re
import signal

from ...process.foreign_process import Watched
from ...process.program_process import ExitStatus, tracer_of
from ..native_children import watch_spawned
from ..native_shutdown import SERVER_NEWS, Shutdown

LAST_PACKET = re.compile(r"read packet: \$([WX])([0-9a-f]{2})[;#]")
DYING = 0.2
"""Seconds until the end of a program is seen that has died."""
NO_CONNECTION = -1
"""The exit code that is told of a program whose debug server has died."""


class LldbShutdown(Shutdown):
    def reset(self) -> None:
        super().reset()
        self._inner_server: Watched | None = None
        """the lldb-server that lldb-dap has started for itself"""
        self._watched: Watched | None = None
        """the program, if it runs on this machine"""

    def watch_processes(self) -> None:
        """Watch the program, its children and the server that lldb-dap has for it."""
        pid = self._program.pid
        server = None if pid is None or self._watched is not None else tracer_of(pid)
        if pid is None or server is None:
            return
        self._watched = program = Watched(pid, is_kept=False)
        program.ended.add_done_callback(lambda _: self._on_watched_ended(program))
        self._conversation.spawn(watch_spawned(self._listener.on_spawned, program))
        if self._conversation.server is None:
            self._inner_server = watched = Watched(server, is_kept=False)
            watched.ended.add_done_callback(lambda _: self._on_watched_ended(watched))

    def _on_watched_ended(self, watched: Watched) -> None:
        """See to it: lldb tells the end of a program that runs; of one that it holds, only when it is asked next."""
        is_held = not self._program.is_running and not self._conversation.is_evaluating
        if watched is self._inner_server or (watched is self._watched and is_held):  # else it was closed on purpose
            self.on_server_ended()

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        """Ask what came from the debug server: lldb-dap tells the same of exit(11) and SIGSEGV."""
        packets = LAST_PACKET.findall(await self._conversation.run_command("process plugin packet history"))
        if packets and packets[-1][0] == "X":
            return ExitStatus.of(-int(packets[-1][1], 16))
        return await super()._exit_status(code)

    def on_debugger_ended(self) -> None:
        """Take it for the end all the same if lldb-dap crashes when its program is ended."""
        if self._conversation.debugger is not None and self._program.is_ending and self._watched is not None:
            self._conversation.spawn(self._part_from_ended(self._watched))
        else:
            super().on_debugger_ended()

    async def _part_from_ended(self, program: Watched) -> None:
        await asyncio.wait([program.ended], timeout=DYING)
        status = program.ended.result() if program.ended.done() else None
        self._finish_program(lambda: self._listener.on_exit(status or ExitStatus.of(-signal.SIGKILL)))

    async def _part_from_program(self) -> None:
        """Part from a program that was killed while lldb held it; else the one that held it has died.

        There is a server behind lldb-dap, too, when nobody has asked for one."""
        status = None
        if not await self._was_server_killed() and self._watched is not None:
            await asyncio.wait([self._watched.ended], timeout=DYING)
            if self._watched is not None and not self._watched.is_alive:
                status = self._watched.ended.result() or ExitStatus.of(-signal.SIGKILL)
        if status is not None:
            self._finish_program(lambda: self._listener.on_exit(status))
        else:
            self._lose_program("the debug server (lldb-server) ended unexpectedly")

    async def _was_server_killed(self) -> bool:
        server = self._conversation.server or self._inner_server
        if server is not None:
            await asyncio.wait([server.ended], timeout=SERVER_NEWS)
        own, inner = self._conversation.server, self._inner_server  # either may have been closed meanwhile
        if own is not None:
            return not own.is_alive and own.ended.result() < 0
        status = inner.ended.result() if inner and not inner.is_alive else None
        return status is not None and status.signal is not None

    async def on_exited(self, code: int | None) -> None:
        is_cut_off = code == NO_CONNECTION and not self._program.is_detached
        await (self._part_from_program() if is_cut_off else super().on_exited(code))

    async def close(self) -> None:
        watched, self._inner_server, self._watched = (self._inner_server, self._watched), None, None
        for each in watched:
            if each is not None:
                each.close()
        await super().close()
