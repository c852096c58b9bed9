"""Getting a program under the debugger: launch, attach, and launch again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..adapters.base import Adapter, Arrival, AttachSpec, Debugger, LaunchSpec
from ..adapters.switch import Switch
from ..errors import RelayError
from ..files import find_executable
from .choosing import adapter_for_attach
from .choosing_python import about_missing
from .debuggee import Debuggee
from .ending import GRACE
from .execution import Execution, Wait
from .launch_spec import launch_spec
from .placement import Placement
from .programs import find_native
from .report import check_fields, is_longer
from .run import Run
from .settings import Config
from .state import LIVE, State
from .stops import DETACHED, End
from .tunnel import NoTunnel, Tunnel

LAST_WORDS = 20
MULTIPROCESSING = "from multiprocessing.spawn import "
"""How it starts the parent's program again in a child."""
RESTARTED = "restarted"
WAITS_FOR_CLIENT = (
    "The program stands still until a debugger comes through the tunnel: `opencode-debugger tunnel {id}`, or the "
    "address and token in the session's `debugger`"
)
SETTLE = 0.5
"""A program that stops at once is seen stopped even by a client that does not ask to wait: many look right away."""


@dataclass(frozen=True)
class Before:
    """What a launch or attach that comes to nothing puts back."""

    debugger: Debugger
    stop_scope: str
    started_at: float | None
    ended_at: float | None
    end: End | None
    """how the program before has ended, if there was one"""


