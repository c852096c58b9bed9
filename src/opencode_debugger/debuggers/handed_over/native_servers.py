"""Native programs under gdbserver or lldb-server, whose protocol goes to the tunnel's client and back unchanged."""

from __future__ import annotations

import asyncio
import contextlib

from ...errors import RelayError
from .. import trusted_gdb
from ..native import elf_files
from ..native.debugger_process import Helper, Streams, by_lines, under_gdbserver
from ..native.lldb import lldb_program
from ..process.foreign_process import Watched
from ..process.proc_files import state_letter
from ..process.program_process import ExitStatus, end_others, program_environment
from ..registry import DebuggerSetup
from ..shapes import LaunchSpec
from .handed_over_adapter import HandedOverAdapter
from .server_lines import Line, PtyLine, SocketLine
from .tunnel_client import DAP

HELD = b"t"
"""The state of a process that a debugger holds."""
PARTING = 1.0
"""Seconds for a debug server to tell its client of the program's end."""
TOGETHER = 0.2
"""Seconds between the death of a debug server and that of the program that it takes along."""


class NativeServerAdapter(HandedOverAdapter):
    protocol = "gdb-remote"
    gone = "The debugger that was connected before has let go of this program: it runs without one"
    foreign = (DAP,)
    not_spoken = (
        "This tunnel speaks gdb's remote protocol, not DAP: connect gdb with target remote, or lldb with gdb-remote"
    )

    def __init__(self, setup: DebuggerSetup) -> None:
        super().__init__("gdbserver", setup)
        self._paths = {"gdbserver": setup.paths["gdb"] or None, "lldb-server": setup.paths["lldb"] or None}
        self._server: Helper | None = None
        self._program: Watched | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def check_launch(self, spec: LaunchSpec) -> None:
        self.name = spec.server or {"gdb": "gdbserver", "lldb": "lldb-server"}[spec.adapter]
        if spec.core is not None:
            message = "A core file is not run: there is nothing for a debug server to do"
            advice = "Launch without tunnel_only, or open the core file in gdb itself"
            raise RelayError("NOT_SUPPORTED", message, suggestion=advice)
        find_server = trusted_gdb.find_server if self.name == "gdbserver" else lldb_program.find_server
        find_server(self._paths[self.name])
        elf_files.check(spec.target, runs=True)

    async def _start_program(self, spec: LaunchSpec) -> None:
        await self._close_all()
        environment = program_environment(spec, self._session_id)
        environment |= by_lines(spec.target, environment) if spec.line_buffered else {}
        streams = Streams()
        try:
            self._server, self._line = server, line = self._start_server(spec, environment, streams)
            self._pipes = pipes = streams.pipes(server.pid, self._listener.on_output)
            self.pid = pid = await line.wait_for_program(server, self._timeout)
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{self.name} could not be started: {error}") from error
        finally:
            streams.close()
        self._program = Watched(pid)
        task = asyncio.get_running_loop().create_task(self._follow_program(self._program))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._listener.on_process(pid)
        with contextlib.suppress(RelayError):
            pipes.stdin.send(spec.stdin, spec.stdin_eof)

    def _start_server(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> tuple[Helper, Line]:
        """Start it on a line that only we have: a port would be open to everybody on this machine."""
        path, common = self._paths[self.name], (self._session_id, streams, self._server_ended)
        if self.name == "gdbserver":
            terminal = PtyLine(self._is_running)
            command, given = under_gdbserver(trusted_gdb.find_server(path), terminal.name, spec, environment)
            heard = terminal.hear_server
            return Helper(command, given, *common, cwd=spec.cwd, own_session=False, on_said=heard), terminal
        line = SocketLine(spec, environment)
        with line.theirs as theirs:
            return Helper(lldb_program.serving(path), environment, *common, theirs), line

    async def _follow_program(self, program: Watched) -> None:
        """Tell of the end of the program, or of the server that takes it along."""
        status = await program.ended
        if self._program is not program:
            return
        server = self._server
        if status is not None and status.signal == "SIGKILL" and server is not None:
            await asyncio.wait([server.ended], timeout=TOGETHER)
        self.drain()
        if server is not None and not server.is_alive and server.ended.result() < 0:
            killed = ExitStatus.of(server.ended.result()).signal
            self._listener.on_lost(f"the debug server ({self.name}) was killed by {killed}, and the program with it")
        else:
            self._listener.on_exit(status)
        self.pid = None
        if server is not None:
            await server.end(PARTING if self._turn.locked() else 0)
        await self._close_all()
        await end_others(self._session_id)

    def _server_ended(self) -> None:
        if self._line is not None:
            self._line.close()

    def _is_running(self) -> bool:
        return self.pid is not None and state_letter(self.pid) not in (HELD, None)

    async def terminate(self, grace: float) -> None:
        program = self._program
        if program is not None and program.is_alive:
            # One that its debugger holds does not hear a request.
            await program.end(0 if state_letter(program.pid) == HELD else grace)
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self, grace: float) -> None:
        await self.terminate(grace)
        await self._close_all()
        await end_others(self._session_id)

    async def _close_all(self) -> None:
        line, server, pipes, program = self._line, self._server, self._pipes, self._program
        self._line = self._server = self._pipes = self._program = None
        if server is not None:
            await server.end()
        if line is not None:
            line.close()
        if program is not None:
            program.close()
        if pipes is not None:
            pipes.drain()
            pipes.close()
