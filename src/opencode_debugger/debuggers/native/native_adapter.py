"""A native program under a debugger that speaks DAP: its life, and what gdb and lldb have in common of it.

Each of them gives the methods of `AdapterDialect`, and its own kind of those parts in which it differs."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ...dap.messages import Event
from ...errors import RelayError
from ..optional_features import BUSY, NATIVE_CAPABILITIES, NoTasksAndLocks
from ..process.program_process import program_environment
from ..process.standard_input import Stdin
from ..protocols import Listener, Recording
from ..rows import ModulePage, ModuleRow, ProgramRow
from ..shapes import UNTOLD, Asked, AttachSpec, ExceptionRule, Groups, LaunchSpec
from ..small_debugger import FilesOnly
from . import elf_files, rust_toolchain
from .dap_inspection import DapInspection
from .debugger_process import Command, Streams, by_lines
from .gdb.gdb_recording import recordable_environment
from .native_breakpoints import NativeBreakpoints
from .native_children import describe_process
from .native_conversation import NativeConversation, said_of
from .native_memory import NativeMemory
from .native_program import NativeProgram, Origin, set_done
from .native_shutdown import SERVER_NEWS, Shutdown
from .native_stops import StopMachine

HARMLESS_SIGNALS = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGCHLD",
                    "SIGCONT", "SIGWINCH", "SIGURG", "SIGIO")  # fmt: skip
"""Signals with which programs work: they are no crash, and go through without a stop."""


class StartRequest(NamedTuple):
    """The request with which the debugger gets its program: launch or attach."""

    command: str
    arguments: dict[str, Any]


@dataclass(eq=False)
class NativeSources(FilesOnly):
    """The modules that a native program has loaded; its source is in files only."""

    _program: NativeProgram
    _conversation: NativeConversation

    async def modules(self, offset: int, limit: int, filter: str | None) -> ModulePage:
        listed = (await self._conversation.request("modules"))["modules"]
        wanted = (filter or "").lower()
        found: list[ModuleRow] = [
            {"name": os.path.basename(each["name"]), "path": each.get("path"), "version": each.get("version")}
            for each in listed
            if wanted in (each.get("path") or each["name"]).lower()
        ]
        return {"modules": found[offset : offset + limit], "total": len(found), "has_more": offset + limit < len(found)}

    async def has_module(self, path: str) -> bool:
        return False


class AdapterDialect(Protocol):
    """How each debugger is started, and gets its program."""

    def _find_debugger(self) -> Command:
        """Return the debugger's command and environment; raise where there is none that can do it."""

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str]) -> StartRequest: ...
    def _core_request(self, spec: LaunchSpec) -> StartRequest: ...
    def _attach_request(self, spec: AttachSpec) -> StartRequest: ...
    def _start_server(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> StartRequest:
        """Start the debug server under which the program is to run, and return how it is reached."""


@dataclass(eq=False)
class NativeAdapter(AdapterDialect):
    serving = ""
    """the command with which a program is served on another machine"""
    capabilities = NATIVE_CAPABILITIES
    is_undebugged = False
    busy = BUSY
    """why a pause may take its time"""

    _program: NativeProgram
    _conversation: NativeConversation
    _listener: Listener
    _path: str | None
    """the debugger that the settings name"""
    control: StopMachine
    breakpoints: NativeBreakpoints
    inspection: DapInspection
    sources: NativeSources
    memory: NativeMemory
    recording: Recording
    _shutdown: Shutdown

    def __post_init__(self) -> None:
        program, conversation, listener, shutdown = self._program, self._conversation, self._listener, self._shutdown
        self.warnings: list[str] = []
        self.tasks_and_locks = NoTasksAndLocks(program.refusal)
        self.refusal = program.refusal
        self.drain, self.settle = shutdown.drain, shutdown.settle
        self.detach, self.terminate, self.end = shutdown.detach, shutdown.terminate, shutdown.end
        self._handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "initialized": lambda body: set_done(program.initialized),
            "process": self._on_process,
            "stopped": self.control.on_stopped,
            "continued": self.control.on_continued,
            "thread": lambda body: None if program.is_over else listener.on_thread(body["reason"], body["threadId"]),
            "module": lambda body: listener.on_module(body["reason"], body["module"]),
            "breakpoint": self.breakpoints.on_breakpoint,
            "exited": lambda body: conversation.spawn(shutdown.on_exited(body.get("exitCode"))),
            "terminated": lambda body: conversation.spawn(shutdown.on_terminated()),
            "output": self._on_said,
            "ocdb": self._on_own,
        }

    # Each in its own way, where it has one.

    async def _prepare_debugger(self, program: str | None) -> None:
        """Send settings, before anything is launched."""

    def _check_target(self, spec: AttachSpec) -> None:
        """Raise if a process cannot be attached to, as far as that shows from outside."""
        if spec.pid is not None:
            from ..python.attach.attach_target import require_attachable

            require_attachable(spec.pid, native=True)

    def _found_pid(self, pid: int) -> None:
        is_new = self._program.pid != pid
        self._program.pid = pid
        if is_new and not self._program.is_attached:
            self._listener.on_process(pid)

    def _on_said(self, body: dict[str, Any]) -> None:
        """Hear the debugger's own chatter: the program's output comes through its pipes."""

    def _on_own(self, body: dict[str, Any]) -> None:
        """Hear our own code inside the debugger."""

    # Facts about it.

    @property
    def name(self) -> str:
        return self._program.debugger

    @property
    def pid(self) -> int | None:
        return self._program.pid

    @property
    def program_pid(self) -> int | None:
        """The process of a live program that we started."""
        return self.pid if self._program.pipes is not None and not self._program.is_over else None

    @property
    def stdin(self) -> Stdin | None:
        """The input of a program that we started: that of another is not ours to write to."""
        return self._program.pipes.stdin if self._program.pipes is not None else None

    def describe_target(self) -> ProgramRow:
        """Return what there is to know of a program that we attached to."""
        return {} if self.pid is None else describe_process(self.pid)

    def held_by_another(self) -> str | None:
        return None

    # Starting.

    async def check_interpreter(self, path: str) -> None:
        """Do nothing: native programs have none."""

    def use_interpreter(self, path: str) -> None:
        """Do nothing: native programs have none."""

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Check everything that can be known before the program starts."""
        try:
            await asyncio.to_thread(self._find_debugger)
        except RelayError as error:
            raise RelayError("LAUNCH_FAILED", error.message, **error.details) from error
        elf_files.check(spec.target, runs=spec.core is None)
        if spec.core:
            elf_files.check_core(spec.core)
        if spec.stop_scope == "thread":
            raise _all_threads(self._program.kind)

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        program = self._program
        await self._forget_last_program()
        program.debugger = spec.server or program.kind
        program.debugs_children = spec.debug_subprocesses
        self.warnings = elf_files.warnings(spec.target)
        await self._recognise_language(spec.target)
        if spec.core:
            self.warnings += elf_files.core_warnings(spec.core, spec.target)
        environment = program_environment(spec, program.marker)
        environment |= by_lines(spec.target, environment) if spec.line_buffered else {}
        environment |= recordable_environment(environment) if spec.recordable else {}
        streams = None if spec.core else Streams()
        try:
            await self._open_conversation(None if spec.server else streams)
            program.origin = Origin.CORE if spec.core else Origin.LAUNCHED
            if spec.core or spec.server:
                self.control.is_starting = True
            request = self._open_pipes(spec, environment, streams) if streams is not None else self._core_request(spec)
            await self._prepare_debugger(spec.target)
            self.control.stops_on_entry = spec.stop_on_entry and not spec.core
            await self._shake_hands(request, breakpoints, stop_on, "LAUNCH_FAILED")
        finally:
            if streams is not None:  # by now, whoever was to have them has them
                streams.close()
            if self._conversation.door is not None:
                self._conversation.door.close()

    def _open_pipes(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> StartRequest:
        """Prepare the program's start, by the debugger or its server, and give it its input."""
        how = (spec, environment)
        request = self._start_server(*how, streams) if spec.server else self._launch_request(*how)
        owner = self._conversation.server or self._conversation.debugger
        assert owner is not None
        self._program.pipes = pipes = streams.pipes(owner.pid, self._listener.on_output)
        with contextlib.suppress(RelayError):
            pipes.stdin.send(spec.stdin, spec.stdin_eof)
        return request

    async def _recognise_language(self, program: str | None) -> None:
        """Find out the language of a program, as far as it makes a difference here."""
        self._program.is_rust = program is not None and await asyncio.to_thread(rust_toolchain.is_rust, program)

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._forget_last_program()
        if spec.stop_scope == "thread":
            raise _all_threads(self._program.kind)
        self._program.debugger = spec.server or self._program.kind
        self._check_target(spec)
        program = spec.program or program_of(spec.pid)
        self.warnings = elf_files.warnings(program) if program else []
        await self._recognise_language(program)
        await self._open_conversation(None)
        await self._prepare_debugger(program)
        self._program.origin = Origin.ATTACHED
        self.control.is_starting = True
        self._program.pid = spec.pid
        try:  # who listens at a port may be anybody
            async with asyncio.timeout(spec.connect_timeout if spec.port else None):
                await self._shake_hands(self._attach_request(spec), breakpoints, stop_on, "ATTACH_FAILED")
        except TimeoutError as error:
            self._program.origin = Origin.NOTHING  # there is nothing to be let go
            await self._shutdown.close()
            said = f"What listens at {spec.host}:{spec.port} timed out: it did not answer as {self.name} does"
            raise self._not_begun("ATTACH_FAILED", said) from error

    async def join(self, *_: Any) -> None:
        raise RelayError("NOT_SUPPORTED", f"{self._program.kind} does not debug the children of a program")

    async def _forget_last_program(self) -> None:
        """Wait until what it left running has ended, by the marker that the next one will carry too."""
        await self._shutdown.await_sweeping()
        await self._shutdown.close()
        self._reset_parts()

    def _reset_parts(self) -> None:
        parts = (self._program, self._conversation, self.control, self.breakpoints, self.inspection, self._shutdown)
        for part in parts:
            part.reset()

    async def _open_conversation(self, streams: Streams | None) -> None:
        command = await asyncio.to_thread(self._find_debugger)
        await self._conversation.open(command, streams, self._on_event, self._shutdown.on_debugger_ended)

    async def _shake_hands(
        self, request: StartRequest, breakpoints: Groups, stop_on: list[ExceptionRule], failure: str
    ) -> None:
        """Do the handshake. `configurationDone` lets the program run."""
        program, conversation, patience = self._program, self._conversation, self._conversation.launch_timeout
        begun = conversation.send(*request)
        either: list[asyncio.Future[Any]] = [program.initialized, begun]
        await asyncio.wait(either, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if begun.done() and not program.initialized.done():
            await self._await_begun(request, begun, failure)
            await asyncio.wait([program.initialized], timeout=patience)
        for path, group in breakpoints.items():
            for bp, bound in zip(group, await self.breakpoints.set_breakpoints(path, group), strict=True):
                self._listener.on_bound(bp.number, bound)
        await self.control.prepare_entry()
        await self.breakpoints.set_exceptions(stop_on)
        await conversation.request("configurationDone", timeout=patience)
        await self._await_begun(request, begun, failure)
        waited: list[asyncio.Future[Any]] = [program.started, program.ended]
        await asyncio.wait(waited, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if not program.started.done():
            raise self._not_begun(failure, program.startup_problem or "The program did not start")

    async def _await_begun(self, request: StartRequest, begun: Asked, failure: str) -> None:
        try:
            await self._conversation.answer(request.command, begun, self._conversation.launch_timeout)
        except RelayError as error:
            said, server = said_of(error) or error.message, self._conversation.server
            if server is not None:
                await asyncio.wait([server.ended], timeout=SERVER_NEWS)
                if not server.is_alive and (status := server.ended.result()) != 0:
                    said = f"{self.name} did not start the program: {server.said.strip()[-500:] or status}"
            raise self._not_begun(failure, said) from error

    def _not_begun(self, failure: str, said: str) -> RelayError:
        if self._program.is_core:
            return RelayError(failure, ". ".join([said, *self.warnings]), status=400, debugger=self.name)
        if failure == "LAUNCH_FAILED":
            return RelayError(failure, said, debugger=self.name)
        if "refused" in said or "timed out" in said:
            code = "ATTACH_REFUSED" if "refused" in said else "ATTACH_TIMEOUT"
            return RelayError(code, said, suggestion=f"Start the target with: {self.serving}")
        again = "See that it is alive and yours, then attach again"
        return RelayError(failure, said, debugger=self.name, suggestion=again)

    # What the debugger says.

    def _on_event(self, event: Event) -> None:
        body = event.body or {}
        if event.event in self._handlers:
            self._handlers[event.event](body)
        elif event.event not in UNTOLD:
            self._listener.on_event(event.event, body)

    def _on_process(self, body: dict[str, Any]) -> None:
        if body.get("systemProcessId"):
            self._found_pid(body["systemProcessId"])


def program_of(pid: int | None) -> str | None:
    try:
        path = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
    return path if os.path.isfile(path) else None


def _all_threads(debugger: str) -> RelayError:
    said = f"{debugger} halts all threads of a program together: stop_scope thread is not offered"
    return RelayError("NOT_SUPPORTED", said, suggestion='Leave stop_scope out, or use "all"')
