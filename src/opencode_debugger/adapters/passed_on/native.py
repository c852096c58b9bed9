"""Native programs under gdbserver or lldb-server, whose protocol goes to the tunnel's client and back unchanged."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from ...errors import RelayError
from .. import gdb_program
from ..base import LaunchSpec, Listener
from ..environment import program_environment
from ..native import elf, lldb_program
from ..native.buffering import by_lines
from ..native.process import Helper, Streams, under_gdbserver
from ..processes import ExitStatus, Pipes, end_others
from ..stdin import Stdin
from ..watched import Watched
from . import strangers
from .adapter import PassedOn
from .client import Client
from .lines import Line, PtyLine, SocketLine

SPEAKS_GDB = (
    "This tunnel speaks gdb's remote protocol, not DAP: connect gdb with target remote, or lldb with gdb-remote"
)
LET_GO = "The debugger that was connected before has let go of this program: it runs without one"
PARTING = 1.0
"""Seconds for a debug server to tell its client of the program's end."""
TOGETHER = 0.2
"""Seconds between the death of a debug server and that of the program that it takes along."""


class NativePassedOn(PassedOn):
    protocol = "gdb-remote"

    def __init__(self, session_id: str, listener: Listener, timeout: float, gdb_path: str, lldb_path: str) -> None:
        super().__init__(session_id, listener, timeout)
        self.name = "gdbserver"
        self._paths = {"gdbserver": gdb_path, "lldb-server": lldb_path}
        self._server: Helper | None = None
        self._line: Line | None = None
        self._pipes: Pipes | None = None
        self._program: Watched | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def check_launch(self, spec: LaunchSpec) -> None:
        self.name = spec.server or {"gdb": "gdbserver", "lldb": "lldb-server"}[spec.adapter]
        if spec.core is not None:
            raise RelayError(
                "NOT_SUPPORTED",
                "A core file is not run: there is nothing for a debug server to do",
                suggestion="Launch without tunnel_only, or open the core file in gdb itself",
            )
        self._find()
        elf.check(spec.target, runs=True)

    def _find(self) -> str:
        find_server = gdb_program.find_server if self.name == "gdbserver" else lldb_program.find_server
        return find_server(self._path)

    @property
    def _path(self) -> str | None:
        return self._paths[self.name] or None

    async def _start(self, spec: LaunchSpec) -> None:
        await self._close()
        environment = program_environment(spec, self._session_id)
        environment |= by_lines(spec.target, environment) if spec.line_buffered else {}
        streams = Streams()
        start = self._under_gdbserver if self.name == "gdbserver" else self._under_lldb_server
        try:
            self._server, self._line = start(spec, environment, streams)
            self._pipes = streams.pipes(self._server.pid, self._listener.on_output)
            pid = await self._line.begin(self._server, self._timeout)
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{self.name} could not be started: {error}") from error
        finally:
            streams.handed_over()
            streams.close()
        self.pid = pid
        self._program = Watched(pid)
        self._later(self._follow(self._program))
        self._listener.on_process(pid)
        with contextlib.suppress(RelayError):
            self._pipes.stdin.send(spec.stdin, spec.stdin_eof)

    def _under_gdbserver(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> tuple[Helper, Line]:
        """It reads and writes a terminal that only we have: a port would be open to everybody on this machine."""
        line = PtyLine()
        command, given = under_gdbserver(self._find(), line.name, spec, environment)
        return Helper(
            command, given, self._session_id, streams, self._server_ended, cwd=spec.cwd, own_session=False
        ), line

    def _under_lldb_server(
        self, spec: LaunchSpec, environment: dict[str, str], streams: Streams
    ) -> tuple[Helper, Line]:
        line = SocketLine([spec.target, *spec.args], spec.cwd, environment)
        command = lldb_program.serving(self._path)
        with line.theirs as theirs:
            return Helper(command, environment, self._session_id, streams, self._server_ended, theirs), line

    def _later(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # How it goes.

    async def _follow(self, program: Watched) -> None:
        """The end of the program, or of the server that takes it along."""
        status = await program.ended
        if self._program is not program:
            return
        server = self._server
        if status is not None and status.signal == "SIGKILL" and server is not None:
            await asyncio.wait([server.ended], timeout=TOGETHER)
        self.drain()
        killed = _signal_of(server)
        if killed is not None:
            self._listener.on_lost(f"the debug server ({self.name}) was killed by {killed}, and the program with it")
        else:
            self._listener.on_exit(status)
        self.pid = None
        if server is not None:
            await server.end(PARTING if self._turn.locked() else 0)
        await self._close()
        await end_others(self._session_id)

    def _server_ended(self) -> None:
        if self._line is not None:
            self._line.close()

    async def _carry(self, client: Client) -> None:
        line = self._line
        if line is None or line.is_closed:
            await strangers.turn_away(client, LET_GO)
            return
        first = await client.read()
        if first.startswith(strangers.DAP):
            await strangers.turn_away(client, SPEAKS_GDB, first)
        elif first:
            try:
                await line.carry(first, client)
            finally:
                await line.hang_up(self._is_running)

    def _is_running(self) -> bool:
        return self.pid is not None and state_of(self.pid) not in ("t", "")

    @property
    def stdin(self) -> Stdin | None:
        return self._pipes.stdin if self._pipes is not None else None

    def drain(self) -> None:
        if self._pipes is not None:
            self._pipes.drain()

    async def detach(self) -> None:
        raise self.refusal("detach")

    async def terminate(self, grace: float) -> None:
        program = self._program
        if program is not None and program.is_alive:
            # One that its debugger holds does not hear a request.
            await program.end(0 if state_of(program.pid) == "t" else grace)
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self, grace: float) -> None:
        await self.terminate(grace)
        await self._close()
        await end_others(self._session_id)

    async def _close(self) -> None:
        line, self._line = self._line, None
        server, self._server = self._server, None
        pipes, self._pipes = self._pipes, None
        program, self._program = self._program, None
        if server is not None:
            await server.end()
        if line is not None:
            line.close()
        if program is not None:
            program.close()
        if pipes is not None:
            pipes.drain()
            pipes.close()


def _signal_of(server: Helper | None) -> str | None:
    """By which somebody ended it."""
    if server is None or server.is_alive or server.ended.result() >= 0:
        return None
    return ExitStatus.of(server.ended.result()).signal


def state_of(pid: int) -> str:
    """As the system shows it: t is held by a debugger."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]
    return ""
