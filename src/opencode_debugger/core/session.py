"""One debug session: the operations that every door offers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from dataclasses import dataclass, field
from typing import Any

from ..adapters.base import AttachSpec, LaunchSpec
from ..adapters.debugpy.adapter import DebugpyAdapter
from ..errors import RelayError
from . import inspection
from .breakpoints import Breakpoint, BreakpointTable, examine
from .debuggee import Debuggee, wait_for
from .events import EventLog, timestamp
from .report import Reporter
from .state import ENDED, State
from .stops import End, Outcome, Stop

STOP_ON: dict[Any, list[str]] = {
    False: [],
    "uncaught": ["uncaught"],
    "raised": ["raised"],
    True: ["raised", "uncaught"],
}
STEPS = {"step-over": "next", "step-into": "stepIn", "step-out": "stepOut"}
PAUSE_PATIENCE = 2.0
FILE_WATCH = 1.0
GRACE = 2.0


@dataclass
class Limits:
    """Settings that reach the runner as plain numbers."""

    output_buffer_max_bytes: int = 50 * 1024 * 1024
    event_log_max: int = 10_000
    dap_timeout_seconds: float = 30.0
    dap_launch_timeout_seconds: float = 60.0
    evaluate_timeout_seconds: float = 10.0
    session_timeout_seconds: float = 3600.0
    session_max_lifetime_seconds: float = 0.0
    default_python_path: str = "python3"
    stop_budget_chars: int = 4000


@dataclass
class Config:
    """What a client asked for when it created the session."""

    session_id: str
    name: str
    project_root: str | None = None
    python_path: str | None = None
    timeout_seconds: float | None = None
    stop_on_entry: bool = False
    breakpoints: list[dict[str, Any]] = field(default_factory=list)
    """to restore"""
    limits: Limits = field(default_factory=Limits)


class Session:
    def __init__(self, config: Config) -> None:
        limits = config.limits
        self.config = config
        self.id = config.session_id
        self.timeout = config.timeout_seconds or limits.session_timeout_seconds
        self.created_at = time.time()
        self._started = time.monotonic()
        self._program: dict[str, Any] | None = None
        self._ran_from: float | None = None
        self._watch: asyncio.Task[None] | None = None
        log = EventLog(limits.event_log_max, limits.output_buffer_max_bytes)
        self.breakpoints = BreakpointTable(config.project_root)
        self.debuggee = Debuggee(log, self.breakpoints)
        self.reporter = Reporter(self.debuggee, self.id, limits.stop_budget_chars)
        self.adapter = DebugpyAdapter(
            self.id, self.python_path, self.debuggee, limits.dap_timeout_seconds, limits.dap_launch_timeout_seconds
        )

    async def restore_breakpoints(self) -> None:
        """Those of the project that still make sense; a line that is gone is no reason to refuse a session."""
        for definition in self.config.breakpoints:
            item = {**definition, "path": (definition.get("source") or {}).get("path"), "function": None}
            with contextlib.suppress(RelayError, KeyError, TypeError):
                drafts = await self.breakpoints.check([item], False, self.adapter)
                self.breakpoints.place(drafts[0])
        self._watch_missing_files()


    @property
    def python_path(self) -> str:
        return self.config.python_path or self.config.limits.default_python_path

    # What it is and where it stands.

    @property
    def state(self) -> State:
        return self.debuggee.state

    def idle_seconds(self) -> float:
        return time.monotonic() - self.debuggee.last_activity

    def remaining_seconds(self) -> float:
        remaining = self.timeout - self.idle_seconds()
        lifetime = self.config.limits.session_max_lifetime_seconds
        if lifetime:
            remaining = min(remaining, lifetime - (time.monotonic() - self._started))
        return remaining

    def warning(self) -> str | None:
        remaining = self.remaining_seconds()
        if remaining > self.timeout / 2:
            return None
        amount, unit = (remaining / 60, "minutes") if remaining >= 120 else (remaining, "seconds")
        return f"Session will expire in {max(amount, 0):.0f} {unit}"

    def info(self) -> dict[str, Any]:
        stop, end = self.debuggee.stop, self.debuggee.end
        return {
            "session_id": self.id,
            "name": self.config.name,
            "status": str(self.state),
            "stop_reason": stop.reason if stop else None,
            "created_at": timestamp(self.created_at),
            "expires_at": timestamp(time.time() + self.remaining_seconds()),
            "config": {
                "project_root": self.config.project_root or os.getcwd(),
                "python_path": self.python_path,
                "stop_on_entry": self.config.stop_on_entry,
            },
            "program": self._program,
            "pid": self.adapter.pid if self.state not in ENDED else None,
            "current_location": stop.location if stop else None,
            "stopped_thread_id": stop.thread_id if stop else None,
            "breakpoint_count": len(self.breakpoints),
            "exception": stop.to_exception() if stop else None,
            "exit_code": end.status.code if end and end.status else None,
            "signal": end.status.signal if end and end.status else None,
            "reason": end.reason if end else None,
            "warning": self.warning(),
        }

    def created(self) -> dict[str, Any]:
        shown = ("session_id", "name", "status", "created_at", "expires_at", "config", "breakpoint_count")
        info = self.info()
        return {name: info[name] for name in shown}

    def describe(self) -> dict[str, Any]:
        """What a relay must know that finds this session again."""
        return {"name": self.config.name, "project_root": self.config.project_root}

    def summary(self) -> dict[str, Any]:
        program = self._program or {}
        return {
            "session_id": self.id,
            "name": self.config.name,
            "status": str(self.state),
            "created_at": timestamp(self.created_at),
            "program": program.get("script") or program.get("module") or ("<code>" if program else None),
        }

    async def status(self) -> dict[str, Any]:
        stop, end = self.debuggee.stop, self.debuggee.end
        answer: dict[str, Any] = {
            "session_id": self.id,
            "status": str(self.state),
            "reason": stop.reason if stop else end.reason if end else None,
            "location": stop.location if stop else None,
            "stopped_threads": [],
            "all_threads": [],
            "exit_code": end.status.code if end and end.status else None,
            "signal": end.status.signal if end and end.status else None,
            "exception": stop.to_exception() if stop else None,
            "warning": self.warning(),
        }
        if self.state in (State.RUNNING, State.PAUSED):
            await self._add_threads(answer, stop)
        return answer

    async def _add_threads(self, answer: dict[str, Any], stop: Stop | None) -> None:
        with contextlib.suppress(RelayError):
            listed = (await inspection.threads(self.debuggee))["threads"]
            if self.debuggee.stop is not stop:
                return
            answer["all_threads"] = [
                {"thread_id": thread["id"], "name": thread["name"], "status": thread["status"]} for thread in listed
            ]
            answer["stopped_threads"] = [
                {
                    "thread_id": thread["id"],
                    "name": thread["name"],
                    "breakpoint_id": next(iter(stop.hit_ids), None),
                    "location": stop.location,
                }
                for thread in listed
                if stop and thread["id"] == stop.thread_id
            ]

    def ping(self) -> dict[str, Any]:
        return {"session_id": self.id, "status": str(self.state), "expires_at": self.info()["expires_at"]}

    # Starting.

    async def launch(
        self,
        script: str | None = None,
        module: str | None = None,
        code: str | None = None,
        args: list[str] | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        stop_on_entry: bool | None = None,
        stop_on_exception: bool | str = "uncaught",
        console: str = "internalConsole",
        python_args: list[str] | None = None,
        python_path: str | None = None,
        just_my_code: bool = False,
        wait: float | bool | None = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        self.debuggee.require("launch")
        folder = self._working_folder(cwd)
        kind, target = ("file", script) if script else ("module", module) if module else ("code", code)
        assert target is not None
        spec = LaunchSpec(
            kind,
            self._find_script(target, folder) if kind == "file" else target,
            args or [],
            folder,
            env or {},
            python_path or self.python_path,
            python_args or [],
            self.config.stop_on_entry if stop_on_entry is None else stop_on_entry,
            just_my_code,
        )
        run = self.debuggee.begin_run(State.LAUNCHING)
        try:
            await self.adapter.check_launch(spec)
            self._ran_from = time.monotonic()
            self.debuggee.adapter = self.adapter
            await self.adapter.launch(spec, self.breakpoints.for_debugger(), STOP_ON[stop_on_exception])
        except BaseException as error:
            await self._undo_launch(error)
            raise
        key = {"file": "script", "module": "module", "code": "code"}[kind]
        self._program = {key: spec.target, "args": spec.args, "cwd": spec.cwd, "env": spec.env}
        if self.state is State.LAUNCHING:
            self.debuggee.state = State.RUNNING
        answer = await self._answer(run, self._seconds(wait, 0), fields, budget)
        return {**answer, "pid": self.adapter.pid, "program": self._program}

    def _working_folder(self, cwd: str | None) -> str:
        folder = os.path.join(self.config.project_root or os.getcwd(), cwd or "")
        if not os.path.isdir(folder):
            raise _invalid("cwd", cwd or folder, "is not an existing folder", "Create it or choose another cwd")
        return os.path.normpath(folder)

    def _find_script(self, script: str, folder: str) -> str:
        path = os.path.normpath(os.path.join(folder, script))
        if os.path.isfile(path):
            return path
        what = "is a directory, not a script" if os.path.isdir(path) else "does not exist"
        raise RelayError("LAUNCH_SCRIPT_NOT_FOUND", f"Script {path} {what}", script=script, path=path)

    async def _undo_launch(self, error: BaseException) -> None:
        """Back to where it was before, so that a corrected launch can follow."""
        self.debuggee.state = State.CREATED
        await self.adapter.end(0)
        self.debuggee.adapter = None
        self.debuggee.output.finish()
        if isinstance(error, RelayError) and error.code == "LAUNCH_FAILED":
            _, entries, _ = self.debuggee.log.output_since(max(0, self.debuggee.log.output_end - 20), 20)
            error.details["output"] = "".join(entry.body[1] for entry in entries)[-2000:]

    async def attach(
        self,
        pid: int | None = None,
        host: str | None = None,
        port: int | None = None,
        connect_timeout: float = 10,
        wait: float | bool | None = None,
    ) -> dict[str, Any]:
        self.debuggee.require("attach")
        if port is None:
            raise RelayError(
                "ATTACH_FAILED",
                f"Attaching to process {pid} by its id is not available",
                suggestion="Start it with: python -m debugpy --listen 127.0.0.1:PORT script.py, and attach to the port",
            )
        run = self.debuggee.begin_run(State.LAUNCHING)
        self.debuggee.adapter = self.adapter
        spec = AttachSpec(host or "localhost", port, connect_timeout)
        try:
            await self.adapter.attach(spec, self.breakpoints.for_debugger(), STOP_ON["uncaught"])
        except BaseException as error:
            await self._undo_launch(error)
            raise
        self._ran_from = time.monotonic()
        if self.state is State.LAUNCHING:
            self.debuggee.state = State.RUNNING
        answer = await self._answer(run, self._seconds(wait, 0), None, None)
        return {**answer, "attached": True, "pid": self.adapter.pid, "host": spec.host, "port": spec.port}

    # Breakpoints.

    async def set_breakpoints(
        self, breakpoints: list[dict[str, Any]], strict: bool = False, single: bool = False
    ) -> dict[str, Any]:
        drafts = await self.breakpoints.check(breakpoints, strict, self.adapter)
        placed = [self.breakpoints.place(draft) for draft in drafts]
        await self._send_breakpoints({bp.path for bp, _ in placed})
        for bp, reason in placed:
            self._announce(bp, reason)
        self._watch_missing_files()
        answer: dict[str, Any] = {"breakpoints": [bp.to_dict() for bp, _ in placed]}
        if single:
            answer |= {"breakpoint_id": placed[0][0].id, "verified": placed[0][0].verified}
        return answer

    async def _send_breakpoints(self, paths: set[str]) -> None:
        if self.state not in (State.RUNNING, State.PAUSED):
            return
        for path in paths:
            group = self.breakpoints.in_file(path)
            bound = await self.adapter.set_breakpoints(path, [bp.for_debugger() for bp in group])
            for bp, result in zip(group, bound, strict=True):
                bp.bind(result)

    def _announce(self, bp: Breakpoint, reason: str) -> None:
        self.debuggee.log.add("breakpoint", {"reason": reason, "breakpoint": bp.to_dict()})

    async def list_breakpoints(self, file: str | None = None, verified: bool | None = None) -> dict[str, Any]:
        if self.state in (State.RUNNING, State.PAUSED):
            with contextlib.suppress(RelayError):
                self.debuggee.on_hits(await self.adapter.hits())
        real = os.path.realpath(os.path.join(self.config.project_root or "/", file)) if file else None
        shown = [
            bp.to_dict()
            for bp in self.breakpoints.all()
            if (real is None or bp.key[0] == real) and verified in (None, bp.verified)
        ]
        return {"breakpoints": shown, "total": len(shown)}

    async def remove_breakpoint(self, breakpoint_id: str) -> dict[str, Any]:
        bp = self.breakpoints.find(breakpoint_id)
        self.breakpoints.remove(bp)
        await self._send_breakpoints({bp.path})
        self._announce(bp, "removed")
        return {"id": bp.id, "deleted": True, "source": {"path": bp.path}, "line": bp.line}

    def _watch_missing_files(self) -> None:
        if self._watch is None and self.breakpoints.pending():
            self._watch = asyncio.get_running_loop().create_task(self._verify_when_files_appear())

    async def _verify_when_files_appear(self) -> None:
        while pending := self.breakpoints.pending():
            await asyncio.sleep(FILE_WATCH)
            for bp in pending:
                if not os.path.isfile(bp.path):
                    continue
                try:
                    await examine(bp, False, self.adapter)
                except RelayError as error:
                    bp.is_pending, bp.message = False, error.message
                with contextlib.suppress(RelayError):
                    await self._send_breakpoints({bp.path})
                self._announce(bp, "changed")
        self._watch = None

    # Running.

    async def continue_(
        self,
        thread_id: int | None = None,
        wait: float | bool | None = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        stop = self.debuggee.require_stop("continue")
        if thread_id is not None and thread_id != stop.thread_id:
            await inspection.require_thread(self.debuggee, thread_id)
            self.debuggee.require("continue")
        run = self.debuggee.begin_run()
        self._announce_continued(thread_id or stop.thread_id)
        self.adapter.resume(thread_id or stop.thread_id)
        answer = await self._answer(run, self._seconds(wait, 0), fields, budget)
        return {**answer, "continued": True}

    def _announce_continued(self, thread_id: int) -> None:
        self.debuggee.log.add("continued", {"thread_id": thread_id, "all_threads_continued": True})

    async def step(
        self,
        operation: str,
        thread_id: int | None = None,
        granularity: str = "line",
        wait: float | bool | None = True,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        stop = self.debuggee.require_stop(operation)
        if thread_id is not None and thread_id != stop.thread_id:
            await inspection.require_thread(self.debuggee, thread_id)
            self.debuggee.require(operation)
        leaving = stop.frames[0]["name"] if operation == "step-out" and stop.frames else None
        thread_id = thread_id or stop.thread_id
        run = self.debuggee.begin_run(leaving=leaving)
        self._announce_continued(thread_id)
        try:
            await self.adapter.step(STEPS[operation], thread_id)
        except RelayError:
            self.debuggee.undo_run(stop)
            if self.state not in ENDED:
                raise
        return await self._answer(run, self._seconds(wait, self.default_wait), fields, budget)

    async def step_over(self, **options: Any) -> dict[str, Any]:
        return await self.step("step-over", **options)

    async def step_into(self, **options: Any) -> dict[str, Any]:
        return await self.step("step-into", **options)

    async def step_out(self, **options: Any) -> dict[str, Any]:
        return await self.step("step-out", **options)

    async def pause(
        self,
        thread_id: int | None = None,
        wait: float | bool | None = None,
        fields: list[str] | None = None,
        budget: int | None = None,
    ) -> dict[str, Any]:
        self.debuggee.require("pause")
        if thread_id is not None:
            await inspection.require_thread(self.debuggee, thread_id)
            self.debuggee.require("pause")
        run = self.debuggee.current_run
        await self.adapter.pause(thread_id)
        answer = await self._answer(run, self._seconds(wait, PAUSE_PATIENCE), fields, budget)
        if answer.get("timed_out"):
            answer["message"] = "The program is busy in a call that cannot be paused; it will pause when that returns"
        return answer

    async def report(
        self, wait: float | bool | None = None, fields: list[str] | None = None, budget: int | None = None
    ) -> dict[str, Any]:
        """The stop report of now; with wait, of the next stop if the program is running."""
        if self.state in (State.RUNNING, State.LAUNCHING):
            return await self._answer(self.debuggee.current_run, self._seconds(wait, 0), fields, budget)
        return await self.reporter.report(self.debuggee.stop or self.debuggee.end, fields, budget)

    @property
    def default_wait(self) -> float:
        return self.config.limits.dap_timeout_seconds

    def _seconds(self, wait: float | bool | None, default: float) -> float:
        if wait is None:
            return default
        if isinstance(wait, bool):
            return self.default_wait if wait else 0
        return wait

    async def _answer(
        self,
        run: asyncio.Future[Outcome] | None,
        seconds: float,
        fields: list[str] | None,
        budget: int | None,
    ) -> dict[str, Any]:
        """What came of a run, or that it goes on."""
        outcome = await wait_for(run, seconds) if seconds else None
        if outcome is None and not seconds:
            outcome = self.debuggee.stop or self.debuggee.end
            if outcome is None:
                return {"session_id": self.id, "status": str(self.state)}
        answer = await self.reporter.report(outcome, fields, budget)
        if outcome is None:
            answer["timed_out"] = True
        return answer

    # Looking.

    async def threads(self) -> dict[str, Any]:
        return await inspection.threads(self.debuggee)

    async def stack_trace(self, **options: Any) -> dict[str, Any]:
        return await inspection.stack_trace(self.debuggee, **options)

    async def scopes(self, **options: Any) -> dict[str, Any]:
        return await inspection.scopes(self.debuggee, **options)

    async def variables(self, **options: Any) -> dict[str, Any]:
        return await inspection.variables(self.debuggee, **options)

    async def frame_variables(self, **options: Any) -> dict[str, Any]:
        return await inspection.frame_variables(self.debuggee, **options)

    async def evaluate(self, expression: str, timeout: float | None = None, **options: Any) -> dict[str, Any]:
        timeout = timeout or self.config.limits.evaluate_timeout_seconds
        return await inspection.evaluate(self.debuggee, expression, timeout, **options)

    def read_output(
        self, cursor: str | None = None, limit: int = 100, category: str | None = None
    ) -> dict[str, Any]:
        return self.debuggee.log.read_output(cursor, limit, category)

    async def events(self, cursor: str | None = None, limit: int = 100, timeout: float = 0) -> dict[str, Any]:
        answer = await self.debuggee.log.read_events(cursor, limit, timeout)
        return {**answer, "session_status": str(self.state)}

    # Ending.

    async def end(self, reason: str, force: bool = False) -> dict[str, Any]:
        """Ends the program and everything that it started."""
        if self._watch is not None:
            self._watch.cancel()
        with contextlib.suppress(RelayError):
            await self.adapter.end(0 if force else GRACE)
        if self.state not in ENDED and self.state is not State.CREATED:
            self.debuggee.finish(End(None, reason))
        end = self.debuggee.end
        return {
            "session_id": self.id,
            "deleted": True,
            "final_status": str(State.FAILED if self.state is State.FAILED else State.TERMINATED),
            "exit_code": end.status.code if end and end.status else None,
            "runtime_seconds": self._runtime(),
        }

    def _runtime(self) -> float:
        if self._ran_from is None:
            return 0.0
        return round((self.debuggee.ended_at or time.monotonic()) - self._ran_from, 3)


def _invalid(name: str, value: str, what: str, suggestion: str) -> RelayError:
    return RelayError(
        "INVALID_PARAMETER", f"{name} {value[:200]!r} {what}", field=name, value=value[:200], suggestion=suggestion
    )
