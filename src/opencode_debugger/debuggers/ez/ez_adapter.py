"""A debugger that speaks the EZ protocol, as a session sees it; how a program is started under it.

Debuggers in the field differ from the protocol's document: some stop by themselves before they are told anything. What
else they do differently is understood in `ez_output` (output between the messages), `ez_stacks`, `ez_inspection`,
`ez_breakpoints` (ids) and `ez_shutdown`.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from typing import Any

from ...errors import RelayError
from ...ez.protocol import CAPABILITIES
from ...operations.advice import advice
from ..optional_features import refuse_options
from ..process.program_process import program_environment
from ..process.standard_input import Stdin
from ..registry import DebuggerSetup
from ..rows import FileRow
from ..shapes import ExceptionRule, Groups, LaunchSpec
from ..small_debugger import UNCAUGHT, SmallDebugger
from . import ez_files, find_debugger
from .ez_conversation import NAME, Refused
from .ez_run import EzRun, RunContext

EARLY = 0.15
"""Seconds in which it shows whether a debugger stops before it is told to start the program."""
BROKEN = re.compile(r"pars(e|ing)|syntax|type check", re.IGNORECASE)
INSIDE = "OPENCODE_DEBUG_EZ_PROGRAM"
"""In the environment of a debugger that we start: which one it is, and what it debugs."""
ALWAYS_OFFERED = frozenset({"completions", "step_until"})
OFFERED_IF_ANNOUNCED = {"dataBreakpoints": "data_breakpoints", "reverse": "reverse"}


@dataclass(eq=False)
class EzLaunch:
    _setup: DebuggerSetup
    _run: EzRun
    _spec: LaunchSpec
    _path: str
    """of the debugger"""
    _environment: dict[str, str]
    warnings: list[str] = field(default_factory=list)

    def start_debugger(self) -> int:
        spec = self._spec
        command = [self._path, "debugserver", spec.target, *(["--", *spec.args] if spec.args else [])]
        marked = {**self._environment, INSIDE: f"{self._path} {spec.target}"}
        try:
            return self._run.start_debugger(command, spec.cwd, marked)
        except OSError as error:
            message = f"{self._path} could not be started: {error}"
            raise RelayError("LAUNCH_FAILED", message, status=400) from error

    async def start_program(self, may_read: bool, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        spec = self._spec
        early = self._run.state.early
        if may_read:  # some debuggers run the first line before they are told anything
            if await self._run.conversation.is_disturbed(EARLY):
                await self._run.conversation.wait_for_rest()
            if len(early) == 1 and ez_files.reads_at(early[0].path, early[0].line):
                what = f"Line {early[0].line} is the first of the program and reads its standard input"
                why = "which the debugger shares with it: whatever the debugger is told would become the input"
                raise RelayError("NOT_SUPPORTED", f"{what}, {why}", suggestion="Put another statement before that line")
        await self._introduce_program()
        stops_on_all = await self._run.breakpoints.try_exceptions(stop_on)
        if not stops_on_all and any(rule.filters != UNCAUGHT for rule in stop_on):
            self.warnings.append("The debugger cannot stop on exceptions: it reports an error, and the program ends")
        elif any(rule.exceptions or rule.condition for rule in stop_on):
            self.warnings.append("The debugger cannot choose among exceptions: it stops on all of them")
        if await self._stopped_by_itself():
            await self._take_over(breakpoints)
        elif spec.stop_on_entry and not self._run.conversation.announced:
            await self._enter_program(breakpoints)
        else:
            await self._set_all(breakpoints)
            self._run.state.go_live()
            if has_extensions := self._run.conversation.announced is not None:
                self._run.control.is_first = not spec.stop_on_entry
            await self._send_start(**({"stopOnEntry": spec.stop_on_entry} if has_extensions else {}))
        if spec.stdin or spec.stdin_eof:
            with contextlib.suppress(RelayError):
                self._run.input.send(spec.stdin, spec.stdin_eof)

    async def _introduce_program(self) -> None:
        """Tell the debugger of the program. One that cannot read it ends before it says anything."""
        spec = self._spec
        params: dict[str, Any] = {"file": spec.target, "workingDir": spec.cwd, "capabilities": list(CAPABILITIES)}
        try:
            answer = await self._run.conversation.ask("initialize", self._setup.launch_timeout, **params)
        except Refused as error:
            raise RelayError("LAUNCH_FAILED", f"The debugger refused the program: {error}", status=400) from error
        except RelayError as error:
            raise await self._explain_mistake(self._not_started(error)) from error
        if "capabilities" in answer:
            self._run.conversation.note_capabilities(answer["capabilities"])
        if (spec.stdin or spec.stdin_eof) and not self._run.conversation.has("input"):
            self._run.input.send(spec.stdin, spec.stdin_eof)

    def _not_started(self, error: RelayError) -> RelayError:
        process = self._run.conversation.process
        if process is None or process.is_alive:
            return error
        said, status = self._run.last_words.strip(), process.ended.result()
        message = said or f"The debugger ended at once, with {status.signal or f'exit code {status.code}'}"
        if BROKEN.search(said):
            return RelayError("LAUNCH_SYNTAX_ERROR", message, file=self._spec.target, exit_code=status.code)
        return RelayError("LAUNCH_FAILED", message, status=400, exit_code=status.code, signal=status.signal)

    async def _explain_mistake(self, error: RelayError) -> RelayError:
        """Add the place of a mistake in the program, which `check` of the debugger tells."""
        if error.code != "LAUNCH_SYNTAX_ERROR":
            return error
        await self._run.shutdown.wait_until_swept()  # it ends whatever carries the marker of the session
        found = await find_debugger.check_program(self._path, self._spec.target, self._spec.cwd, self._environment)
        if found is None:
            return error
        message = f"{error.message}: {found.message} ({found.file}:{found.line}:{found.column})"
        details = {**error.details, "file": found.file, "line": found.line, "offset": found.column}
        return RelayError(error.code, message, **details)

    async def _stopped_by_itself(self) -> bool:
        """Say whether the debugger stopped before it was told anything, after the first line has run."""
        if self._run.conversation.announced is not None:
            return False
        early = self._run.state.early
        if early or await self._run.conversation.is_disturbed(EARLY):
            await self._run.conversation.wait_for_rest()
        self._run.is_raw = bool(early)
        return self._run.is_raw

    async def _take_over(self, breakpoints: Groups) -> None:
        """Go on with a program that waits already: to start it would be a step."""
        early = self._run.state.early
        known = len(early)
        await self._set_all(breakpoints)
        if len(early) > known:
            await self._run.conversation.wait_for_rest()
        wanted = {(os.path.realpath(bp.path), bp.line) for group in breakpoints.values() for bp in group}
        for passed in early[:-1]:
            if self._spec.stop_on_entry or (os.path.realpath(passed.path), passed.line) in wanted:
                self.warnings.append(f"The debugger has run line {passed.line} before it could be told to stop there")
        self._run.state.go_live()
        halt = self._run.state.halt
        if halt is None or self._run.state.is_over:
            return
        if self._spec.stop_on_entry:
            self._run.control.tell_stop("entry", halt, [], 1)
        else:
            self._run.conversation.spawn(self._run.control.judge_stop(halt))

    async def _enter_program(self, breakpoints: Groups) -> None:
        """Start the program without breakpoints: by the document, it then stops at its first line."""
        await self._send_start()
        early = self._run.state.early
        if not early:  # a debugger that knows no such stop runs the program instead
            await self._run.state.wait_for_stir(min(2.0, self._setup.launch_timeout))
        if early:
            await self._run.conversation.wait_for_rest()
        await self._set_all(breakpoints)
        self._run.state.go_live()
        if early and self._run.state.halt is not None and not self._run.state.is_over:
            self._run.control.tell_stop("entry", self._run.state.halt, [], 1)

    async def _send_start(self, **params: Any) -> None:
        self._run.state.let_go()
        try:
            await self._run.conversation.ask("start", self._setup.launch_timeout, **params)
        except Refused as error:
            message = f"The debugger did not start the program: {error}"
            raise RelayError("LAUNCH_FAILED", message, status=400) from error
        except RelayError as error:
            if not self._run.state.is_over:  # else it has run to its end, and that is told
                raise self._not_started(error) from error

    async def _set_all(self, breakpoints: Groups) -> None:
        for path, group in breakpoints.items():
            with contextlib.suppress(RelayError):
                bounds = await self._run.breakpoints.set_breakpoints(path, group)
                for bp, bound in zip(group, bounds, strict=True):
                    self._setup.listener.on_bound(bp.number, bound)


class EzAdapter(SmallDebugger):
    def __init__(self, setup: DebuggerSetup) -> None:
        super().__init__(NAME)
        self._setup = setup
        self._context = RunContext(setup, self.refusal)
        self._use_parts(EzRun(self._context))

    def _use_parts(self, run: EzRun) -> None:
        """Have the parts of the program that runs, or has run last."""
        self._run = run
        self.control, self.breakpoints, self.inspection = run.control, run.breakpoints, run.inspection
        self.sources, self.memory, self.recording = run.sources, run.memory, run.recording

    @property
    def capabilities(self) -> frozenset[str]:
        has = self._run.conversation.has
        return ALWAYS_OFFERED | {ours for theirs, ours in OFFERED_IF_ANNOUNCED.items() if has(theirs)}

    async def examine(self, path: str) -> FileRow:
        """Describe a file as far as its text tells: the debugger confirms breakpoints anywhere."""
        count, code = len(ez_files.read_text(path).splitlines()), ez_files.code_lines(path)
        return {"max_line": count, "error": None, "code_lines": code, "definitions": {}, "is_certain": False}

    async def find_function(self, path: str, name: str) -> list[int]:
        return ez_files.find_function(path, name)

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Refuse what the debugger cannot do, before anything is started."""
        path = self._debugger_for(spec)
        if os.environ.get(INSIDE) == f"{path} {spec.target}":
            message = f"{path} does not debug {spec.target} itself: it asked for another debugger of the same kind"
            raise RelayError("LAUNCH_FAILED", message, status=400, suggestion=find_debugger.HOW_TO)
        refuse_options(spec, "a debugger that speaks the EZ protocol")

    def _debugger_for(self, spec: LaunchSpec) -> str:
        return find_debugger.find(spec.debugger_path or self._setup.paths["ez"])

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._run.shutdown.wait_until_swept()
        self._context.journeys.stop()
        self._context.places.clear()
        self.pid, self.warnings = None, []
        may_read = ez_files.may_read(spec.target)
        self._use_parts(EzRun(self._context, spec.target, spec.cwd, may_read))
        environment = program_environment(spec, self._setup.session_id)
        launch = EzLaunch(self._setup, self._run, spec, self._debugger_for(spec), environment)
        self.warnings = launch.warnings
        self.pid = launch.start_debugger()
        self._setup.listener.on_process(self.pid)
        await launch.start_program(may_read, breakpoints, stop_on)

    @property
    def program_pid(self) -> int | None:
        return self.pid if not self._run.state.is_over else None

    @property
    def stdin(self) -> Stdin | None:
        return self._run.input

    def drain(self) -> None:
        self._run.shutdown.drain()

    async def detach(self) -> None:
        message = "The program lives in its debugger, which cannot let it go"
        instead = advice("Remove its breakpoints and {continue}: it runs on")
        raise RelayError("NOT_SUPPORTED", message, suggestion=instead)

    async def terminate(self, grace: float) -> None:
        await self._run.shutdown.terminate(grace)

    async def end(self, grace: float) -> None:
        await self.terminate(grace)
        self.pid = None
