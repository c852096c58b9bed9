"""Getting a program under the debugger: launch, attach, and launch again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

from msgspec.structs import asdict, replace

from ...answers.sessions import Program
from ...answers.shape import UNSET, extended
from ...answers.stop_reports import Attached, Launched, Omission, PreviousRun, Restarted
from ...debuggers.debugger_switch import Switch
from ...debuggers.shapes import AttachSpec, LaunchSpec
from ...errors import RelayError
from ...files import find_executable
from ...operations.advice import advice
from ...operations.states import LIVE, State
from ..breakpoints.placement import Placement
from ..execution.execution import Execution, ReportWish, Wait
from ..execution.program_run import Run
from ..execution.recorder import asked_recording
from ..execution.report_parts import is_longer
from ..execution.stop_report import check_fields
from ..execution.stops import DETACHED, End
from ..inspection.path_spelling import PathSpelling
from ..session_settings import Config
from .choose_debugger import adapter_for_attach, adapter_of
from .choose_python import explain_missing_module
from .debuggee import BeforeLaunch, Debuggee, describe_end
from .family import Tunnel
from .launch_spec import LaunchWish, launch_spec
from .program_kinds import find_native

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter, Arrival, Debugger
    from ...debuggers.rows import ChildRow, ProgramRow

MULTIPROCESSING = "from multiprocessing.spawn import "
"""Code by which multiprocessing starts the parent's program again in a child."""
RESTARTED = "restarted"
GRACE = 2.0
"""Seconds for a program that is asked to end."""
EITHER = {"python_path": "venv", "venv": "python_path"}
"""One of them takes the place of the other."""
WAITS_FOR_CLIENT = (
    "The program stands still until a debugger comes through the tunnel: `opencode-debugger tunnel {id}`, or the "
    "address and token in the session's `debugger`"
)
SETTLE_SECONDS = 0.5
"""A program that stops at once is seen stopped even by a client that does not ask to wait: many look right away."""


class BeforeStart(NamedTuple):
    """The state that a launch or attach puts back if it comes to nothing."""

    debugger: Debugger
    started_at: float | None
    program: BeforeLaunch


