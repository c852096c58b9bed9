"""gdb, which speaks DAP from version 14 on; and programs that its gdbserver runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...errors import RelayError
from .. import gdb_program
from ..base import Asked, AttachSpec, Bound, DebuggerBreakpoint, ExceptionRule, LaunchSpec
from ..processes import ExitStatus
from ..watched import Watched
from . import elf, panics, rust
from .ending import QUIT
from .gdb_children import GdbChildren
from .gdb_looking import GdbLooking
from .gdb_machine import CANNOT, NOT_RECORDED, GdbMachine
from .marks import Answers, Ask, Marks
from .process import CREATED, ERRORS, INPUT, OUTPUT, REDIRECTED, Streams, under_gdbserver
from .signals import QUIET
from .stopping import NotLetGo
from .talking import done, said_of

INSIDE = Path(__file__).with_name("gdb_inside")
LOAD = (
    "python import importlib.util, sys; "
    "spec = importlib.util.spec_from_file_location('ocdb', {path!r}, submodule_search_locations=[{folder!r}]); "
    "sys.modules['ocdb'] = importlib.util.module_from_spec(spec); spec.loader.exec_module(sys.modules['ocdb'])"
)
PRINTERS = "/usr/share/gdb/auto-load"
"""Where a system keeps what shows the containers of C++."""
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
    f"handle {' '.join(QUIET)} nostop noprint pass",
)
STDIO = "-"
"""What gdbserver is told instead of a port."""
STARTUP = "During startup program"
OUTERMOST = "not meaningful in the outermost frame"
GONE = "No such process"
NO_NON_STOP = "does not support non-stop"
INSIST = 0.5
NOTICE = 0.3
"""Seconds for gdb to tell the end of a program itself."""
GROUP = "functions"


class GdbMarks(Marks):
    """Decided inside gdb, where a step goes on past a breakpoint that does not stop."""

    def __init__(self, ask: Ask, rebound: Callable[[int, Bound], None]) -> None:
        super().__init__(ask, rebound)
        self.hit: set[int] = set()
        """those that made the program stop"""

    def reached(self, ids: list[int]) -> list[int]:
        hit, self.hit = self.hit, set()
        return sorted(hit)

    def _define(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> None:
        """Nothing is decided here."""

    async def place_lines(self, path: str, wanted: list[DebuggerBreakpoint]) -> Answers:
        return await self._place(path, [{**asdict(bp), "path": path} for bp in wanted])

    async def place_functions(self, wanted: list[DebuggerBreakpoint]) -> Answers:
        return await self._place(GROUP, [asdict(bp) for bp in wanted])

    async def _place(self, group: str, wanted: list[dict[str, Any]]) -> Answers:
        answer = await self._ask("ocdbAlways", {"method": "mark", "arguments": {"group": group, "wanted": wanted}})
        return list(answer["breakpoints"])

    def places(self, answer: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        return tuple(answer.get("places") or super().places(answer))

    async def hits(self) -> dict[int, int]:
        counted = await self._ask("ocdbAlways", {"method": "hits"})
        return {int(number): hits for number, hits in counted.items()}


class GdbAdapter(GdbLooking, GdbMachine, GdbChildren):
    kind = "gdb"
    serving = "gdbserver HOST:PORT PROGRAM"
    more = GdbMachine.more | {"exception_classes"}

    _tells_when_begun = True

    def _reset(self) -> None:
        super()._reset()
        self._was_killed = False
        self._program: Watched | None = None
        """if it runs on this machine"""
        self._port: dict[str, Any] = {}
        """how a server is reached that somebody else started"""
        self._only_halted = False
        """a server that takes breakpoints only while its program is halted"""

    def _make_marks(self) -> Marks:
        return GdbMarks(self._request, self._listener.on_rebound)

    def _find(self) -> tuple[list[str], dict[str, str]]:
        gdb = gdb_program.find(self._path)
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENCODE_"))
        }
        environment |= {**gdb.environment, **gdb.python, "SHELL": "/bin/sh", "LC_ALL": "C.UTF-8"}
        return [*gdb.command, "-q", "-nx", "-i", "dap"], environment

    async def _prepare(self, program: str | None) -> None:
        for command in SETTINGS:
            with contextlib.suppress(RelayError):  # some are newer than the oldest gdb that will do
                await self._command_line(command)
        await self._command_line(LOAD.format(path=str(INSIDE / "__init__.py"), folder=str(INSIDE)))
        if self._server is not None:
            await self._command_line("set sysroot /")  # else gdb has all files sent by the server
        held = [INPUT, OUTPUT, ERRORS] if self._pipes is not None and self._server is None else []
        await self._request("ocdb", {"method": "begin", "arguments": {"held": held}})
        if not self._is_core:
            await self._request("ocdb", {"method": "follow", "arguments": {"hold": self._debugs_children}})
        if program is not None:
            # Now, so that breakpoints find their places before the program runs.
            await self._command_line(f"file {quoted(program)}")
            await self._prepare_rust()

    async def _prepare_rust(self) -> None:
        if not self._is_rust:
            return
        folder = await asyncio.to_thread(rust.printers)
        if folder is None:
            self.warnings = [*self.warnings, rust.MISSING]
        else:
            await self._request("ocdb", {"method": "rust_printers", "arguments": {"folder": folder}})

    async def _command_line(self, text: str) -> str:
        return str((await self._request("evaluate", {"expression": text, "context": "repl"}))["result"])

    def _launch_request(self, spec: LaunchSpec, environment: dict[str, str]) -> tuple[str, dict[str, Any]]:
        found = elf.read(spec.target)
        if spec.stop_on_entry and found is not None and found.is_stripped:
            self._is_starting = True
        request = {"args": spec.args, "cwd": spec.cwd, "env": environment, "stopOnEntry": self._is_starting}
        return "launch", request

    def _core_request(self, spec: LaunchSpec) -> tuple[str, dict[str, Any]]:
        return "attach", {"coreFile": spec.core}

    def _attach_request(self, spec: AttachSpec) -> tuple[str, dict[str, Any]]:
        if spec.pid is not None:
            return "attach", {"pid": spec.pid}
        self._port = {"target": f"{spec.host}:{spec.port}"}
        return "attach", self._port

    async def _begun(self, command: str, begun: Asked, failure: str) -> None:
        try:
            await super()._begun(command, begun, failure)
        except RelayError as error:
            if NO_NON_STOP not in error.message or not self._port:
                raise
            self._only_halted = True
            await self._command_line("maint set target-non-stop off")
            again = self._require_talk().send(command, self._port)
            await self._request("configurationDone", timeout=self._launch_timeout)
            await super()._begun(command, again, failure)

    def _serve(self, spec: LaunchSpec, environment: dict[str, str], streams: Streams) -> tuple[str, dict[str, Any]]:
        command, given = under_gdbserver(gdb_program.find_server(self._path), STDIO, spec, environment)
        server, door = self._start_server(command, given, streams, spec.cwd)

        def listen(_: str) -> None:
            created = CREATED.search(server.said)
            if created is not None and self.pid is None:
                self._found_pid(int(created[1]))

        server.on_said = listen
        return "attach", {"target": door}

    def _found_pid(self, pid: int) -> None:
        super()._found_pid(pid)
        if self._program is None and not self._is_core:
            self._program = Watched(pid, is_kept=self._elder is not None)
            self._spawn(self._see_end(self._program))

    async def _see_end(self, program: Watched) -> None:
        """gdb notices the end of a program that runs; of one that it holds, only when it is to go on."""
        status = await program.ended
        await asyncio.wait([self._ended], timeout=NOTICE)
        if self._program is program and not self._is_running and not self._is_detached:
            self._finish(lambda: self._listener.on_exit(status or ExitStatus.of(-signal.SIGKILL)))

    async def _close(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.close()
        await super()._close()

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        with contextlib.suppress(RelayError):
            self._listener.on_hits(await self.hits())
        if self._was_killed:
            return ExitStatus.of(-signal.SIGKILL)
        for variable, sign in (("$_exitsignal", -1), ("$_exitcode", 1)):
            found = (await self._request("evaluate", {"expression": variable, "context": "watch"}))["result"]
            if found.isdigit():
                return ExitStatus.of(sign * int(found))
        return None  # gdb says 0 also of a program that it has lost

    def _on_said(self, body: dict[str, Any]) -> None:
        if STARTUP in body.get("output", ""):
            self._startup_problem = f"The program could not be started: {body['output'].strip()}"

    def _on_own(self, body: dict[str, Any]) -> None:
        match body["kind"]:
            case "begun":
                done(self._started)
            case "hit":
                assert isinstance(self._marks, GdbMarks)
                self._marks.hit.add(body["number"])
            case "refused":  # a step, after it was answered
                self._spawn(self._step_refused(body["thread"], body["error"]))
            case "forked":
                self._forked(body)
            case "exec":
                self._listener.on_exec(self.describe_target())
            case "log":
                self._listener.on_hits({body["number"]: body["hits"]})
                self._listener.on_log(body["number"], body["text"])
            case "condition_error":
                self._listener.on_condition_error(body["number"], body["error"], body.get("of_exception", False))

    def _require_halted(self) -> None:
        if self._only_halted and self._is_running and self._started.done():
            raise RelayError(
                "INVALID_SESSION_STATE",
                "This debug server takes breakpoints only while the program is halted",
                suggestion="Pause it with POST /sessions/{id}/pause, then set the breakpoint",
            )

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._require_halted()
        return await super().set_breakpoints(path, breakpoints)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        self._require_halted()
        self._check_exceptions(rules, conditions=True)
        thrown = [asdict(rule) for rule in rules if "raised" in rule.filters]
        panicked = [asdict(rule) for rule in panics.wanting(rules)] if self._is_rust else []
        wanted = {"rules": thrown, "panics": panicked}
        answer = await self._request("ocdbAlways", {"method": "throws", "arguments": wanted})
        self._throw_id, self._panic_ids = answer["id"], tuple(answer["panics"])

    def _reason(self, body: dict[str, Any]) -> str:
        ids = body.get("hitBreakpointIds") or []
        self._stopped_at_throw = self._throw_id is not None and self._throw_id in ids
        self._stopped_at_panic = any(id in ids for id in self._panic_ids)
        is_untold = body["reason"] == "stopped" and not (ids or self._is_pausing or self._is_starting)
        if is_untold and self._steps:
            return "step"
        is_exception = self._stopped_at_throw or self._stopped_at_panic or is_untold
        return "exception" if is_exception else super()._reason(body)

    def _stay(self, thread_id: int, error: NotLetGo) -> None:
        self._edge = error.told
        super()._stay(thread_id, error)

    async def _send_off(self, command: str, arguments: dict[str, Any]) -> None:
        try:
            await super()._send_off(command, arguments)
        except RelayError as error:
            said = said_of(error)
            if said is None or said == "notStopped":
                raise
            if OUTERMOST in said:
                await super()._send_off("continue", arguments)
            elif not await self._is_gone(said):
                raise NotLetGo(said, CANNOT if NOT_RECORDED in said else None) from error

    async def _is_gone(self, said: str) -> bool:
        """Whether it died while gdb let its threads go, one after the other, so that those that were left failed."""
        if GONE not in said:
            return False
        self._is_running = False  # its end is told by whoever sees it first
        await asyncio.wait([self._ended], timeout=QUIT)
        return self._is_over

    async def _step_refused(self, thread_id: int, said: str) -> None:
        if not await self._is_gone(said):
            self._stay(thread_id, NotLetGo(said, CANNOT if NOT_RECORDED in said else None))

    async def pause(self, thread_id: int | None) -> None:
        await super().pause(thread_id)
        self._spawn(self._insist())

    async def _insist(self) -> None:
        """gdb halts a program by SIGINT, which the program may have blocked."""
        stops = self._stops
        await asyncio.sleep(INSIST)
        if self._is_pausing and self._is_running and self._stops == stops and not self._is_over:
            self._signal_program(signal.SIGSTOP)

    async def _kill(self) -> None:
        """gdb does not notice that a program died which it holds."""
        if self._is_running:
            await super()._kill()
        else:
            self._was_killed = True
            with contextlib.suppress(RelayError):
                await self._request("terminate", timeout=QUIT)

    async def _go_free(self) -> None:
        await self._command_line("detach")


def quoted(path: str) -> str:
    """For gdb's command line."""
    return "".join("\\" + char if char in " \t\n\r\f\v\\'\"" else char for char in path)