class Starting:
    def __init__(
        self,
        config: Config,
        debuggee: Debuggee,
        switch: Switch,
        placement: Placement,
        execution: Execution,
    ) -> None:
        self._config = config
        self._placement = placement
        self._debuggee = debuggee
        self._switch = switch
        self._adapter: Adapter = switch.as_adapter
        self._execution = execution
        self.program: dict[str, Any] | None = None
        self.started_at: float | None = None
        self._just_my_code = False
        self.debugs_children = False
        self._project: str | None = None
        """where environments of the program's project may be"""
        self.attached = False
        self._restarting = asyncio.Lock()
        self.learn: Callable[[str], None] = lambda folder: None
        """told of folders that the user named"""
        self.tunnel: Tunnel = NoTunnel()

    async def launch(
        self,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
        **wishes: Any,
    ) -> dict[str, Any]:
        check_fields(fields)
        self._debuggee.require("launch")
        spec, stop_on_exception = self._understand(**wishes)
        async with self._restarting:
            self._debuggee.require("launch")
            before, previous = self._before(), self._debuggee.end
            run = await self._begin_launch(previous)
        self.learn(spec.cwd)
        if spec.kind == "file":
            self.learn(os.path.dirname(spec.target))
        self._use_debugger_of(spec)
        try:
            await self._adapter.check_launch(spec)
            await self._judge_lines(spec)
            await self._start(spec, stop_on_exception)
        except BaseException as error:
            await self._undo(error, before)
            raise
        self.attached = False
        answer = await self._launch_answer(spec, run, wait, fields, budget)
        return {**answer, "previous": previous.summary()} if previous else answer

    async def _begin_launch(self, previous: End | None) -> Run:
        """In a session whose program has ended, what is left of that goes first."""
        if previous is None:
            return self._debuggee.begin_run(State.LAUNCHING)
        if previous.reason == DETACHED:
            raise let_go("launch", self._debuggee.state)
        await (self._adapter.end(GRACE) if self.attached else self._adapter.terminate(GRACE))
        await self._placement.look_again()
        return self._debuggee.begin_again(previous)

    def _understand(
        self, stop_on_exception: bool | str | None = None, console: str = "internalConsole", **wishes: Any
    ) -> tuple[LaunchSpec, bool | str | None]:
        return launch_spec(self._config, **wishes), stop_on_exception

    def _use_debugger_of(self, spec: LaunchSpec) -> None:
        self._debuggee.stop_scope = spec.stop_scope
        self._switch.use(_adapter_of(spec))

    async def _judge_lines(self, spec: LaunchSpec) -> None:
        """Look for breakpoints in the files as they are now, with the interpreter that is to run: what a document or a
        folder names is not run before a launch."""
        if spec.interpreter_reason and spec.interpreter != self._config.interpreter:
            self._adapter.use_interpreter(spec.interpreter)
        await self._placement.look_again()

    async def _start(self, spec: LaunchSpec, stop_on_exception: bool | str | None) -> None:
        await self._placement.verify_pending()
        self.started_at = time.monotonic()
        self._just_my_code, self.debugs_children = spec.just_my_code, spec.debug_subprocesses
        async with self._placement.changing:
            self._debuggee.adapter = self._adapter
            self._placement.begin()
            stop_on = self._placement.exceptions.for_launch(stop_on_exception)
            spec.added |= await self.tunnel.open()
            await self._adapter.launch(spec, self._debuggee.breakpoints.for_debugger(), stop_on)
            self._debuggee.started()

    async def _launch_answer(
        self, spec: LaunchSpec, run: Run, wait: Wait, fields: list[str] | None, budget: int | None
    ) -> dict[str, Any]:
        key = {"file": "script", "command": "program"}.get(spec.kind, spec.kind)
        self.program = {key: spec.target, "args": spec.args, "cwd": spec.cwd, "env": spec.env}
        self._project = spec.project
        if spec.interpreter_reason:
            interpreter = find_executable(spec.interpreter) or spec.interpreter
            self.program |= {"interpreter": interpreter, "interpreter_reason": spec.interpreter_reason}
        if spec.tunnel_only:
            wait = False  # nothing happens before the tunnel's client lets it
        elif wait is None and (spec.stop_on_entry or self._debuggee.breakpoints.can_stop()):
            await run.wait(SETTLE)
        answer = await self._execution.answer(run, self._execution.seconds(wait, 0), fields, budget)
        if spec.tunnel_only:
            answer["message"] = WAITS_FOR_CLIENT.format(id=self._config.session_id)
        answer |= {"pid": self._adapter.pid, "program": self.program, **self._warnings()}
        if budget is not None and is_longer(answer, budget):
            del answer["program"]
            answer.setdefault("omitted", []).append({"what": "program", "get": "GET /sessions/{id}"})
        return answer

    def about_missing(self, module: str) -> str | None:
        """What to say of a module that the program has not found: which environment it ran in, and what there is."""
        program = self.program or {}
        return about_missing(module, program, self._project) if "interpreter_reason" in program else None

    def _warnings(self) -> dict[str, Any]:
        warnings = [*self._adapter.warnings, *self._placement.take_edits()]
        return {"warnings": warnings} if warnings else {}

    async def restart(
        self,
        wishes: dict[str, Any] | None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        """Ends what runs and launches the same again. What can be refused is refused before anything is ended."""
        check_fields(fields)
        async with self._restarting:
            self._debuggee.require("restart")
            wishes = self._require_launched(wishes)
            spec, stop_on_exception = self._understand(**wishes)
            await self._check_again(spec)
            self._debuggee.require("restart")
            if self._debuggee.state in LIVE:
                self._debuggee.ending = RESTARTED
            await self._adapter.terminate(GRACE)  # it may be alive without its debugger
            previous = self._debuggee.end
            assert previous is not None
            await self._placement.look_again()
            before = self._before()
            run = self._debuggee.begin_again(previous)
            self._use_debugger_of(spec)
            try:
                await self._start(spec, stop_on_exception)
            except BaseException as error:
                await self._undo(error, before)
                raise
        answer = await self._launch_answer(spec, run, wait, fields, budget)
        return {**answer, "restarted": True, "previous": previous.summary()}

    def _require_launched(self, wishes: dict[str, Any] | None) -> dict[str, Any]:
        end = self._debuggee.end
        if end is not None and end.reason == DETACHED:
            raise let_go("restart", self._debuggee.state)
        if wishes is None or self.attached:
            raise RelayError(
                "NOT_SUPPORTED",
                "Cannot restart: this session did not launch the program and does not know how it was started",
                suggestion="Start the program again, then attach to it in a new session; or launch it in a session",
            )
        return wishes

    async def _check_again(self, spec: LaunchSpec) -> None:
        try:
            await self._switch.made_for(_adapter_of(spec)).check_launch(spec)
        except RelayError as error:
            state = self._debuggee.state
            error.details["current_state"] = str(state)
            error.details["suggestion"] = f"Correct the file and restart again: the session is still {state}"
            raise

    async def attach(
        self,
        pid: int | None = None,
        host: str | None = None,
        port: int | None = None,
        connect_timeout: float = 10,
        stop_scope: str | None = None,
        adapter: str | None = None,
        debugger: str | None = None,
        program: str | None = None,
        wait: Wait = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        check_fields(fields)
        self._debuggee.require("attach")
        gdb = self._config.limits.gdb_path or None
        scope = stop_scope or self._config.stop_scope
        spec = AttachSpec(
            pid,
            host or "localhost",
            port,
            connect_timeout,
            stop_scope=scope,
            gdb_path=gdb,
            server=debugger,
            program=find_native(program, self._config.project_root or os.getcwd()) if program else None,
        )
        before = self._before()
        self._switch.use(adapter_for_attach(adapter or self._config.adapter, debugger, pid, self._config.limits))
        run = self._debuggee.begin_run(State.LAUNCHING)
        self._debuggee.stop_scope = scope
        self.started_at = time.monotonic()
        try:
            async with self._placement.changing:
                self._debuggee.adapter = self._adapter
                self._placement.begin()
                stop_on = self._placement.exceptions.for_launch()
                await self._adapter.attach(spec, self._debuggee.breakpoints.for_debugger(), stop_on)
                self.program = await asyncio.to_thread(self._adapter.describe_target)
                await self.tunnel.open()
                self._debuggee.started()
        except BaseException as error:
            await self._undo(error, before)
            raise
        self.attached = True
        where = {"host": spec.host, "port": port} if port is not None else {}
        answer = await self._execution.answer(run, self._execution.seconds(wait, 0), fields, budget)
        attached = {"attached": True, "pid": self._adapter.pid, "program": self.program}
        return {**answer, **attached, **where, **self._warnings()}

    async def join(self, arrival: Arrival, about: dict[str, Any], elder: Starting) -> None:
        """For a child that another program of the session started: it stops where that one would."""
        self._just_my_code = elder._just_my_code
        self.program = program_of(about, elder.program or {})
        self._debuggee.begin_run(State.LAUNCHING)
        self._debuggee.stop_scope = elder._debuggee.stop_scope
        self.started_at = time.monotonic()
        async with self._placement.changing:
            self._debuggee.adapter = self._adapter
            self._placement.begin()
            groups = self._debuggee.breakpoints.for_debugger()
            stop_on = self._debuggee.exceptions.for_debugger()
            scope = self._debuggee.stop_scope
            environment = await self.tunnel.open()
            await self._adapter.join(arrival, about["pid"], groups, stop_on, self._just_my_code, scope, environment)
            self._debuggee.started()

    def became(self, program: dict[str, Any]) -> None:
        """The process has replaced its program, by exec."""
        self.program = {**(self.program or {}), **program}

    def _before(self) -> Before:
        debuggee = self._debuggee
        return Before(self._switch.current, debuggee.stop_scope, self.started_at, debuggee.ended_at, debuggee.end)

    async def _undo(self, error: BaseException, before: Before) -> None:
        """Back to where it was before, so that a corrected launch can follow."""
        self.tunnel.close()
        await self._adapter.end(0)
        self._switch.current = before.debugger
        self._debuggee.reset(before.end)
        self._debuggee.stop_scope, self._debuggee.ended_at = before.stop_scope, before.ended_at
        self._placement.exceptions.forget_launch()
        self.started_at = before.started_at
        if isinstance(error, RelayError) and error.code == "LAUNCH_FAILED":
            log = self._debuggee.log
            _, entries, _ = log.output_since(max(0, log.output_end - LAST_WORDS), LAST_WORDS)
            error.details["output"] = "".join(entry.body[1] for entry in entries)[-2000:]


def let_go(operation: str, state: State) -> RelayError:
    return RelayError(
        "INVALID_SESSION_STATE",
        f"Cannot {operation}: the program was let go and is not this session's any more",
        current_state=str(state),
        suggestion="Create another session with POST /sessions and launch there",
    )


def program_of(about: dict[str, Any], parents: dict[str, Any]) -> dict[str, Any]:
    """What a child runs: what it was started with, or after a fork what its parent runs."""
    if "program" in about:
        return dict(about["program"])
    if about.get("fork") or about["target"].startswith(MULTIPROCESSING):
        return {**parents, "cwd": about["cwd"]}
    key = {"file": "script"}.get(about["kind"], about["kind"])
    target = about["target"]
    if key == "script":
        target = os.path.normpath(os.path.join(about["cwd"] or "", target))
    return {key: target, "args": about["args"], "cwd": about["cwd"], "env": {}}


def _adapter_of(spec: LaunchSpec) -> str:
    if not spec.tunnel_only or spec.adapter == "ez":
        return spec.adapter
    return "native_passed_on" if spec.kind == "program" else "python_passed_on"
