"""One debug session: its parts, and the operations that every door offers."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ..adapters.debugpy.adapter import DebugpyAdapter
from ..errors import RelayError
from . import inspection, threads
from .breakpoints import BreakpointTable
from .debuggee import Debuggee
from .events import EventLog, timestamp
from .execution import Execution
from .lifetime import Lifetime
from .placement import Placement
from .report import Reporter
from .settings import Config
from .starting import Starting
from .state import LIVE, State
from .stops import End

GRACE = 2.0


class Session:
    def __init__(self, config: Config) -> None:
        limits = config.limits
        self.config = config
        self.id = config.session_id
        self.created_at = time.time()
        log = EventLog(limits.event_log_max, limits.output_buffer_max_bytes)
        self.debuggee = Debuggee(log, BreakpointTable(config.project_root))
        self.adapter = DebugpyAdapter(
            self.id, config.interpreter, self.debuggee, limits.dap_timeout_seconds, limits.dap_launch_timeout_seconds
        )
        self.lifetime = Lifetime(self.debuggee, config)
        self.placement = Placement(self.debuggee, self.adapter, config.project_root)
        reporter = Reporter(self.debuggee, self.id, limits.stop_budget_chars)
        self.execution = Execution(self.debuggee, reporter, limits.dap_timeout_seconds)
        self.starting = Starting(config, self.debuggee, self.adapter, self.placement, self.execution)
        self.operations = self._operations()

    def _operations(self) -> dict[str, Callable[..., Any]]:
        """By the names under which relay and doors know them."""
        return {
            "info": self.info,
            "status": self.status,
            "summary": self.summary,
            "describe": self.describe,
            "ping": self.ping,
            "launch": self.starting.launch,
            "attach": self.starting.attach,
            "set_breakpoints": self.placement.put,
            "list_breakpoints": self.placement.listed,
            "remove_breakpoint": self.placement.remove,
            "continue": self.execution.continue_,
            "pause": self.execution.pause,
            "step_over": partial(self.execution.step, "step_over"),
            "step_into": partial(self.execution.step, "step_into"),
            "step_out": partial(self.execution.step, "step_out"),
            "report": self.execution.report,
            "threads": partial(threads.threads, self.debuggee),
            "tasks": partial(threads.tasks, self.debuggee),
            "stack_trace": partial(inspection.stack_trace, self.debuggee),
            "scopes": partial(inspection.scopes, self.debuggee),
            "variables": partial(inspection.variables, self.debuggee),
            "frame_variables": partial(inspection.frame_variables, self.debuggee),
            "evaluate": self.evaluate,
            "output": self.output,
            "events": self.events,
        }

    # What it is and where it stands.

    @property
    def state(self) -> State:
        return self.debuggee.state

    def info(self) -> dict[str, Any]:
        stop, end = self.debuggee.stop, self.debuggee.end
        return {
            "session_id": self.id,
            "name": self.config.name,
            "status": str(self.state),
            "stop_reason": stop.reason if stop else None,
            "created_at": timestamp(self.created_at),
            "expires_at": timestamp(time.time() + self.lifetime.remaining()),
            "config": {
                "project_root": self.config.project_root or os.getcwd(),
                "python_path": self.config.interpreter,
                "stop_on_entry": self.config.stop_on_entry,
                "stop_scope": self.config.stop_scope,
            },
            "program": self.starting.program,
            "pid": self.adapter.pid if self.state in LIVE else None,
            "current_location": stop.location if stop else None,
            "stopped_thread_id": stop.thread_id if stop else None,
            "breakpoint_count": len(self.debuggee.breakpoints),
            "exception": stop.to_exception() if stop else None,
            **self._ending(end),
            "warning": self.lifetime.warning(),
        }

    def _ending(self, end: End | None) -> dict[str, Any]:
        status = end.status if end else None
        return {
            "exit_code": status.code if status else None,
            "signal": status.signal if status else None,
            "reason": end.reason if end else None,
        }

    def describe(self) -> dict[str, Any]:
        """What a relay must know that finds this session again."""
        return {"project_root": self.config.project_root, "info": self.info()}

    def summary(self) -> dict[str, Any]:
        program = self.starting.program or {}
        return {
            "session_id": self.id,
            "name": self.config.name,
            "status": str(self.state),
            "created_at": timestamp(self.created_at),
            "program": program.get("script") or program.get("module") or ("<code>" if program else None),
        }

    async def status(self) -> dict[str, Any]:
        rows: threads.Rows = []
        if self.state in LIVE:
            with contextlib.suppress(RelayError):
                rows = await threads.overview(self.debuggee)
        # All of the rest at one moment: the program may have moved on while its threads were asked for.
        stop, end = self.debuggee.stop, self.debuggee.end
        answer: dict[str, Any] = {
            "session_id": self.id,
            "status": str(self.state),
            "location": stop.location if stop else None,
            "stopped_threads": threads.stopped_threads(self.debuggee, rows),
            "all_threads": threads.in_short(rows) if self.state in LIVE else [],
            **self._ending(end),
            "exception": stop.to_exception() if stop else None,
            "warning": self.lifetime.warning(),
        }
        if stop is not None:
            answer["reason"] = stop.reason
        return answer

    def ping(self) -> dict[str, Any]:
        info = self.info()
        return {name: info[name] for name in ("session_id", "status", "expires_at")}

    # What does not need a part of its own.

    async def evaluate(self, expression: str, timeout: float | None = None, **options: Any) -> dict[str, Any]:
        timeout = timeout or self.config.limits.evaluate_timeout_seconds
        return await inspection.evaluate(self.debuggee, expression, timeout, **options)

    def output(self, cursor: str | None = None, limit: int = 100, category: str | None = None) -> dict[str, Any]:
        return self.debuggee.log.read_output(cursor, limit, category)

    async def events(self, cursor: str | None = None, limit: int = 100, timeout: float = 0) -> dict[str, Any]:
        answer = await self.debuggee.log.read_events(cursor, limit, timeout)
        return {**answer, "session_status": str(self.state)}

    async def end(self, reason: str, force: bool = False) -> dict[str, Any]:
        """Ends the program and everything that it started."""
        self.placement.close()
        self.debuggee.ending = reason
        with contextlib.suppress(RelayError):
            await self.adapter.end(0 if force else GRACE)
        if self.state in LIVE:
            self.debuggee.finish(End(None, reason))
        return {
            "session_id": self.id,
            "deleted": True,
            "final_status": str(State.TERMINATED),
            "exit_code": self._ending(self.debuggee.end)["exit_code"],
            "runtime_seconds": self._runtime(),
        }

    def _runtime(self) -> float:
        if self.starting.started_at is None:
            return 0.0
        return round((self.debuggee.ended_at or time.monotonic()) - self.starting.started_at, 3)
