"""Debugs Python programs: debugpy inside the program is spoken to directly, with no adapter process in between."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from ...errors import RelayError
from ..optional_features import PYTHON_CAPABILITIES, NoMemory, refusal
from ..process.foreign_process import Watched
from ..process.standard_input import Stdin
from ..registry import DebuggerSetup
from ..shapes import AttachSpec, ExceptionRule, Groups, LaunchSpec
from .attach import attach_target, debugpy_ports, ways_in
from .attach.ways_in import AttachedByPid, AttachedByPort
from .breakpoint_ids import BreakpointIds
from .children.debugged_child import ChildArrival, DebuggedChild
from .debugpy_breakpoints import DebugpyBreakpoints
from .debugpy_connection import DebugpyConnection
from .debugpy_control import DebugpyControl
from .debugpy_inspection import DebugpyInspection, DebugpySources, PythonTasksAndLocks
from .debugpy_protocol import CLIENT, DebugOptions, debug_options
from .interpreters import interpreter as interpreters
from .interpreters.interpreter import SessionInterpreter
from .launch import spare_interpreter
from .launch import start_program as launching
from .launch.callback_socket import CallBack
from .launch.launched_program import LaunchedProgram
from .program_target import ProgramTarget
from .python_recording import PythonRecording

if TYPE_CHECKING:
    from ..rows import FileRow, ProgramRow


class DebugpyAdapter:
    name = "debugpy"
    is_undebugged = False
    busy = (
        "The program has not reached a new line: it is inside a long call, or in a loop of one line "
        "(Python 3.12 and newer). It pauses at its next line."
    )
    capabilities = PYTHON_CAPABILITIES

    def __init__(self, setup: DebuggerSetup) -> None:
        self._session_id = setup.session_id
        self._folder = setup.folder
        self._listener = setup.listener
        self._launch_timeout = setup.launch_timeout
        self._interpreter = SessionInterpreter(setup.interpreter, setup.asks_early)
        ids = BreakpointIds()
        self._connection = connection = DebugpyConnection(setup.listener, ids, setup.timeout, self._no_connection)
        self._launched = LaunchedProgram(setup.session_id, setup.listener, connection)
        self._target = ProgramTarget()
        self.breakpoints = DebugpyBreakpoints(connection, ids)
        self.control = DebugpyControl(connection, self.breakpoints)
        self.inspection = DebugpyInspection(connection, setup.spell)
        self.sources = DebugpySources(connection)
        self.tasks_and_locks = PythonTasksAndLocks(connection, setup.spell)
        self.memory = NoMemory(self.refusal)
        self.recording = PythonRecording(connection, setup.folder)
        self.pid: int | None = None
        self.warnings: list[str] = []

    def refusal(self, capability: str) -> RelayError:
        return refusal(self.name, capability)

    def _no_connection(self) -> RelayError:
        return RelayError("DEBUGPY_ERROR", "There is no connection to a debugger", status=502)

    # Before there is a program.

    async def check_interpreter(self, path: str) -> None:
        """Refuse what is no Python that can be debugged."""
        await interpreters.identify(path)

    def use_interpreter(self, path: str) -> None:
        self._interpreter = SessionInterpreter(path, asks_early=True)

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Refuse what can be known to fail before the program starts."""
        interpreter = await self._interpreter.identified(spec.interpreter)
        await interpreters.check_program(spec.kind, spec.target, interpreter)

    async def examine(self, path: str) -> FileRow:
        return await self._interpreter.examine(path)

    async def find_function(self, path: str, name: str) -> list[int]:
        return await self._interpreter.find_function(path, name)

    # How a program comes under it.

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        interpreter = await self._interpreter.identified(spec.interpreter)
        await self._launched.forget_last()
        self.breakpoints.clear()
        self._connection.forget()
        launched = self._target = self._launched
        async with CallBack(self._folder, self._connection.new_channel) as callback:
            environment = launching.launch_environment(spec, self._session_id, callback, launched.first_reference)
            command = launching.launch_command(interpreter.path, spec)
            spare = await spare_interpreter.CURRENT.take(command, spec, environment)
            program = launched.begin(command, spec, environment, spare)
            self.pid = program.pid
            self.recording.note_program(self.pid)
            channel = await launching.debugger_connection(callback, program, self._launch_timeout)
            self._connection.begin(channel, launched)
            if spec.debug_subprocesses:
                launched.welcome_children(callback)
        options = debug_options(spec.just_my_code, spec.stop_scope, stopOnEntry=spec.stop_on_entry)
        await self._configure("launch", options, breakpoints, stop_on, self._launch_timeout)

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        """Come to a program by its debugger's port, or by process id: then a debugger is brought into it first."""
        new_channel = self._connection.new_channel
        async with ways_in.translated_failures(spec):
            port = spec.port or debugpy_ports.debugpy_port(spec.pid or 0)
            if port is not None:
                by_port = self._target = AttachedByPort(port, self._listener, self._connection)
                async with asyncio.timeout(spec.connect_timeout):
                    channel = await ways_in.dial_port(new_channel, spec.host, port)
                    self._connection.begin(channel, by_port)
                    await self._configure_attached(spec, breakpoints, stop_on)
                return
            assert spec.pid is not None
            attach_target.require_attachable(spec.pid)
            process = Watched(spec.pid, is_kept=False)
            by_pid = self._target = AttachedByPid(process, self._listener, self._connection)
            async with ways_in.Injection(process, self._folder, new_channel) as injection:
                channel = await injection.debugger_connection(spec.gdb_path, spec.connect_timeout)
                self._connection.begin(channel, by_pid)
                async with asyncio.timeout(spec.connect_timeout):
                    await self._configure_attached(spec, breakpoints, stop_on)
                    await injection.await_done()

    async def join(
        self,
        arrival: ChildArrival,
        pid: int,
        breakpoints: Groups,
        stop_on: list[ExceptionRule],
        just_my_code: bool,
        stop_scope: str,
        environment: dict[str, str],
    ) -> None:
        """Take the debugger of a child, which waits for us. If this fails it has to be let go.

        `environment` is what the child finds in its own besides."""
        self.pid, above = pid, arrival.above
        self.recording.note_program(pid)
        child = self._target = DebuggedChild(
            arrival, Watched(pid), self._listener, self._connection, lambda: above.child_left(self)
        )
        above.children.add(self)
        try:
            await self._connection.call_aside("set_environment", variables=environment)
            options = debug_options(just_my_code, stop_scope)
            await self._configure("launch", options, breakpoints, stop_on, self._launch_timeout)
        except BaseException:
            child.forget()
            raise

    async def _configure_attached(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        options = debug_options(spec.just_my_code, spec.stop_scope)
        timeout = spec.connect_timeout or self._launch_timeout
        await self._configure("attach", options, breakpoints, stop_on, timeout)
        if spec.record is not None:
            await self.recording.record(True, spec.record)

    async def _configure(
        self, command: str, options: DebugOptions, breakpoints: Groups, stop_on: list[ExceptionRule], timeout: float
    ) -> None:
        """Go through the handshake, in the order that debugpy wants; `configurationDone` lets the program run."""
        link = self._connection.link
        await link.conversation.request("initialize", CLIENT, timeout=timeout)
        link.is_initialized = True
        started = link.channel.send(command, options)
        either: list[asyncio.Future[Any]] = [link.events.initialized, started]
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if command == "attach":
            await link.inside.load_code(self._launched.first_reference)
        self.breakpoints.clear()
        for path, group in breakpoints.items():
            for bp, bound in zip(group, await self.breakpoints.set_breakpoints(path, group), strict=True):
                self._listener.on_bound(bp.number, bound)
        await self.breakpoints.set_exceptions(stop_on)
        try:
            await link.conversation.request("configurationDone", timeout=timeout)
        except RelayError:
            if not self._target.has_ended:
                raise
            return  # it has run already, from beginning to end
        await asyncio.wait([started], timeout=timeout)
        if self.pid is None:
            self.pid = (await link.conversation.request("pydevdSystemInfo"))["process"]["pid"]
            self.recording.note_program(self.pid)

    # What is known of it.

    @property
    def stdin(self) -> Stdin | None:
        return self._target.stdin

    @property
    def program_pid(self) -> int | None:
        return self._target.own_pid

    def drain(self) -> None:
        self._target.drain_output()

    def describe_target(self) -> ProgramRow:
        """Describe a program that we attached to; of one on another machine there is nothing to say."""
        return attach_target.describe(self.pid) if self.pid is not None and self._target.is_here(self.pid) else {}

    def held_by_another(self) -> str | None:
        if self.pid is None or not self._target.is_here(self.pid):
            return None
        return attach_target.halt_by_another(self.pid)

    # How it ends.

    def settle(self) -> None:
        self._launched.settle()

    async def detach(self) -> None:
        with contextlib.suppress(RelayError):
            self._listener.on_hits(await self.breakpoints.hits())
        await self.recording.finish()
        await self._target.let_go()

    async def terminate(self, grace: float) -> None:
        await self._target.terminate(grace)

    async def end(self, grace: float) -> None:
        """End a program that we started; one that we attached to, or let go, goes on without us."""
        await self._target.end(grace)
        self._target, self.pid = ProgramTarget(), None
        self._connection.drop()
