"""One debug session: its parts, and the operations that every door offers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ..adapters.base import Debugger
from ..adapters.switch import Switch
from ..errors import RelayError
from . import assigning, hints, inspection, machine, threads
from .breakpoints import BreakpointTable
from .changes import Changes
from .code import Code, exception
from .data_breakpoints import DataPlacement
from .debuggee import Debuggee
from .debuggers import make_adapter
from .ending import GRACE, Ending
from .events import EventLog, timestamp
from .execution import Execution
from .family import Family
from .input import Input
from .launches import Launches
from .lifetime import Lifetime
from .patience import halt
from .pausing import Pausing
from .placement import Placement
from .portable import Part, Parts, collect, take_over
from .reading import Reading
from .report import Reporter
from .settings import Config
from .spelling import Spelling
from .starting import RESTARTED, Starting
from .state import LIVE, State
from .stops import DETACHED, End, how_it_ended
from .travel import Travel
from .watches import Watches

SHOWN = ("script", "program", "module", "command")
"""of a program, in lists"""
STATUS_PATIENCE = 1.0
"""Seconds for a debugger to list the threads: who polls is not kept waiting by one that is busy."""


class Session:
    def __init__(self, config: Config) -> None:
        limits = config.limits
        self.config = config
        self.id = config.session_id
        self.family = Family(self)
        self.created_at = time.time()
        log = EventLog(limits.event_log_max, limits.output_buffer_max_bytes)
        self.debuggee = Debuggee(log, BreakpointTable(config.project_root))
        self.switch = Switch(self._make_adapter, config.adapter or "debugpy")
        self.adapter = self.switch.as_adapter
        self.lifetime = Lifetime(self.debuggee, config)
        self.placement = Placement(self.debuggee, self.adapter, config.project_root)
        self.input = Input(self.debuggee)
        self.watches = Watches(self.debuggee, self.adapter)
        reporter = Reporter(self.debuggee, self.input, self.watches, self.id, limits.stop_budget_chars)
        self.execution = Execution(self.debuggee, self.input, reporter, limits.dap_timeout_seconds)
        self.starting = Starting(config, self.debuggee, self.switch, self.placement, self.execution)
        self.ending = Ending(self.id, self.debuggee, self.adapter)
        self.launches = Launches(self.debuggee, self.starting, config.launch)
        self.code = Code(config, self.debuggee, self.starting)
        self.spelling = Spelling(self.debuggee.breakpoints)
        self.spelling.learn(config.project_root)
        self.starting.learn = self.spelling.learn
        self.changes = Changes(config, self.debuggee, self.adapter, self.placement, self.lifetime, self.spelling)
        self.parts = self._parts()
        self.reading = Reading(self.debuggee, lambda: self.family.output_note(self))
        self.pausing = Pausing(self.debuggee, self.execution, self.input)
        self.travel = Travel(self.debuggee, self.adapter, self.execution, self.pausing, self.placement)
        self.operations = self._operations()
        self.debuggee.on_ended = self._ended
        self.debuggee.on_program = self.starting.became
        self.family.listen()
        reporter.paused_children = lambda: self.family.paused_children(self)
        reporter.report_of = lambda id, fields, budget: self.family.find(id).execution.report(None, fields, budget)
        self.input.child_has_stopped = lambda: self.family.has_news(self)
        reporter.about_children = lambda: self.family.about_children(self)
        reporter.about_missing = lambda module: self.starting.about_missing(module)
        reporter.children_have_hits = lambda: self.family.have_hits(self)

    def _make_adapter(self, name: str) -> Debugger:
        return make_adapter(name, self.config, self.debuggee, lambda path: self.spelling.spelled(path))

    def _parts(self) -> Parts:
        """What goes along when the session is cloned or exported, besides configuration and launch."""
        return {
            "breakpoints": Part(self.placement.exported, self.placement.take_over),
            "exception_breakpoints": Part(self.placement.exceptions.exported, self.placement.exceptions.take_over),
            "watches": Part(self.watches.exported, self.watches.take_over),
        }

    def _operations(self) -> dict[str, Callable[..., Any]]:
        """By the names under which relay and doors know them."""
        data = DataPlacement(self.debuggee)
        return {
            "info": self.info,
            "status": self.status,
            "summary": self.summary,
            "describe": self.describe,
            "ping": self.ping,
            "update": self.update,
            "export": self.export,
            "launch": self.launches.launch,
            "attach": self.starting.attach,
            "restart": self.launches.restart,
            "detach": self.detach,
            "terminate": self.ending.terminate,
            "set_breakpoints": self.placement.put,
            "list_breakpoints": self.placement.listed,
            "remove_breakpoint": self.placement.remove,
            "clear_breakpoints": self.placement.clear,
            "change_breakpoint": self.placement.change,
            "apply_breakpoints": self.placement.apply,
            "unsaved_breakpoints": self.placement.unsaved.take,
            "set_exception_breakpoint": self.placement.exceptions.put,
            "list_exception_breakpoints": self.placement.exceptions.listed,
            "remove_exception_breakpoints": self.placement.exceptions.remove,
            "continue": self.execution.continue_,
            "pause": self.pausing.pause,
            "step_over": partial(self.travel.step, "step_over"),
            "step_into": partial(self.travel.step, "step_into"),
            "step_out": partial(self.travel.step, "step_out"),
            "step_until": self.travel.step_until,
            "step_targets": self.travel.step_targets,
            "run_to": self.travel.run_to,
            "step_back": partial(self.execution.back, "step_back"),
            "reverse_continue": partial(self.execution.back, "reverse_continue"),
            "record": self.execution.record,
            "read_memory": partial(machine.read_memory, self.debuggee),
            "write_memory": partial(machine.write_memory, self.debuggee),
            "disassemble": partial(machine.disassemble, self.debuggee),
            "set_data_breakpoint": data.put,
            "list_data_breakpoints": data.listed,
            "remove_data_breakpoints": data.remove,
            "report": self.execution.report,
            "stdin": self.execution.stdin,
            "threads": partial(threads.threads, self.debuggee),
            "tasks": partial(threads.tasks, self.debuggee),
            "locks": partial(threads.locks, self.debuggee),
            "stack_trace": partial(inspection.stack_trace, self.debuggee),
            "scopes": partial(inspection.scopes, self.debuggee),
            "variables": partial(inspection.variables, self.debuggee),
            "children": partial(inspection.children, self.debuggee),
            "frame_variables": partial(inspection.frame_variables, self.debuggee),
            "evaluate": self.evaluate,
            "add_watch": self.watches.add,
            "list_watches": self.watches.listed,
            "remove_watch": self.watches.remove,
            "clear_watches": self.watches.clear,
            "set_variable": self.set_variable,
            "set_expression": self.set_expression,
            "completions": partial(hints.completions, self.debuggee),
            "hover": self.hover,
            "source": self.code.source,
            "modules": self.code.modules,
            "exception": partial(exception, self.debuggee),
            "output": self.reading.output,
            "follow_output": self.reading.follow_output,
            "clear_output": self.reading.clear_output,
            "events": self.reading.events,
            "follow_events": self.reading.follow_events,
        }

    # What it is and where it stands.

    @property
    def state(self) -> State:
        return self.debuggee.state

    def info(self, with_token: bool = False) -> dict[str, Any]:
        """The tunnel's token is shown to those who ask for it, and may."""
        stop, end, prompt = self.debuggee.stop, self.debuggee.end, self.input.prompt()
        return {
            "session_id": self.id,
            "name": self.config.name,
            "status": str(self.state),
            "waiting_for_input": None if prompt is None else {"prompt": prompt},
            "stop_reason": stop.reason if stop else None,
            "created_at": timestamp(self.created_at),
            "expires_at": timestamp(time.time() + self.lifetime.remaining()),
            "config": {
                "project_root": self.config.project_root or os.getcwd(),
                "python_path": self.config.interpreter,
                "venv": self.config.venv,
                "pythonpath": self.config.pythonpath,
                "timeout_minutes": round(self.lifetime.timeout / 60, 2),
                "stop_on_entry": self.config.stop_on_entry,
                "adapter": self.config.adapter,
                "stop_scope": self.config.stop_scope if self.state is State.CREATED else self.debuggee.stop_scope,
            },
            "program": self.starting.program,
            "attached": self.starting.attached,
            "debugger": self._debugger(with_token),
            "pid": self.adapter.pid if self.state in LIVE else None,
            "current_location": stop.location if stop else None,
            "stopped_thread_id": stop.thread_id if stop else None,
            "breakpoint_count": len(self.debuggee.breakpoints),
            "exception": stop.to_exception() if stop else None,
            **how_it_ended(end),
            "warning": self.lifetime.warning(),
            **self.family.info(self),
        }

    def _debugger(self, with_token: bool) -> dict[str, Any] | None:
        if self.starting.program is None:
            return None
        about = {"adapter": self.adapter.name, "capabilities": sorted(self.adapter.capabilities)}
        return {**about, **self.starting.tunnel.info(with_token)}

    def describe(self) -> dict[str, Any]:
        """What a relay must know that finds this session again."""
        return {
            "project_root": self.config.project_root,
            "timeout_seconds": self.lifetime.timeout,
            "info": self.info(),
            "children": self.family.described(self),
            "saves_breakpoints": self.config.saves_breakpoints,
        }

    # Its configuration, to change and to take elsewhere.

    async def update(self, **changes: Any) -> dict[str, Any]:
        root = self.family.root
        if root is not self and "timeout_seconds" in changes:
            raise RelayError(
                "NOT_SUPPORTED",
                "Cannot change timeout_minutes: a child's session lasts as long as that of the program",
                suggestion=f"PATCH /api/v1/sessions/{root.id}",
            )
        await self.changes.apply(changes)
        self.debuggee.touch()
        return self.info()

    def export(self, include_env: bool = False, relative: bool = True) -> dict[str, Any]:
        return collect(self.config, self.launches.remembered, self.parts, include_env, relative)

    async def restore(self) -> list[str]:
        """Sets what the session was made with. Says what could not be taken over from another one."""
        await self.placement.restore(self.config.breakpoints)
        return await take_over(self.parts, self.config.parts or {})

    def summary(self) -> dict[str, Any]:
        program = self.starting.program or {}
        return {
            "session_id": self.id,
            "name": self.config.name,
            "status": str(self.state),
            "created_at": timestamp(self.created_at),
            "pid": self.adapter.pid if self.state in LIVE else None,
            "program": next((program[key] for key in SHOWN if key in program), "<code>" if program else None),
            "parent_session_id": self.family.parent_id(self),
        }

    async def status(self) -> dict[str, Any]:
        rows: threads.Rows = []
        is_busy = False
        if self.state in LIVE:
            try:
                async with asyncio.timeout(STATUS_PATIENCE):
                    rows = await threads.overview(self.debuggee)
            except TimeoutError:
                is_busy = True
            except RelayError:  # the rest says what has become of it
                pass
        # All of the rest at one moment: the program may have moved on while its threads were asked for.
        stop, end = self.debuggee.stop, self.debuggee.end
        answer: dict[str, Any] = {
            "session_id": self.id,
            "status": str(self.state),
            "location": stop.location if stop else None,
            "stopped_threads": threads.stopped_threads(self.debuggee, rows),
            "all_threads": None if is_busy else threads.in_short(rows) if self.state in LIVE else [],
            **how_it_ended(end),
            "exception": stop.to_exception() if stop else None,
            "warning": self.lifetime.warning(),
        }
        if stop is not None:
            answer["reason"] = stop.reason
        if is_busy and (why := halt(self.adapter)):
            answer["message"] = why
        prompt = self.input.prompt()
        if prompt is not None and answer["status"] == State.RUNNING:
            answer |= {"status": "waiting_for_input", "prompt": prompt}
        return answer

    def ping(self) -> dict[str, Any]:
        info = self.info()
        return {name: info[name] for name in ("session_id", "status", "expires_at")}

    # What does not need a part of its own.

    async def evaluate(self, expression: str, timeout: float | None = None, **options: Any) -> dict[str, Any]:
        return await inspection.evaluate(self.debuggee, expression, self._patience(timeout), **options)

    async def set_variable(self, timeout: float | None = None, **wish: Any) -> dict[str, Any]:
        return await assigning.set_variable(self.debuggee, timeout=self._patience(timeout), **wish)

    async def set_expression(self, timeout: float | None = None, **wish: Any) -> dict[str, Any]:
        return await assigning.set_expression(self.debuggee, timeout=self._patience(timeout), **wish)

    async def hover(self, timeout: float | None = None, file: str | None = None, **options: Any) -> dict[str, Any]:
        self.debuggee.require("hover")
        if file is not None:
            options["file"] = await self.code.own_path("file", file)
        return await hints.hover(self.debuggee, self._patience(timeout), **options)

    def _patience(self, timeout: float | None) -> float:
        return timeout or self.config.limits.evaluate_timeout_seconds

    async def detach(self) -> dict[str, Any]:
        """What it started goes too: a child that stands at a breakpoint would hold up the program."""
        answer = await self.ending.detach()
        return answer | {"children_let_go": await self.family.let_go_below(self)}

    async def end(self, reason: str, force: bool = False, grace: float = GRACE) -> dict[str, Any]:
        """Ends the program and everything that it started; one that was attached to, or let go, runs on."""
        runs_on, pid = self._is_not_ours_to_end(), self.adapter.pid
        self.placement.close()
        self.debuggee.ending = reason
        self.family.ending(self, reason)
        with contextlib.suppress(RelayError):
            await self.adapter.end(0 if force else grace)
        if self.state in LIVE:
            self.debuggee.finish(End(None, DETACHED if runs_on else reason))
        await self.starting.tunnel.closed()
        return {
            "session_id": self.id,
            "deleted": True,
            "detached": runs_on,
            **({"pid": pid} if runs_on else {}),
            "final_status": DETACHED if runs_on else str(State.TERMINATED),
            "exit_code": how_it_ended(self.debuggee.end)["exit_code"],
            "runtime_seconds": self._runtime(),
        }

    def _is_not_ours_to_end(self) -> bool:
        end = self.debuggee.end
        if end is not None:
            return end.reason == DETACHED and end.status is None
        return self.starting.attached and self.state in LIVE

    def _ended(self, end: End) -> None:
        """Whoever came through the tunnel stays while the same program is started again."""
        if end.reason != RESTARTED:
            self.starting.tunnel.close()

    def _runtime(self) -> float:
        if self.starting.started_at is None:
            return 0.0
        return round((self.debuggee.ended_at or time.monotonic()) - self.starting.started_at, 3)
