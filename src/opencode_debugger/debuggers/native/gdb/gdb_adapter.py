"""gdb, which speaks DAP from version 14 on; and programs that its gdbserver runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

from ....errors import RelayError
from ... import trusted_gdb
from ...python.attach.attach_target import has_ptrace_capability, ptrace_scope
from ...registry import DebuggerSetup
from ...shapes import Asked, AttachSpec, ExceptionRule, Groups, LaunchSpec
from .. import elf_files, rust_toolchain
from ..debugger_process import CREATED, ERRORS, INPUT, OUTPUT, REDIRECTED, Streams, under_gdbserver
from ..native_adapter import HARMLESS_SIGNALS, NativeAdapter, NativeSources, StartRequest, program_of
from ..native_children import Hold, NativeArrival, tell_spawned
from ..native_conversation import NativeConversation
from ..native_memory import RawMemory
from ..native_program import NativeProgram, Origin, set_done
from .gdb_breakpoints import GdbBreakpoints, GdbExceptions
from .gdb_inspection import GdbDataBreakpoints, GdbInspection, GdbMemory
from .gdb_recording import GdbRecording
from .gdb_stops import GdbShutdown, GdbStopMachine

INSIDE = Path(__file__).with_name("inside")
LOAD = (
    "python import importlib.util, sys; "
    "spec = importlib.util.spec_from_file_location('ocdb', {path!r}, submodule_search_locations=[{folder!r}]); "
    "sys.modules['ocdb'] = importlib.util.module_from_spec(spec); spec.loader.exec_module(sys.modules['ocdb'])"
)
PRINTERS = "/usr/share/gdb/auto-load"
"""The folder in which a system keeps what shows the containers of C++."""
SETTINGS = (
    f"set exec-wrapper /bin/sh -c '{REDIRECTED}' sh",
    "set debuginfod enabled off",
    "set style enabled off",
    "set tcp auto-retry off",
    "maint set target-non-stop on",  # else servers get breakpoints only when their program stops
    "set unwind-on-signal on",
    "set unwind-on-timeout on",
    "set unwind-on-terminating-exception on",
    "set print frame-arguments none",
    "set breakpoint pending on",
    "set confirm off",
    "handle SIGSTOP stop nopass",
    f"set auto-load safe-path $debugdir:$datadir/auto-load:{PRINTERS}",  # some are built to run what any program names
    f"add-auto-load-scripts-directory {PRINTERS}",
    f"handle {' '.join(HARMLESS_SIGNALS)} nostop noprint pass",
)
MOST_CHILDREN = 32
"""Children that are debugged at once: each takes a gdb."""


class GdbSources(NativeSources):
    async def has_module(self, path: str) -> bool:
        return self._program.allows("inspect") and bool(await self._conversation.call_inside("sources", path=path))


class GdbAdapter(NativeAdapter):
    serving = "gdbserver HOST:PORT PROGRAM"
    capabilities = NativeAdapter.capabilities | {"reverse"}
    control: GdbStopMachine
    breakpoints: GdbBreakpoints
    _shutdown: GdbShutdown

    def __init__(self, setup: DebuggerSetup) -> None:
        program, listener = NativeProgram("gdb", setup.session_id), setup.listener
        conversation = NativeConversation(program, setup.timeout, setup.launch_timeout)
        exceptions = GdbExceptions(program, conversation)
        inspection = GdbInspection(program, conversation, exceptions)
        data = GdbDataBreakpoints(program, conversation, inspection, listener)
        breakpoints = GdbBreakpoints(program, conversation, listener, exceptions, data)
        stops = GdbStopMachine(program, conversation, listener, inspection, breakpoints, exceptions, data)
        shutdown = GdbShutdown(program, conversation, listener, stops)
        sources = GdbSources(program, conversation)
        memory = GdbMemory(conversation, inspection, RawMemory(conversation), data)
        recording = GdbRecording(program, conversation, stops)
        parts = (stops, breakpoints, inspection, sources, memory, recording, shutdown)
        super().__init__(program, conversation, listener, setup.paths["gdb"] or None, *parts)

    def _find_debugger(self) -> tuple[list[str], dict[str, str]]:
        gdb = trusted_gdb.find(self._path)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OPENCODE_"))}
        environment |= {**gdb.environment, **gdb.python, "SHELL": "/bin/sh", "LC_ALL": "C.UTF-8"}
        return [*gdb.command, "-q", "-nx", "-i", "dap"], environment

    async def check_launch(self, spec: LaunchSpec) -> None:
        await super().check_launch(spec)
        if spec.debug_subprocesses and (scope := ptrace_scope()) and not has_ptrace_capability():
            message = f"Children cannot be debugged: the system forbids it (kernel.yama.ptrace_scope is {scope})"
            advice = "sudo sysctl kernel.yama.ptrace_scope=0, or launch without debug_subprocesses"
            raise RelayError("NOT_SUPPORTED", message, parameter="debug_subprocesses", suggestion=advice)

    async def _prepare_debugger(self, program: str | None) -> None:
        conversation, server = self._conversation, self._conversation.server
        for command in SETTINGS:
            with contextlib.suppress(RelayError):  # some are newer than the oldest gdb that will do
                await conversation.run_command(command)
        await conversation.run_command(LOAD.format(path=str(INSIDE / "__init__.py"), folder=str(INSIDE)))
        if server is not None:
            await conversation.run_command("set sysroot /")  # else gdb has all files sent by the server
        held = [INPUT, OUTPUT, ERRORS] if self._program.pipes is not None and server is None else []
        await conversation.call_inside("begin", held=held)
        if not self._program.is_core:
            await conversation.call_inside("follow", hold=self._program.debugs_children)
        if program is not None:
            # Now, so that breakpoints find their places before the program runs.
            quoted = "".join("\\" + char if char in " \t\n\r\f\v\\'\"" else char for char in program)
            await conversation.run_command(f"file {quoted}")
            if self._program.is_rust and (folder := await asyncio.to_thread(rust_toolchain.printers)) is not None:
                await conversation.call_inside("load_printers", folder=folder)
            elif self._program.is_rust:
                self.warnings = [*self.warnings, rust_toolchain.MISSING]

    # Starting.

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str]) -> StartRequest:
        found = elf_files.read(spec.target)
        if spec.stop_on_entry and found is not None and found.is_stripped:
            self.control.is_starting = True
        stops = self.control.is_starting
        return StartRequest("launch", {"args": spec.args, "cwd": spec.cwd, "env": environment, "stopOnEntry": stops})

    def _core_request(self, spec: LaunchSpec) -> StartRequest:
        return StartRequest("attach", {"coreFile": spec.core})

    def _attach_request(self, spec: AttachSpec) -> StartRequest:
        there = {"pid": spec.pid} if spec.pid is not None else {"target": f"{spec.host}:{spec.port}"}
        return StartRequest("attach", there)

    async def _await_begun(self, request: StartRequest, begun: Asked, failure: str) -> None:
        try:
            await super()._await_begun(request, begun, failure)
        except RelayError as error:
            is_foreign_server = "target" in request.arguments and self._conversation.server is None
            if "does not support non-stop" not in error.message or not is_foreign_server:
                raise
            self.breakpoints.is_only_halted = True
            await self._conversation.run_command("maint set target-non-stop off")
            again = self._conversation.send(*request)
            await self._conversation.request("configurationDone", timeout=self._conversation.launch_timeout)
            await super()._await_begun(request, again, failure)

    def _start_server(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> StartRequest:
        instead_of_port = "-"
        command = under_gdbserver(trusted_gdb.find_server(self._path), instead_of_port, spec, environment)
        ended = self._shutdown.on_server_ended
        _, door = self._conversation.start_server(command, streams, spec.cwd, ended, self._on_server_said)
        return StartRequest("attach", {"target": door})

    def _on_server_said(self, text: str) -> None:
        server = self._conversation.server
        if server is not None and self.pid is None and (created := CREATED.search(server.said)):
            self._found_pid(int(created[1]))

    def _found_pid(self, pid: int) -> None:
        super()._found_pid(pid)
        self._shutdown.watch_program(pid)

    async def join(
        self, arrival: NativeArrival, pid: int, breakpoints: Groups, stop_on: list[ExceptionRule], *_: Any
    ) -> None:
        """Debug a child that is held. If this fails it has to be let go. It has its environment already."""
        program = self._program
        await self._forget_last_program()
        program.marker, program.pid, program.origin = arrival.elder.marker, pid, Origin.CHILD
        program.debugs_children = True
        self._shutdown.join_family(arrival.elder)
        self.control.expect_halt()
        try:
            await self._open_conversation(None)
            await self._recognise_language(program_of(pid))
            await self._prepare_debugger(program_of(pid))
            await self._shake_hands(StartRequest("attach", {"pid": pid}), breakpoints, stop_on, "ATTACH_FAILED")
            if not await self.control.await_halt(self._conversation.launch_timeout) or arrival.hold is None:
                raise RelayError("ATTACH_FAILED", "gdb did not halt it")
            self.control.end_halt()
            address, code = arrival.hold.address, arrival.hold.code.hex()
            await self._conversation.call_inside("release", address=address, code=code)
            arrival.hold, program.is_joined = None, True
            await self.control.go_on_quietly(1)
        except BaseException:
            program.is_detached = True
            await self._shutdown.close()
            self._shutdown.leave_family()
            raise

    # What gdb says.

    def _on_said(self, body: dict[str, Any]) -> None:
        if "During startup program" in body.get("output", ""):
            self._program.startup_problem = f"The program could not be started: {body['output'].strip()}"

    def _on_own(self, body: dict[str, Any]) -> None:
        match body["kind"]:
            case "begun":
                set_done(self._program.started)
            case "hit":
                self.breakpoints.hit_numbers.add(body["number"])
            case "refused":  # a step, after it was answered
                self._conversation.spawn(self.control.on_step_refused(body["thread"], body["error"]))
            case "forked":
                self._on_forked(body)
            case "exec":
                self._listener.on_exec(self.describe_target())
            case "log":
                self._listener.on_hits({body["number"]: body["hits"]})
                self._listener.on_log(body["number"], body["text"])
            case "condition_error":
                self._listener.on_condition_error(body["number"], body["error"], body.get("of_exception", False))

    def _on_forked(self, told: dict[str, Any]) -> None:
        """Tell the session of a child. One that is held gets a gdb of its own: within one gdb it would share stops,
        breakpoints and threads with its parent."""
        pid, ppid, why_not = told["pid"], told["ppid"], told.get("why_not")
        elder = self._shutdown.elder
        if "address" in told:
            hold = Hold(pid, told["address"], bytes.fromhex(told["code"]), ppid if told["shares"] else None)
            if len(elder.young) < MOST_CHILDREN and not elder.is_ending:
                self._listener.on_child(NativeArrival(hold, ppid, elder))
                return
            hold.undo()
            why_not = f"{MOST_CHILDREN} children are debugged already, which is the most at once"
        if self._program.is_attached:
            why_not = "children of a program that was attached to are not debugged"
        self._conversation.spawn(tell_spawned(self._listener.on_spawned, pid, ppid, why_not))
