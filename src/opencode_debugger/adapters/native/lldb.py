"""lldb, by way of lldb-dap; and programs that its lldb-server runs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

from ..base import AttachSpec, LaunchSpec
from ..processes import ExitStatus, tracer_of
from ..watched import Watched
from . import core_file, lldb_program
from .adapter import SERVER_NEWS
from .children import watch_spawned
from .lldb_looking import LONGEST_TEXT
from .lldb_marks import LldbMarks
from .lldb_prologues import quoted
from .lldb_stopping import LldbStopping
from .looking import Frame
from .process import ERRORS, INPUT, OUTPUT, Helper, Streams
from .signals import QUIET
from .talking import GRACE, done

SYSTEM_LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
                    "libstdc++.so.6", "libgcc_s.so.1")  # fmt: skip
OTHERS = ("PYTHON", "OPENCODE_", "LLDB_", "DEBUGINFOD_")
"""What lldb must not be told by the environment: debuginfod would have it ask servers for symbols."""
LOADING = "command script import {}"
SETTINGS = (
    "settings set target.inherit-env false",
    "settings set target.auto-apply-fixits false",  # else lldb evaluates another expression than the one that was asked
    "settings set target.process.stop-on-exec false",
    f"settings set target.max-string-summary-length {LONGEST_TEXT}",
    # Their debug information may be installed, their source is not: a step would lead to where nothing is to be seen.
    "settings set target.process.thread.step-avoid-libraries " + " ".join(SYSTEM_LIBRARIES),
    LOADING.format(quoted(str(Path(__file__).with_name("lldb_containers.py")))),
)
SHOWING_RUST = LOADING.format(quoted(str(Path(__file__).with_name("lldb_rust.py"))))
PASSED = f"process handle --pass true --stop false --notify false {' '.join(QUIET)}"
CONNECTED = (
    "script import time; [time.sleep(0.005) for _ in range(1000) "
    "if lldb.debugger.GetSelectedTarget().process.state != lldb.eStateConnected]",
    "platform shell true",
)
"""Until lldb has noticed that it is connected, it refuses to launch; the second is for an lldb without Python."""
LAST_PACKET = re.compile(r"read packet: \$([WX])([0-9a-f]{2})[;#]")
LOCAL = ("localhost", "127.0.0.1", "::1")
SERVER_DIED = "the debug server (lldb-server) ended unexpectedly"
DYING = 0.2
"""Seconds until the end of a program is seen that has died."""
NO_CONNECTION = -1
"""The exit code that is told of a program whose debug server has died."""


class LldbAdapter(LldbStopping):
    kind = "lldb"
    serving = "lldb-server gdbserver HOST:PORT -- PROGRAM"
    more = LldbStopping.more | {"instruction_steps", "exception_classes"}

    def _reset(self) -> None:
        super()._reset()
        self._inner_server: Watched | None = None
        """the lldb-server that lldb-dap has started for itself"""
        self._program: Watched | None = None
        """if it runs on this machine"""
        self._fault: tuple[int, str] | None = None

    def _make_marks(self) -> LldbMarks:
        return LldbMarks(self._request, self._listener.on_rebound, self._line)

    def _find(self) -> tuple[list[str], dict[str, str]]:
        # Its Python must not look for modules where ours are, and the user's .lldbinit could change anything.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        return [lldb_program.find(self._path), "--repl-mode", "command"], {**environment, "HOME": "/nonexistent"}

    # Starting.

    async def check_launch(self, spec: LaunchSpec) -> None:
        await super().check_launch(spec)
        if spec.server is not None:
            lldb_program.find_server(self._path)

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str]) -> tuple[str, dict[str, Any]]:
        assert self._helper is not None
        return "launch", self._launching(spec, environment, self._helper)

    def _launching(self, spec: LaunchSpec, environment: dict[str, str], holder: Helper, *before: str) -> dict[str, Any]:
        """lldb opens the program's streams itself, by way of a process that has them."""
        self._is_starting = True
        streams = {"input": INPUT, "output": OUTPUT, "error": ERRORS}
        opening = [f"settings set target.{name}-path /proc/{holder.pid}/fd/{fd}" for name, fd in streams.items()]
        return {
            **self._common(spec.target),
            "args": spec.args,
            "cwd": spec.cwd,
            "env": [f"{name}={value}" for name, value in environment.items()],
            "preRunCommands": [*opening, PASSED, *before],
        }

    def _common(self, program: str | None) -> dict[str, Any]:
        values = [SHOWING_RUST] if self._is_rust else []
        named = {"program": program} if program else {}
        return named | {
            "initCommands": [*SETTINGS, *values],
            "preRunCommands": [PASSED],
            "stopOnEntry": True,
            "enableAutoVariableSummaries": True,
        }

    def _serve(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> tuple[str, dict[str, Any]]:
        """The server starts the program when it is told to, since only so it can be given streams."""
        _, own = self._find()
        server, door = self._start_server(lldb_program.serving(self._path), own, streams, "/")
        connect = f"process connect --plugin gdb-remote unix-connect://{door}"
        return "launch", self._launching(spec, environment, server, connect, *CONNECTED)

    def _core_request(self, spec: LaunchSpec) -> tuple[str, dict[str, Any]]:
        assert spec.core is not None
        self._fault = core_file.fault(spec.core)
        return "attach", {**self._common(spec.target), "coreFile": spec.core}

    def _attach_request(self, spec: AttachSpec) -> tuple[str, dict[str, Any]]:
        common = self._common(spec.program)
        if spec.pid is not None:
            return "attach", {**common, "pid": spec.pid}
        return "attach", {**common, "gdb-remote-port": spec.port, "gdb-remote-hostname": spec.host}

    def _check_target(self, spec: AttachSpec) -> None:
        """lldb tries for ten seconds; a look at who listens takes no connection away."""
        super()._check_target(spec)
        if spec.port is not None and spec.host in LOCAL:
            from ..debugpy.ports import Sockets

            if not Sockets().has_listener(spec.port):
                raise self._not_begun("ATTACH_FAILED", f"Connection refused: nobody listens on port {spec.port}")

    def _on_process(self, body: dict[str, Any]) -> None:
        if self._is_core:  # the number may be another process's by now
            done(self._started)
            return
        super()._on_process(body)
        server = None if self.pid is None or self._program is not None else tracer_of(self.pid)
        if self.pid is None or server is None:
            return
        self._program = program = Watched(self.pid, is_kept=False)
        program.ended.add_done_callback(lambda _: self._program_ended(program))
        self._spawn(watch_spawned(self._listener.on_spawned, program))
        if self._server is None:
            self._inner_server = watched = Watched(server, is_kept=False)
            watched.ended.add_done_callback(lambda _: self._inner_ended(watched))

    def _inner_ended(self, watched: Watched) -> None:
        if self._inner_server is watched:  # else it was closed on purpose
            self._server_ended()

    def _program_ended(self, watched: Watched) -> None:
        """lldb tells that of a program that runs; of one that it holds, only when it is asked next."""
        if self._program is watched and not self._is_running and not self._asides:
            self._server_ended()

    async def _signal(self, place: Frame) -> tuple[int | None, str | None]:
        """Of a core file, lldb does not know the address."""
        number, address = await super()._signal(place)
        if self._fault is not None and self._fault[0] == number:
            address = self._fault[1] if address is None else address
        return number, address

    # The end.

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        """lldb-dap tells the same of exit(11) and SIGSEGV; what came from the debug server is different."""
        packets = LAST_PACKET.findall(await self._line("process plugin packet history"))
        if packets and packets[-1][0] == "X":
            return ExitStatus.of(-int(packets[-1][1], 16))
        return await super()._exit_status(code)

    def _debugger_ended(self) -> None:
        """lldb-dap may crash when its program is ended: that is the end all the same."""
        if self._helper is not None and self._is_ending and self._program is not None:
            self._spawn(self._part_from_ended(self._program))
        else:
            super()._debugger_ended()

    async def _part_from_ended(self, program: Watched) -> None:
        await asyncio.wait([program.ended], timeout=DYING)
        status = program.ended.result() if program.ended.done() else None
        self._finish(lambda: self._listener.on_exit(status or ExitStatus.of(-signal.SIGKILL)))

    async def _without_server(self) -> None:
        """There is one behind lldb-dap, too, when nobody has asked for it."""
        await asyncio.wait([self._ended], timeout=0.5)
        if not self._is_detached:
            await self._part()

    async def _part(self) -> None:
        """From a program that was killed while lldb held it; else the one that held it has died."""
        status = None
        if not await self._was_server_killed() and self._program is not None:
            await asyncio.wait([self._program.ended], timeout=DYING)
            if self._program is not None and not self._program.is_alive:
                status = self._program.ended.result() or ExitStatus.of(-signal.SIGKILL)
        if status is not None:
            self._finish(lambda: self._listener.on_exit(status))
        else:
            self._finish(lambda: self._listener.on_lost(SERVER_DIED))

    async def _was_server_killed(self) -> bool:
        server = self._server or self._inner_server
        if server is not None:
            await asyncio.wait([server.ended], timeout=SERVER_NEWS)
        if self._server is not None:
            return not self._server.is_alive and self._server.ended.result() < 0
        status = self._inner_server.ended.result() if self._inner_server and not self._inner_server.is_alive else None
        return status is not None and status.signal is not None

    async def _on_exited(self, code: int | None) -> None:
        if code == NO_CONNECTION and not self._is_detached:
            await self._part()
            return
        await super()._on_exited(code)

    async def _interrupt(self, seq: int, sent: Any) -> None:
        """Expressions have a time limit of their own here, and lldb-dap does not know `cancel`."""
        await asyncio.wait([sent], timeout=GRACE)

    async def _close(self) -> None:
        """Not by its own choice: lldb-dap crashes when it ends, which takes longer and leaves a core file."""
        watched, self._inner_server, self._program = (self._inner_server, self._program), None, None
        for each in watched:
            if each is not None:
                each.close()
        helper, self._helper = self._helper, None
        if helper is not None:
            await helper.end()
        await super()._close()
