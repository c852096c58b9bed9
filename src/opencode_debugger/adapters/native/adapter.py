"""A native program under a debugger that speaks DAP: what gdb and lldb have in common.

What differs between them is in the methods under "Each in its own way", and in `Looking` and `Marks`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any

from ...dap.messages import Event
from ...errors import RelayError
from ..base import (
    UNTOLD,
    Asked,
    AttachSpec,
    Bound,
    DebuggerBreakpoint,
    ExceptionRule,
    Groups,
    LaunchSpec,
)
from ..conversation import Conversation
from ..environment import program_environment
from ..offered import Offered
from ..stdin import Stdin
from . import core_file, elf, rust
from .buffering import by_lines
from .children import describe
from .machine import Machine
from .process import ADMITTING, Doorway, Helper, Streams, start_debugger
from .recordable import plainer
from .stopping import FROM_CORE
from .talking import done, said_of

ALLOWED = frozenset(
    {
        "initialize", "launch", "attach", "configurationDone", "disconnect", "terminate", "cancel",
        "setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints", "setInstructionBreakpoints",
        "dataBreakpointInfo", "setDataBreakpoints",
        "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "pause", "threads", "stackTrace",
        "scopes", "variables", "evaluate", "setVariable", "setExpression", "completions", "modules",
        "exceptionInfo", "readMemory", "writeMemory", "disassemble", "ocdb", "ocdbAlways",
    }
)  # fmt: skip
CLIENT = {
    "clientID": "opencode-debugger",
    "pathFormat": "path",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "supportsVariableType": True,
    "supportsVariablePaging": True,
    "supportsMemoryReferences": True,
}


SERVER_NEWS = 0.5
"""Seconds for the end of a debug server to be known when its connection has ended."""
ALIVE = "See that it is alive and yours, then attach again"


class NativeAdapter(Machine, Offered):
    more = frozenset({"completions", "step_until"})
    serving = ""
    """the command with which a program is served on another machine"""
    _tells_when_begun = False
    """whether it is known when the program itself runs, and not what starts it"""

    # Each in its own way.

    def _find(self) -> tuple[list[str], dict[str, str]]:
        """The debugger's command and environment; raises where there is none that can do it."""
        raise NotImplementedError

    async def _prepare(self, program: str | None) -> None:
        """Settings, before anything is launched."""

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str]) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    def _core_request(self, spec: LaunchSpec) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    def _attach_request(self, spec: AttachSpec) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    def _serve(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> tuple[str, dict[str, Any]]:
        """Starts the debug server under which the program is to run, and says how it is reached."""
        raise NotImplementedError

    def _set_exceptions(self, rules: list[ExceptionRule]) -> tuple[list[str], list[dict[str, Any]]]:
        """Filters, and filters with options, of the debugger."""
        return [], []

    # Starting.

    async def check_interpreter(self, path: str) -> None:
        """Native programs have none."""

    def use_interpreter(self, path: str) -> None:
        """Native programs have none."""

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Everything that can be known before the program starts."""
        try:
            await asyncio.to_thread(self._find)
        except RelayError as error:
            raise RelayError("LAUNCH_FAILED", error.message, **error.details) from error
        elf.check(spec.target, runs=spec.core is None)
        if spec.core:
            core_file.check(spec.core)
        if spec.stop_scope == "thread":
            raise _all_threads(self.kind)

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._forget_last_program()
        self.name = spec.server or self.kind
        self._debugs_children = spec.debug_subprocesses
        self.warnings = elf.warnings(spec.target)
        await self._recognise(spec.target)
        if spec.core:
            self.warnings += core_file.warnings(spec.core, spec.target)
        environment = program_environment(spec, self._session_id)
        environment |= by_lines(spec.target, environment) if spec.line_buffered else {}
        environment |= plainer(environment) if spec.recordable else {}
        streams = None if spec.core else Streams()
        try:
            await self._converse(None if spec.server else streams)
            if spec.core:
                self._is_core = self._is_starting = True
                request = self._core_request(spec)
            elif spec.server:
                assert streams is not None
                self._is_starting = True
                request = self._serve(spec, environment, streams)
            else:
                request = self._launch_request(spec, environment)
            if streams is not None:
                owner = self._server or self._helper
                assert owner is not None
                self._pipes = streams.pipes(owner.pid, self._listener.on_output)
                with contextlib.suppress(RelayError):
                    self._pipes.stdin.send(spec.stdin, spec.stdin_eof)
            await self._prepare(spec.target)
            self._stops_on_entry = spec.stop_on_entry and not spec.core
            await self._configure(*request, breakpoints, stop_on, "LAUNCH_FAILED")
        finally:
            for opened in (streams, self._door):  # by now, whoever was to have them has them
                if opened is not None:
                    opened.close()

    async def _recognise(self, program: str | None) -> None:
        """The language of a program, as far as it makes a difference here."""
        self._is_rust = program is not None and await asyncio.to_thread(rust.is_rust, program)

    def _start_server(
        self, command: list[str], environment: dict[str, str], streams: Streams, cwd: str
    ) -> tuple[Helper, str]:
        """A debug server that waits for its debugger, and the name of the doorway between them."""
        try:
            self._door = door = Doorway()
            with door.listener as listener:
                self._server = Helper(
                    [*ADMITTING, *command], environment, self._session_id, streams, self._server_ended, listener, cwd
                )
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{self.name} could not be started: {error}") from error
        return self._server, door.name

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._forget_last_program()
        if spec.stop_scope == "thread":
            raise _all_threads(self.kind)
        self.name = spec.server or self.kind
        self._check_target(spec)
        program = spec.program or program_of(spec.pid)
        self.warnings = elf.warnings(program) if program else []
        await self._recognise(program)
        await self._converse(None)
        await self._prepare(program)
        self._is_attached = self._is_starting = True
        self.pid = spec.pid
        try:  # who listens at a port may be anybody
            async with asyncio.timeout(spec.connect_timeout if spec.port else None):
                await self._configure(*self._attach_request(spec), breakpoints, stop_on, "ATTACH_FAILED")
        except TimeoutError as error:
            self._is_attached = False  # there is nothing to be let go
            await self._close()
            said = f"What listens at {spec.host}:{spec.port} timed out: it did not answer as {self.name} does"
            raise self._not_begun("ATTACH_FAILED", said) from error

    def _check_target(self, spec: AttachSpec) -> None:
        """Why a process cannot be attached to, as far as that shows from outside."""
        if spec.pid is not None:
            from ..debugpy.target import require_attachable

            require_attachable(spec.pid, native=True)

    async def join(self, *_: Any) -> None:
        raise RelayError("NOT_SUPPORTED", f"{self.kind} does not debug the children of a program")

    def describe_target(self) -> dict[str, Any]:
        """What there is to know of a program that we attached to."""
        return {} if self.pid is None else describe(self.pid)

    async def _forget_last_program(self) -> None:
        """What it left running is being ended, by the marker that the next one will carry too."""
        if self._sweeping is not None:
            await self._sweeping
        await self._close()
        self._marks.clear()
        self._journeys.stop()
        self._forget_places()
        self._reset()
        self.pid = None

    async def _converse(self, streams: Streams | None) -> None:
        command, environment = await asyncio.to_thread(self._find)
        try:
            helper, channel = await start_debugger(
                command, environment, self._session_id, streams, self._event, self._debugger_ended
            )
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{self.kind} could not be started: {error}") from error
        self._helper = helper
        channel.on_closed = lambda reason: self._spawn(self._hung_up(helper))
        self._talk = Conversation(channel, ALLOWED, self._timeout)
        self._talk.farewell = self._ended
        self._features = await self._request("initialize", {**CLIENT, "adapterID": self.kind}, self._launch_timeout)

    async def _configure(
        self, command: str, arguments: dict[str, Any], breakpoints: Groups, stop_on: list[ExceptionRule], failure: str
    ) -> None:
        """The handshake. `configurationDone` lets the program run."""
        talk = self._require_talk()
        begun = talk.send(command, arguments)
        either: list[asyncio.Future[Any]] = [self._initialized, begun]
        await asyncio.wait(either, timeout=self._launch_timeout, return_when=asyncio.FIRST_COMPLETED)
        if begun.done() and not self._initialized.done():
            await self._begun(command, begun, failure)
            await asyncio.wait([self._initialized], timeout=self._launch_timeout)
        for path, group in breakpoints.items():
            for bp, bound in zip(group, await self.set_breakpoints(path, group), strict=True):
                self._listener.on_bound(bp.number, bound)
        if self._stops_on_entry:
            self._stops_at_first = not await self._marks.enter()
        await self.set_exceptions(stop_on)
        await self._request("configurationDone", timeout=self._launch_timeout)
        await self._begun(command, begun, failure)
        waited: list[asyncio.Future[Any]] = [self._started, self._ended]
        await asyncio.wait(waited, timeout=self._launch_timeout, return_when=asyncio.FIRST_COMPLETED)
        if not self._started.done():
            raise self._not_begun(failure, self._startup_problem or "The program did not start")

    async def _begun(self, command: str, begun: Asked, failure: str) -> None:
        try:
            await self._require_talk().answer(command, begun, self._launch_timeout)
        except RelayError as error:
            said = await self._words_of_server() or said_of(error) or error.message
            raise self._not_begun(failure, said) from error

    async def _words_of_server(self) -> str | None:
        """Why it did not start the program, if that is why its debugger did not begin."""
        server = self._server
        if server is None:
            return None
        await asyncio.wait([server.ended], timeout=SERVER_NEWS)
        if server.is_alive or server.ended.result() == 0:
            return None
        return f"{self.name} did not start the program: {server.said.strip()[-500:] or server.ended.result()}"

    def _not_begun(self, failure: str, said: str) -> RelayError:
        if failure == "LAUNCH_FAILED":
            if self._is_core:
                return RelayError(failure, ". ".join([said, *self.warnings]), status=400, debugger=self.name)
            return RelayError(failure, said, debugger=self.name)
        if "refused" in said or "timed out" in said:
            code = "ATTACH_REFUSED" if "refused" in said else "ATTACH_TIMEOUT"
            return RelayError(code, said, suggestion=f"Start the target with: {self.serving}")
        return RelayError(failure, said, debugger=self.name, suggestion=ALIVE)

    # What the debugger says.

    def _event(self, event: Event) -> None:
        body = event.body or {}
        handler: Callable[[dict[str, Any]], None] | None = {
            "initialized": lambda body: done(self._initialized),
            "process": self._on_process,
            "stopped": self._on_stopped,
            "continued": self._on_continued,
            "thread": self._on_thread,
            "module": lambda body: self._listener.on_module(body["reason"], body["module"]),
            "breakpoint": self._on_breakpoint,
            "exited": lambda body: self._spawn(self._on_exited(body.get("exitCode"))),
            "terminated": lambda body: self._spawn(self._on_terminated()),
            "output": self._on_said,
            "ocdb": self._on_own,
        }.get(event.event)
        if handler is not None:
            handler(body)
        elif event.event not in UNTOLD:
            self._listener.on_event(event.event, body)

    def _on_process(self, body: dict[str, Any]) -> None:
        if body.get("systemProcessId"):
            self._found_pid(body["systemProcessId"])

    def _found_pid(self, pid: int) -> None:
        is_new = self.pid != pid
        self.pid = pid
        if is_new and not self._is_attached:
            self._listener.on_process(pid)
        if not self._tells_when_begun:
            done(self._started)

    def _on_thread(self, body: dict[str, Any]) -> None:
        if not self._is_over:
            self._listener.on_thread(body["reason"], body["threadId"])

    def _on_breakpoint(self, body: dict[str, Any]) -> None:
        if body.get("reason") != "removed":
            self._marks.changed(body["breakpoint"])
        else:  # of one that was removed on request nobody knows any more
            self._data_gone(body["breakpoint"].get("id"))

    def _on_said(self, body: dict[str, Any]) -> None:
        """The debugger's own chatter: the program's output comes through its pipes."""

    def _on_own(self, body: dict[str, Any]) -> None:
        """What our own code inside the debugger says."""

    def _on_continued(self, body: dict[str, Any]) -> None:
        if not self._asides:
            self._is_running = True

    # What the session asks.

    @property
    def program_pid(self) -> int | None:
        """Of a live program that we started."""
        return self.pid if self._pipes is not None and not self._is_over else None

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        if self._is_core:
            return [Bound(False, message=FROM_CORE) for _ in breakpoints]
        return await self._marks.set(path, breakpoints)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        filters, options = self._set_exceptions(rules)
        await self._request("setExceptionBreakpoints", {"filters": filters, "filterOptions": options})

    async def hits(self) -> dict[int, int]:
        return await self._marks.hits()

    async def visit(self, path: str, line: int) -> None:
        await self._marks.visit(path, line)

    async def leave(self, path: str, line: int) -> None:
        await self._marks.leave(path, line)

    async def set_out(
        self, frame: int, most: int = 1, until: str | None = None, target: str | int | None = None
    ) -> dict[str, Any]:
        if target is not None:
            raise self.refusal("step_targets")
        self._frame(frame)
        return {"token": self._journeys.plan(most, until)}

    async def journey(self, token: int, end: bool = False) -> dict[str, Any]:
        return self._journeys.report(token, end)

    def check_expression(self, text: str) -> Any:
        """Only the debugger knows the language."""
        return None

    @property
    def stdin(self) -> Stdin | None:
        """Of a program that we started: that of another is not ours to write to."""
        return self._pipes.stdin if self._pipes is not None else None


def program_of(pid: int | None) -> str | None:
    try:
        path = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
    return path if os.path.isfile(path) else None


def _all_threads(debugger: str) -> RelayError:
    return RelayError(
        "NOT_SUPPORTED",
        f"{debugger} halts all threads of a program together: stop_scope thread is not offered",
        suggestion='Leave stop_scope out, or use "all"',
    )