@dataclass(eq=False)
class Starting:
    _config: Config
    _debuggee: Debuggee
    _switch: Switch
    _placement: Placement
    _execution: Execution
    _spelling: PathSpelling
    _tunnel: Tunnel
    program: ProgramRow | None = None
    started_at: float | None = None
    attached: bool = False
    debugs_children: bool = False
    _just_my_code: bool = False
    _project: str | None = None
    """folder of the program's project, in which environments may be"""
    _restarting: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._adapter: Adapter = self._switch.as_adapter
        self.remembered = self._config.launch
        """the wishes of the last launch, or those that came with the configuration"""

    async def launch(
        self, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None, **wishes: Any
    ) -> Launched:
        """Launch a program; without one, launch the remembered one, with what is given here instead of what it had."""
        self._debuggee.require_state("launch")
        end, before, self.remembered = self._debuggee.end, self.remembered, self._complete_wishes(wishes)
        try:
            return await self._launch(LaunchWish(**self.remembered), wait=wait, fields=fields, budget=budget)
        except BaseException:
            if self._debuggee.state is State.CREATED or (end and self._debuggee.end is end):
                self.remembered = before  # it came to nothing
            raise

    def _complete_wishes(self, wishes: dict[str, Any]) -> dict[str, Any]:
        if wishes.keys() & {"script", "program", "module", "code"}:
            return wishes
        if self.remembered is None:
            suggestion = "Name what to launch: this session has not launched anything that it could launch again"
            message = "Provide exactly one of script, program, module and code"
            errors = [{"field": "", "message": message, "value": None}]
            raise RelayError("INVALID_REQUEST", "Request validation failed", errors=errors, suggestion=suggestion)
        replaced = {EITHER.get(name) for name in wishes}
        return {name: value for name, value in self.remembered.items() if name not in replaced} | wishes

    async def _launch(self, wish: LaunchWish, **shown: Unpack[ReportWish]) -> Launched:
        check_fields(shown.get("fields"))
        spec = launch_spec(self._config, wish)
        async with self._restarting:
            self._debuggee.require_state("launch")
            before, previous = self._before_start(), self._debuggee.end
            run = await self._begin_launch(previous)
        self._spelling.learn_folder(spec.cwd)
        if spec.kind == "file":
            self._spelling.learn_folder(os.path.dirname(spec.target))
        self._use_debugger_of(spec)
        async with self._undone_on_failure(before):
            await self._adapter.check_launch(spec)
            # Breakpoints are looked for in the files as they are now, with the interpreter that is to run; one that a
            # document or a folder names is not run before a launch.
            if spec.interpreter_reason and spec.interpreter != self._config.interpreter:
                self._adapter.use_interpreter(spec.interpreter)
            await self._placement.follow_and_examine()
            await self._start_program(spec, wish.stop_on_exception)
        self.attached = False
        launched = await self._launch_answer(spec, run, **shown)
        return replace(launched, previous=_previous_run(previous)) if previous else launched

    async def _begin_launch(self, previous: End | None) -> Run:
        """Begin a launch; in a session whose program has ended, remove first what is left of that."""
        if previous is None:
            return self._debuggee.begin_run(State.LAUNCHING)
        if previous.reason == DETACHED:
            raise let_go_error("launch", self._debuggee.state)
        await (self._adapter.end(GRACE) if self.attached else self._adapter.terminate(GRACE))
        await self._placement.follow_and_examine()
        return self._debuggee.begin_rerun(previous)

    def _use_debugger_of(self, spec: LaunchSpec) -> None:
        self._debuggee.use_stop_scope(spec.stop_scope)
        self._switch.use(adapter_of(spec))

    async def _start_program(self, spec: LaunchSpec, stop_on_exception: bool | str | None) -> None:
        await self._placement.verify_pending()
        self.started_at = time.monotonic()
        self._just_my_code, self.debugs_children = spec.just_my_code, spec.debug_subprocesses
        async with self._beginning():
            stop_on = self._placement.exceptions.begin_launch(stop_on_exception)
            spec.added |= await self._tunnel.open()
            await self._adapter.launch(spec, self._debuggee.breakpoints.for_debugger(), stop_on)

    async def _launch_answer(
        self, spec: LaunchSpec, run: Run, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None
    ) -> Launched:
        program: ProgramRow = {"args": spec.args, "cwd": spec.cwd, "env": spec.env}
        if spec.interpreter_reason:
            program["interpreter"] = find_executable(spec.interpreter) or spec.interpreter
            program["interpreter_reason"] = spec.interpreter_reason
        self.program, self._project = _with_target(program, spec.kind, spec.target), spec.project
        if spec.tunnel_only:
            wait = False  # nothing happens before the tunnel's client lets it
        elif wait is None and (spec.stop_on_entry or self._debuggee.breakpoints.can_stop()):
            await run.wait_for_outcome(SETTLE_SECONDS)
        report = await self._execution.report_wish(run, 0, wait, fields, budget)
        told = {"message": WAITS_FOR_CLIENT.format(id=self._config.session_id)} if spec.tunnel_only else {}
        answer = extended(report, Launched, **told, **self._about_program())
        if budget is not None and is_longer(answer, budget):
            omission = Omission(what="program", get=advice("{info}"))
            return replace(answer, program=UNSET, omitted=[*(answer.omitted or []), omission])
        return answer

    def _about_program(self) -> dict[str, Any]:
        warnings = [*self._adapter.warnings, *self._placement.take_edit_notes()]
        return {"pid": self._adapter.pid, "program": self.program_answer(), "warnings": warnings or UNSET}

    def program_answer(self) -> Program | None:
        return None if self.program is None else Program(**self.program)

    def about_missing(self, module: str) -> str | None:
        """Say which environment the program ran in that has not found a module, and which others there are."""
        if self.program is None or "interpreter_reason" not in self.program:
            return None
        return explain_missing_module(module, self.program, self._project)

    async def restart(self, **shown: Unpack[ReportWish]) -> Restarted:
        """End what runs and launch the same again. What can be refused is refused before anything is ended."""
        check_fields(shown.get("fields"))
        remembered = self.remembered
        async with self._restarting:
            self._debuggee.require_state("restart")
            if self._debuggee.was_let_go:
                raise let_go_error("restart", self._debuggee.state)
            if remembered is None or self.attached:
                message = "Cannot restart: this session did not launch the program and does not know how it was started"
                suggestion = "Start the program again, then attach to it in a new session; or launch it in a session"
                raise RelayError("NOT_SUPPORTED", message, suggestion=suggestion)
            wish = LaunchWish(**remembered)
            spec = launch_spec(self._config, wish)
            try:
                await self._switch.made_for(adapter_of(spec)).check_launch(spec)
            except RelayError as error:
                suggestion = f"Correct the file and restart again: the session is still {self._debuggee.state}"
                error.details |= {"current_state": str(self._debuggee.state), "suggestion": suggestion}
                raise
            self._debuggee.require_state("restart")
            if self._debuggee.state in LIVE:
                self._debuggee.expect_end(RESTARTED)
            await self._adapter.terminate(GRACE)  # it may be alive without its debugger
            previous = self._debuggee.end
            assert previous is not None
            await self._placement.follow_and_examine()
            before = self._before_start()
            run = self._debuggee.begin_rerun(previous)
            self._use_debugger_of(spec)
            async with self._undone_on_failure(before):
                await self._start_program(spec, wish.stop_on_exception)
        launched = await self._launch_answer(spec, run, **shown)
        return extended(launched, Restarted, restarted=True, previous=_previous_run(previous))

    async def attach(
        self, pid: int | None = None, host: str | None = None, port: int | None = None, connect_timeout: float = 10,
        stop_scope: str | None = None, adapter: str | None = None, debugger: str | None = None,
        program: str | None = None, record: dict[str, Any] | bool | None = None, **shown: Unpack[ReportWish],
    ) -> Attached:
        check_fields(shown.get("fields"))
        self._debuggee.require_state("attach")
        symbols = find_native(program, self._config.project_root or os.getcwd()) if program else None
        spec = AttachSpec(pid, host or "localhost", port, connect_timeout, server=debugger, program=symbols)
        spec.stop_scope = stop_scope or self._config.stop_scope
        spec.gdb_path = self._config.limits.gdb_path or None
        spec.record = asked_recording(record, self._config.project_root or os.getcwd())
        before = self._before_start()
        self._switch.use(adapter_for_attach(adapter or self._config.adapter, debugger, pid, self._config.limits))
        run = self._debuggee.begin_run(State.LAUNCHING)
        self._debuggee.use_stop_scope(spec.stop_scope)
        self.started_at = time.monotonic()
        async with self._undone_on_failure(before), self._beginning():
            stop_on = self._placement.exceptions.begin_launch()
            await self._adapter.attach(spec, self._debuggee.breakpoints.for_debugger(), stop_on)
            self.program = await asyncio.to_thread(self._adapter.describe_target)
            await self._tunnel.open()
        self.attached = True
        where = {"host": spec.host, "port": port} if port is not None else {}
        report = await self._execution.report_wish(run, 0, **shown)
        return extended(report, Attached, attached=True, **where, **self._about_program())

    async def join_child(self, arrival: Arrival, about: ChildRow, elder: Starting) -> None:
        """Take over a child that another program of the session started: it stops where that one would."""
        self._just_my_code = elder._just_my_code
        self.program = program_of(about, elder.program or {})
        self._debuggee.begin_run(State.LAUNCHING)
        self._debuggee.use_stop_scope(elder._debuggee.stop_scope)
        self.started_at = time.monotonic()
        async with self._beginning():
            groups, scope = self._debuggee.breakpoints.for_debugger(), self._debuggee.stop_scope
            stop_on = self._debuggee.exception_breakpoints.for_debugger()
            environment = await self._tunnel.open()
            await self._adapter.join(arrival, about["pid"], groups, stop_on, self._just_my_code, scope, environment)

    @contextlib.asynccontextmanager
    async def _beginning(self) -> AsyncIterator[None]:
        """Bring a program under the debugger, with the breakpoints that there are then."""
        async with self._placement.change_lock:
            self._debuggee.use_adapter(self._adapter)
            self._debuggee.reached.forget_progress()
            yield
            self._debuggee.finish_launch()

    def replace_program(self, program: ProgramRow) -> None:
        """Note that the process has replaced its program, by exec."""
        self.program = (self.program or {}) | program

    def _before_start(self) -> BeforeStart:
        return BeforeStart(self._switch.current, self.started_at, self._debuggee.before_launch())

    @contextlib.asynccontextmanager
    async def _undone_on_failure(self, before: BeforeStart) -> AsyncIterator[None]:
        """Go back to where it was before if a start fails, so that a corrected launch can follow."""
        try:
            yield
        except BaseException as error:
            self._tunnel.close()
            await self._adapter.end(0)
            self._switch.current = before.debugger
            last_words = self._debuggee.undo_launch(before.program)
            if self._debuggee.state is State.CREATED:
                self._debuggee.exception_breakpoints.use_launch_option(False)  # what a launch brought goes with it
            self.started_at = before.started_at
            if isinstance(error, RelayError) and error.code == "LAUNCH_FAILED":
                error.details["output"] = last_words[-2000:]
            raise


def _previous_run(end: End) -> PreviousRun:
    return PreviousRun(**asdict(describe_end(end)))


def _with_target(program: ProgramRow, kind: str, target: str) -> ProgramRow:
    return program | cast("ProgramRow", {{"file": "script", "command": "program"}.get(kind, kind): target})


def let_go_error(operation: str, state: State) -> RelayError:
    message = f"Cannot {operation}: the program was let go and is not this session's any more"
    suggestion = advice("Create another session with {create_session} and launch there")
    return RelayError("INVALID_SESSION_STATE", message, current_state=str(state), suggestion=suggestion)


def program_of(about: ChildRow, parents: ProgramRow) -> ProgramRow:
    """Return what a child runs: what it was started with, or after a fork what its parent runs."""
    if "program" in about:
        return about["program"]
    cwd = about["cwd"]
    if about.get("fork") or about["target"].startswith(MULTIPROCESSING):
        return parents | {"cwd": cwd}
    target = about["target"]
    if about["kind"] == "file":
        target = os.path.normpath(os.path.join(cwd or "", target))
    return _with_target({"args": about["args"], "cwd": cwd, "env": {}}, about["kind"], target)
