"""One debug session: its parts, and the operations that every door offers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from ..answers import sessions as answers
from ..answers.documents import ExportedSession
from ..answers.shape import UNSET, unless_none
from ..debuggers.debugger_switch import Switch
from ..debuggers.python import debugpy_adapter  # noqa: F401  most sessions need it: it is there before runners fork
from ..debuggers.registry import DEFAULT, DebuggerSetup, configured_paths, find_record
from ..errors import RelayError
from ..operations.advice import advice
from ..operations.states import LIVE, State
from ..operations.table import OPERATIONS
from ..text.view import View
from ..timestamps import timestamp
from .breakpoints.breakpoint_table import BreakpointTable
from .breakpoints.data_breakpoints import DataBreakpoints
from .breakpoints.placement import Placement
from .execution.execution import Execution
from .execution.patience import explain_halt
from .execution.pausing import Pausing
from .execution.recorder import Recorder
from .execution.stepping import Stepping
from .execution.stop_report import Reporter
from .execution.stops import DETACHED, End
from .going_back.going_back import GoingBack
from .going_back.past_report import PastReporter
from .inspection.assignment import Assignment
from .inspection.editor_hints import EditorHints
from .inspection.memory import Memory
from .inspection.path_spelling import PathSpelling
from .inspection.paused_program import Inspection
from .inspection.project_files import ProjectFiles
from .inspection.source_and_modules import SourceAndModules
from .inspection.threads_and_tasks import ThreadsAndTasks, short_rows
from .inspection.watch_table import Watches
from .lifecycle.debuggee import Debuggee
from .lifecycle.expiry import Lifetime
from .lifecycle.family import Family
from .lifecycle.relatives import Relatives
from .lifecycle.starting import GRACE, RESTARTED, Starting
from .log.event_log import EventLog
from .log.log_pages import LogPages
from .log.program_input import ProgramInput
from .log.timeline import TimelineWords
from .log.timeline_pages import TimelinePages
from .recording.files.known_recordings import KnownRecordings
from .recording.files.recording_export import ExportFolder
from .recording.recorded_run import RecordedRun
from .session_settings import Config, apply_changes, export_config, export_launch, relative_to
from .shared_control.command_notes import CommandNotes
from .shared_control.wheel import Wheel

if TYPE_CHECKING:
    from ..debuggers.protocols import Debugger
    from ..debuggers.rows import ProgramRow

STATUS_PATIENCE = 1.0
"""Seconds for a debugger to list the threads: who polls is not kept waiting by one that is busy."""


class Session:
    """One debug session. A child's has the family, and the lifetime, of the program's session, its elder."""

    def __init__(
        self, config: Config, family: Family | None = None, parent: Session | None = None, pid: int = 0
    ) -> None:
        limits = config.limits
        self.config = config
        self.id = config.session_id
        self.family = family or Family()
        if parent is None:
            self.family.members[self.id] = self
        elder = self.family.root if parent else None
        self.tunnel = self.family.make_tunnel(self)
        self.created_at = time.time()
        log = EventLog(
            limits.event_log_max, limits.output_buffer_max_bytes, limits.timeline_max_bytes, self.family.note_change)
        self.relatives: Relatives = Relatives(self.family, self, parent, pid)
        breakpoints = BreakpointTable(config.project_root)
        self.debuggee: Debuggee = Debuggee(log, breakpoints, self.relatives, self, elder.debuggee if elder else None)
        self.switch = Switch(self._make_adapter, config.adapter or DEFAULT)
        self.adapter = self.switch.as_adapter
        self.lifetime: Lifetime = elder.lifetime if elder else Lifetime(self.debuggee, config)
        self.placement = Placement(self.debuggee, self.adapter, config.project_root)
        self.input = ProgramInput(self.debuggee, self.relatives)
        self.watches = Watches(self.debuggee, self.adapter)
        parts = (self.debuggee, self.input, self.watches, self.relatives)
        reporter = Reporter(*parts, self._about_missing, self.id, limits.stop_budget_chars)
        self.execution = Execution(self.debuggee, self.input, reporter, limits.dap_timeout_seconds)
        recordings = KnownRecordings(self.adapter)
        self.recorder = Recorder(self.debuggee, recordings, config)
        self.recorded_run = RecordedRun(recordings, View(config.project_root), ExportFolder(config.folder))
        self.path_spelling = PathSpelling(breakpoints)
        self.path_spelling.learn_folder(config.project_root)
        self.starting: Starting = Starting(
            config, self.debuggee, self.switch, self.placement, self.execution, self.path_spelling, self.tunnel
        )
        self.source_and_modules = SourceAndModules(config, self.debuggee, self.starting)
        self.project_files = ProjectFiles(config, self.debuggee, self.starting)
        words = TimelineWords(config)
        self.log_pages = LogPages(self.debuggee, self.relatives.output_session_id, words)
        self.timeline_pages = TimelinePages(log, words, self.summary)
        self.wheel: Wheel = Wheel(self.id, log, limits.wheel_idle_seconds, parent.wheel if parent else None)
        self.command_notes = CommandNotes(self.debuggee, self.wheel)
        self.pausing = Pausing(self.debuggee, self.execution, self.input)
        self.stepping = Stepping(self.debuggee, self.adapter, self.execution, self.pausing, self.placement)
        self.threads = ThreadsAndTasks(self.debuggee)
        self.inspection = Inspection(self.debuggee, limits.evaluate_timeout_seconds)
        self.assignment = Assignment(self.debuggee, limits.evaluate_timeout_seconds)
        self.editor_hints = EditorHints(self.debuggee, self.source_and_modules, limits.evaluate_timeout_seconds)
        self.memory = Memory(self.debuggee)
        self.data_breakpoints = DataBreakpoints(self.debuggee)
        self.going_back = GoingBack(
            self.debuggee, self.execution, self.recorded_run, self.source_and_modules,
            PastReporter(self.debuggee, self.watches, self.id, limits.stop_budget_chars), self.watches,
        )
        self._methods: dict[str, Callable[..., Any]] = {}

    def _make_adapter(self, name: str) -> Debugger:
        config, limits = self.config, self.config.limits
        setup = DebuggerSetup(
            session_id=self.id, folder=config.folder, listener=self.debuggee, timeout=limits.dap_timeout_seconds,
            launch_timeout=limits.dap_launch_timeout_seconds, interpreter=config.interpreter,
            asks_early=config.asks_early, paths=configured_paths(limits),
            spell=lambda path: self.path_spelling.spell_path(path),
        )
        return find_record(name).make(setup)

    def method_of(self, operation: str) -> Callable[..., Any]:
        """Return what carries an operation out, by the name under which relay and doors know it: in the present, or in
        the past if the session stands there."""
        declared = OPERATIONS.get(operation)
        if declared is None or not declared.by_session:
            raise RelayError("INVALID_REQUEST", f"There is no operation {operation[:100]!r}")
        if operation not in self._methods:
            self._methods[operation] = attrgetter(declared.by_session)(self)
        return self.going_back.method_in_past(declared) or self._methods[operation]

    async def perform(self, operation: str, *given: Any, **params: Any) -> Any:
        """Carry an operation out for a client of this process, and note it."""
        carry_out = self.method_of(operation)
        with self.command_notes.begin(OPERATIONS[operation], params) as note:
            answer = carry_out(*given, **params)
            answer = await answer if asyncio.iscoroutine(answer) else answer
            if note.is_noted:
                note.answer = msgspec.json.encode(answer)
        return answer

    # Descriptions of the session.

    @property
    def state(self) -> State:
        return self.debuggee.state

    def info(self, with_token: bool = False) -> answers.Session:
        """Describe the session; the tunnel's token is shown to those who ask for it, and may."""
        stop, prompt, debugger = self.debuggee.stop, self.input.prompt(), None
        if self.starting.program is not None:
            capabilities, tunnel = sorted(self.adapter.capabilities), asdict(self.tunnel.info(with_token))
            debugger = answers.SessionDebugger(adapter=self.adapter.name, capabilities=capabilities, **tunnel)
        return answers.Session(
            **self._summary_fields() | {"program": self.starting.program_answer()},
            **asdict(self.debuggee.ending),
            waiting_for_input=None if prompt is None else answers.WaitingForInput(prompt=prompt),
            stop_reason=stop.reason if stop else None, current_location=stop.location if stop else None,
            stopped_thread_id=stop.thread_id if stop else None, exception=stop.to_exception() if stop else None,
            expires_at=timestamp(time.time() + self.lifetime.seconds_left()), warning=self.lifetime.warning(),
            config=self._describe_config(), attached=self.starting.attached, debugger=debugger,
            breakpoint_count=len(self.debuggee.breakpoints), children=self.relatives.describe_children(),
            output_session_id=unless_none(self.relatives.output_session_id()), past=self.going_back.describe(),
        )

    def _summary_fields(self) -> dict[str, Any]:
        fields = asdict(self.summary())
        del fields["location"]  # which is told in full
        return fields

    def _describe_config(self) -> answers.SessionConfig:
        config = self.config
        return answers.SessionConfig(
            project_root=config.project_root or os.getcwd(), python_path=config.interpreter, venv=config.venv,
            pythonpath=config.pythonpath, stop_on_entry=config.stop_on_entry, adapter=config.adapter,
            timeout_minutes=round(self.lifetime.timeout / 60, 2),
            stop_scope=config.stop_scope if self.state is State.CREATED else self.debuggee.stop_scope,
        )

    def describe(self) -> answers.SessionDescription:
        """Describe what a relay must know that finds this session again; with the program's, those of children."""
        others = [each for each in self.family.members.values() if each is not self]
        return answers.SessionDescription(
            project_root=self.config.project_root, timeout_seconds=self.lifetime.timeout, info=self.info(),
            children=[child.describe() for child in others] if self is self.family.root else [],
            saves_breakpoints=self.config.saves_breakpoints,
        )

    # Settings, and documents of the session.

    async def update_settings(self, **changes: Any) -> answers.Session:
        root = self.family.root
        if root is not self and "timeout_seconds" in changes:
            message = "Cannot change timeout_minutes: a child's session lasts as long as that of the program"
            raise RelayError("NOT_SUPPORTED", message, suggestion=advice(f"{{/update session_id={root.id}}}"))
        await apply_changes(self, changes)
        self.debuggee.touch()
        return self.info()

    def export_session(self, include_env: bool = False, relative: bool = True) -> ExportedSession:
        place = relative_to(self.config.project_root) if relative else str
        return ExportedSession(
            name=self.config.name, config=export_config(self.config, place),
            launch=export_launch(self.starting.remembered, self.config, place, include_env),
            breakpoints=self.placement.export_breakpoints(place),
            exception_breakpoints=self.placement.exceptions.export_breakpoints(place),
            watches=self.watches.export_watches(place),
        )

    async def restore_parts(self) -> list[str]:
        """Set what the session was made with. Return what could not be taken over from another one."""
        await self.placement.restore_breakpoints(self.config.breakpoints)
        take_over: dict[str, Callable[[Any], Awaitable[list[str]]]] = {
            "breakpoints": self.placement.take_over, "watches": self.watches.take_over,
            "exception_breakpoints": self.placement.exceptions.take_over,
        }
        warnings: list[str] = []
        for name, value in (self.config.parts or {}).items():
            if name in take_over:
                warnings += await take_over[name](value)
            elif value:
                warnings.append(f"{name} cannot be taken over: this relay does not know them")
        return warnings

    def client_environment(self) -> dict[str, str] | None:
        return self.config.environment

    def summary(self) -> answers.SessionItem:
        program: Mapping[str, Any] = self.starting.program or {}
        names = (program[key] for key in ("script", "program", "module", "command") if key in program)
        return answers.SessionItem(
            session_id=self.id, name=self.config.name, status=self.state.value,
            created_at=timestamp(self.created_at), pid=self.adapter.pid if self.state in LIVE else None,
            program=next(names, "<code>" if program else None),
            parent_session_id=parent.id if (parent := self.relatives.parent) else None,
            location=self._short_location(), driver=self.command_notes.describe_driver(),
            wheel=self.wheel.describe_holder(),
        )

    def _short_location(self) -> str | None:
        place = self.debuggee.stop.location if self.debuggee.stop else None
        return View(self.config.project_root).place(place.path, place.line) if place else None

    async def status(self) -> answers.SessionStatus:
        rows: list[Any] = []
        is_busy = False
        if self.state in LIVE:
            try:
                async with asyncio.timeout(STATUS_PATIENCE):
                    rows = await self.threads.list_threads()
            except TimeoutError:
                is_busy = True
            except RelayError:  # the rest says what has become of it
                pass
        # All of the rest at one moment: the program may have moved on while its threads were asked for.
        stop, end, prompt = self.debuggee.stop, self.debuggee.ending, self.input.prompt()
        asks = prompt is not None and self.state is State.RUNNING
        return answers.SessionStatus(
            session_id=self.id, status="waiting_for_input" if asks else self.state.value,
            prompt=unless_none(prompt) if asks else UNSET, reason=stop.reason if stop else end.reason,
            location=stop.location if stop else None, stopped_threads=self.threads.stopped_threads(rows),
            all_threads=None if is_busy else short_rows(rows) if self.state in LIVE else [],
            exit_code=end.exit_code, signal=end.signal, exception=stop.to_exception() if stop else None,
            slow_code=self._describe_slow_code() or UNSET, past=self.going_back.describe(),
            warning=self.lifetime.warning(), message=(explain_halt(self.adapter) if is_busy else None) or UNSET,
        )

    def _describe_slow_code(self) -> list[answers.SlowCode]:
        found = self.debuggee.slow_code if self.state in LIVE else []
        return [
            answers.SlowCode(path=row["path"] or None, function=row["function"] or None, why=row["why"])
            for row in found
        ]

    def ping(self) -> answers.Pong:
        info = self.info()
        return answers.Pong(session_id=info.session_id, status=info.status, expires_at=info.expires_at)

    # Parting from the program.

    async def detach(self) -> answers.Detached:
        """Let the program go with all that it started: a child that stands at a breakpoint would hold it up."""
        parted = await self.let_go()
        children = await self.family.detach_below(self)
        return answers.Detached(**asdict(parted), detached=parted.reason == DETACHED, children_let_go=children)

    async def let_go(self) -> answers.Parted:
        """Let the program run on without breakpoints; its output is still recorded if it was launched here."""
        self.debuggee.require_state("detach")
        pid = self.adapter.pid
        await self.adapter.detach()
        return self._part_from(pid, DETACHED)

    async def terminate(self, force: bool = False) -> answers.Terminated:
        """End the program; output, events and breakpoints stay readable."""
        self.debuggee.require_state("terminate")
        pid = self.adapter.pid
        self.debuggee.expect_end("terminated")
        try:
            await self.adapter.terminate(0 if force else GRACE)
        finally:
            self.debuggee.expect_end(None)
        return answers.Terminated(**asdict(self._part_from(pid, "terminated")), terminated=True)

    def _part_from(self, pid: int | None, reason: str) -> answers.Parted:
        if self.state in LIVE:
            self.debuggee.finish_program(End(None, reason))
        ending = asdict(self.debuggee.ending)
        return answers.Parted(session_id=self.id, status=self.state.value, pid=pid, **ending)

    async def end(self, reason: str, force: bool = False, grace: float = GRACE) -> answers.SessionDeleted:
        """End the program and everything that it started; one that was attached to, or let go, runs on."""
        ended, pid = self.debuggee.end, self.adapter.pid
        runs_on = self.starting.attached and self.state in LIVE
        if ended is not None:
            runs_on = ended.reason == DETACHED and ended.status is None
        self.placement.stop_watching()
        self.debuggee.expect_end(reason)
        self.family.expect_end(self, reason)
        with contextlib.suppress(RelayError):
            await self.adapter.end(0 if force else grace)
        if self.state in LIVE:
            self.debuggee.finish_program(End(None, DETACHED if runs_on else reason))
        await self.tunnel.closed()
        until, since = self.debuggee.ended_at or time.monotonic(), self.starting.started_at
        return answers.SessionDeleted(
            session_id=self.id, deleted=True, detached=runs_on, pid=pid if runs_on else UNSET,
            final_status=DETACHED if runs_on else State.TERMINATED.value, exit_code=self.debuggee.ending.exit_code,
            runtime_seconds=0.0 if since is None else round(until - since, 3),
        )

    def program_replaced(self, program: ProgramRow) -> None:
        self.starting.replace_program(program)

    def _about_missing(self, module: str) -> str | None:
        return self.starting.about_missing(module)

    def program_ended(self, end: End) -> None:
        """Close the tunnel, unless the same program is started again: whoever came through it stays."""
        self.recorded_run.read_ahead()
        if end.reason != RESTARTED:
            self.tunnel.close()
