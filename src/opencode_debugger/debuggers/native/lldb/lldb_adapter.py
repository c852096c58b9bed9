"""lldb, by way of lldb-dap; and programs that its lldb-server runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...optional_features import NoRecording
from ...registry import DebuggerSetup
from ...shapes import AttachSpec, LaunchSpec
from .. import elf_files
from ..debugger_process import ERRORS, INPUT, OUTPUT, Command, Streams
from ..native_adapter import HARMLESS_SIGNALS, NativeAdapter, NativeSources, StartRequest
from ..native_program import NativeProgram, set_done
from . import lldb_program
from .lldb_breakpoints import LldbBreakpoints
from .lldb_conversation import LldbConversation, quoted
from .lldb_exceptions import LldbExceptions, ThrowReader
from .lldb_inspection import LldbInspection
from .lldb_machine import LldbDataBreakpoints, LldbMemory, LldbRawMemory
from .lldb_shutdown import LldbShutdown
from .lldb_stops import LldbStopMachine
from .lldb_values import LONGEST_TEXT

INSIDE = Path(__file__).with_name("inside")
SETTINGS = (
    "settings set target.inherit-env false",
    "settings set target.auto-apply-fixits false",  # else lldb evaluates another expression than the one that was asked
    "settings set target.process.stop-on-exec false",
    f"settings set target.max-string-summary-length {LONGEST_TEXT}",
    # Their debug information may be installed, their source is not: a step would lead to where nothing is to be seen.
    "settings set target.process.thread.step-avoid-libraries libc.so.6 libm.so.6 libpthread.so.0 ld-linux-x86-64.so.2 "
    "ld-linux-aarch64.so.1 libstdc++.so.6 libgcc_s.so.1",
    f"command script import {quoted(str(INSIDE / 'lldb_containers.py'))}",
)
SHOWING_RUST = f"command script import {quoted(str(INSIDE / 'lldb_rust.py'))}"
PASSED = f"process handle --pass true --stop false --notify false {' '.join(HARMLESS_SIGNALS)}"
CONNECTED = (
    "script import time; [time.sleep(0.005) for _ in range(1000) "
    "if lldb.debugger.GetSelectedTarget().process.state != lldb.eStateConnected]",
    "platform shell true",
)
"""Until lldb has noticed that it is connected, it refuses to launch; the second is for an lldb without Python."""


class LldbAdapter(NativeAdapter):
    serving = "lldb-server gdbserver HOST:PORT -- PROGRAM"
    control: LldbStopMachine
    inspection: LldbInspection
    _shutdown: LldbShutdown

    def __init__(self, setup: DebuggerSetup) -> None:
        program, listener = NativeProgram("lldb", setup.session_id), setup.listener
        conversation = LldbConversation(program, setup.timeout, setup.launch_timeout)
        raw = LldbRawMemory(conversation)
        exceptions = LldbExceptions(program, conversation)
        inspection = LldbInspection(program, conversation, exceptions)
        data = LldbDataBreakpoints(program, conversation, inspection, listener)
        breakpoints = LldbBreakpoints(program, conversation, listener, exceptions, data)
        throws = ThrowReader(conversation, inspection, raw, exceptions)
        stops = LldbStopMachine(program, conversation, listener, inspection, breakpoints, exceptions, data, throws)
        sources, memory = NativeSources(program, conversation), LldbMemory(conversation, inspection, raw, data)
        recording, shutdown = NoRecording(program.refusal), LldbShutdown(program, conversation, listener, stops)
        parts = (stops, breakpoints, inspection, sources, memory, recording, shutdown)
        super().__init__(program, conversation, listener, setup.paths["lldb"] or None, *parts)

    def _find_debugger(self) -> Command:
        # Its Python must not look for modules where ours are, debuginfod would have it ask servers for symbols, and the
        # user's .lldbinit could change anything.
        others = ("PYTHON", "OPENCODE_", "LLDB_", "DEBUGINFOD_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        # A server that hangs up while lldb-dap writes to it would end that.
        outliving = ["/bin/sh", "-c", 'trap "" PIPE; exec "$@"', "sh"]
        command = [*outliving, lldb_program.find(self._path), "--repl-mode", "command"]
        return command, {**environment, "HOME": "/nonexistent"}

    # Starting.

    async def check_launch(self, spec: LaunchSpec) -> None:
        await super().check_launch(spec)
        if spec.server is not None:
            lldb_program.find_server(self._path)

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str], *before: str) -> StartRequest:
        """Have lldb open the program's streams itself, by way of a process that has them."""
        self.control.is_starting = True
        holder = self._conversation.server or self._conversation.debugger
        assert holder is not None
        streams = {"input": INPUT, "output": OUTPUT, "error": ERRORS}
        opening = [f"settings set target.{name}-path /proc/{holder.pid}/fd/{fd}" for name, fd in streams.items()]
        variables = [f"{name}={value}" for name, value in environment.items()]
        more = {"args": spec.args, "cwd": spec.cwd, "env": variables, "preRunCommands": [*opening, PASSED, *before]}
        return StartRequest("launch", {**self._common_arguments(spec.target), **more})

    def _common_arguments(self, program: str | None) -> dict[str, Any]:
        loaded = [*SETTINGS, SHOWING_RUST] if self._program.is_rust else [*SETTINGS]
        common = {"initCommands": loaded, "preRunCommands": [PASSED], "stopOnEntry": True}
        return common | {"enableAutoVariableSummaries": True} | ({"program": program} if program else {})

    def _start_server(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> StartRequest:
        """Have the server start the program when it is told to, since only so it can be given streams."""
        _, own = self._find_debugger()
        command = lldb_program.serving(self._path), own
        _, door = self._conversation.start_server(command, streams, "/", self._shutdown.on_server_ended)
        connect = f"process connect --plugin gdb-remote unix-connect://{door}"
        return self._launch_request(spec, environment, connect, *CONNECTED)

    def _core_request(self, spec: LaunchSpec) -> StartRequest:
        assert spec.core is not None
        self.inspection.core_fault = elf_files.core_fault(spec.core)
        return StartRequest("attach", {**self._common_arguments(spec.target), "coreFile": spec.core})

    def _attach_request(self, spec: AttachSpec) -> StartRequest:
        common = self._common_arguments(spec.program)
        remote = {"gdb-remote-port": spec.port, "gdb-remote-hostname": spec.host}
        return StartRequest("attach", common | (remote if spec.pid is None else {"pid": spec.pid}))

    def _check_target(self, spec: AttachSpec) -> None:
        """See who listens, which takes no connection away: lldb tries for ten seconds."""
        super()._check_target(spec)
        if spec.port is not None and spec.host in ("localhost", "127.0.0.1", "::1"):
            from ...python.attach.debugpy_ports import Sockets

            if not Sockets().has_listener(spec.port):
                raise self._not_begun("ATTACH_FAILED", f"Connection refused: nobody listens on port {spec.port}")

    # What lldb says.

    def _on_process(self, body: dict[str, Any]) -> None:
        if self._program.is_core:  # the number may be another process's by now
            set_done(self._program.started)
            return
        super()._on_process(body)
        self._shutdown.watch_processes()

    def _found_pid(self, pid: int) -> None:
        super()._found_pid(pid)
        set_done(self._program.started)

    def _on_said(self, body: dict[str, Any]) -> None:
        self.control.hear_complaints(body.get("output") or "")
