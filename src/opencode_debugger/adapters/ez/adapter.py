"""A debugger that speaks the EZ protocol, as a session sees it: how it is started, and what it is told first.

Debuggers in the field differ from the protocol's document; what they do differently is understood here, in `hearing`
(output between the messages), in `looking` (stacks, evaluation), in `marks` (ids) and in `ending`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable
from typing import Any

from ...errors import RelayError
from ...ez.protocol import CAPABILITIES, COMMANDS
from ..base import AttachSpec, ExceptionRule, Groups, LaunchSpec
from ..environment import program_environment
from ..offered import Offered
from ..processes import Program
from ..stdin import Stdin
from . import program as debuggers
from . import source
from .data import Data
from .input import Told
from .talking import GOING, Halt, Refused

EARLY = 0.15
"""Seconds in which it shows whether a debugger stops before it is told to start the program."""
ENTRY = 2.0
"""Seconds for the stop at the first line; a debugger that knows none runs the program instead."""
BROKEN = re.compile(r"pars(e|ing)|syntax|type check", re.IGNORECASE)
UNABLE = re.compile(r"unknown command|cannot (step|continue|resume)|not started", re.IGNORECASE)
"""What debuggers say to a command that lets the program go on, if they do not say to which."""
NEVER_SAID = frozenset({"exited", "terminated", "output"})
"""Events that the debugger of the EZ language does not send unasked: a program that prints one has only printed it."""
LAST_WORDS = 500
INSIDE = "OPENCODE_DEBUG_EZ_PROGRAM"
"""In the environment of a debugger that we start: which one it is, and what it debugs."""
UNCAUGHT = ("uncaught",)
ALL_EXCEPTIONS = "The debugger cannot choose among exceptions: it stops on all of them"
NO_EXCEPTIONS = "The debugger cannot stop on exceptions: it reports an error, and the program ends"


class EzAdapter(Data, Offered):
    more = frozenset({"completions", "step_until"})

    @property
    def capabilities(self) -> frozenset[str]:
        """Besides, those that this debugger has announced."""
        offered = {"dataBreakpoints": "data_breakpoints", "reverse": "reverse"}
        return self.more | {ours for theirs, ours in offered.items() if self._has(theirs)}

    def _reset(self) -> None:
        super()._reset()
        self._is_raw = False
        """it stops by itself, as the one of the EZ language does, which lets the program write between its messages"""
        self._said = ""
        """the end of what came from its stderr"""

    # Before anything is started.

    async def check_interpreter(self, path: str) -> None:
        """Its programs have none."""

    def use_interpreter(self, path: str) -> None:
        """Its programs have none."""

    async def check_launch(self, spec: LaunchSpec) -> None:
        path = debuggers.find(spec.debugger_path or self._path)
        if os.environ.get(INSIDE) == _inside(path, spec):
            message = f"{path} does not debug {spec.target} itself: it asked for another debugger of the same kind"
            raise RelayError("LAUNCH_FAILED", message, status=400, suggestion=debuggers.HOW_TO)
        refused = {"debug_subprocesses": spec.debug_subprocesses, "just_my_code": spec.just_my_code}
        refused |= {"tunnel_only": spec.tunnel_only, "core": bool(spec.core), "debugger": bool(spec.server)}
        refused |= {"python_args": bool(spec.interpreter_args), "stop_scope": spec.stop_scope == "thread"}
        refused |= {"module or code": spec.kind not in ("file", "program")}
        for name in (name for name, given in refused.items() if given):
            message = f"{name} is not for programs under a debugger that speaks the EZ protocol"
            raise RelayError("NOT_SUPPORTED", message, parameter=name, suggestion=f"Launch without {name}")

    # Starting.

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._forget_last_program()
        self._begin(spec)
        if self._may_read:
            await self._see_first_line_through()
        await self._introduce(spec)
        if not await self._set_exceptions(stop_on) and any(rule.filters != UNCAUGHT for rule in stop_on):
            self.warnings.append(NO_EXCEPTIONS)
        elif any(rule.exceptions or rule.condition for rule in stop_on):
            self.warnings.append(ALL_EXCEPTIONS)
        if await self._stopped_by_itself():
            await self._take_over(spec, breakpoints)
        elif spec.stop_on_entry and not self._announced:
            await self._enter(spec, breakpoints)
        else:
            await self._run(spec, breakpoints)
        if spec.stdin or spec.stdin_eof:
            with contextlib.suppress(RelayError):
                self._input.send(spec.stdin, spec.stdin_eof)

    async def _forget_last_program(self) -> None:
        """What it left running is being ended, by the marker that the next one will carry too."""
        if self._sweeping is not None:
            await self._sweeping
        self._marks.clear()
        self._journeys.stop()
        self._forget_places()
        self._reset()
        self.pid, self.warnings = None, []

    def _begin(self, spec: LaunchSpec) -> None:
        self._spec = spec
        self._marks.learn(spec.target)
        self._may_read = source.may_read(spec.target)
        path = debuggers.find(spec.debugger_path or self._path)
        arguments = ["--", *spec.args] if spec.args else []
        command = [path, "debugserver", spec.target, *arguments]
        environment = {**program_environment(spec, self._session_id), INSIDE: _inside(path, spec)}
        try:
            self._program = Program(command, spec.cwd, environment, self._wrote, self._debugger_ended)
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{path} could not be started: {error}", status=400) from error
        self.pid = self._program.pid
        self._listener.on_process(self.pid)

    async def _see_first_line_through(self) -> None:
        """Some debuggers run the first line before they are told anything: if it reads, it reads what they are told."""
        if await self._stirs(EARLY):
            await self._calm()
        if len(self._early) != 1 or not source.reads_at(self._early[0].path, self._early[0].line):
            return
        message = (
            f"Line {self._early[0].line} is the first of the program and reads its standard input, which the debugger "
            "shares with it: whatever the debugger is told would become the input"
        )
        raise RelayError("NOT_SUPPORTED", message, suggestion="Put another statement before that line")

    async def _introduce(self, spec: LaunchSpec) -> None:
        """A debugger that cannot read the program ends before it says anything."""
        params: dict[str, Any] = {"file": spec.target, "workingDir": spec.cwd, "capabilities": list(CAPABILITIES)}
        try:
            answer = await self._ask("initialize", self._launch_timeout, **params)
        except Refused as error:
            raise RelayError("LAUNCH_FAILED", f"The debugger refused the program: {error}", status=400) from error
        except RelayError as error:
            raise await self._explained(self._not_started(error)) from error
        if "capabilities" in answer:
            self._announced = frozenset(answer["capabilities"])
            for command in COMMANDS.values():
                if command.capability and command.capability not in self._announced:
                    self._lacks[command.name] = f"unknown command: {command.name}"
        self._marks.has_conditions = self._has("conditionalBreakpoints")
        self._marks.has_functions = self._has("functionBreakpoints")
        assert self.pid is not None
        self._input = Told(self._tell_input if self._has("input") else None, self.pid)
        if (spec.stdin or spec.stdin_eof) and not self._has("input"):
            self._input.send(spec.stdin, spec.stdin_eof)

    def _not_started(self, error: RelayError) -> RelayError:
        program = self._program
        if program is None or program.is_alive:
            return error
        said, status = self._said.strip(), program.ended.result()
        message = said or f"The debugger ended at once, with {status.signal or f'exit code {status.code}'}"
        if BROKEN.search(said) and self._spec is not None:
            return RelayError("LAUNCH_SYNTAX_ERROR", message, file=self._spec.target, exit_code=status.code)
        return RelayError("LAUNCH_FAILED", message, status=400, exit_code=status.code, signal=status.signal)

    async def _explained(self, error: RelayError) -> RelayError:
        """With the place of a mistake in the program, which `check` of the debugger tells."""
        spec = self._spec
        if error.code != "LAUNCH_SYNTAX_ERROR" or spec is None:
            return error
        if self._sweeping is not None:
            await self._sweeping  # it ends whatever carries the marker of the session
        path = debuggers.find(spec.debugger_path or self._path)
        found = await debuggers.check(path, spec.target, spec.cwd, program_environment(spec, self._session_id))
        if found is None:
            return error
        message = f"{error.message}: {found.message} ({found.file}:{found.line}:{found.column})"
        details = {**error.details, "file": found.file, "line": found.line, "offset": found.column}
        return RelayError(error.code, message, **details)

    async def _stopped_by_itself(self) -> bool:
        """Some debuggers stop before they are told anything, after the first line has run."""
        if self._announced is not None:
            return False
        if self._early or await self._stirs(EARLY):
            await self._calm()
        self._is_raw = bool(self._early)
        return self._is_raw

    async def _take_over(self, spec: LaunchSpec, breakpoints: Groups) -> None:
        """It waits already: to start it would be a step."""
        known = len(self._early)
        await self._set_all(breakpoints)
        if len(self._early) > known:
            await self._calm()
        self._warn_of_passed(self._early[:-1], breakpoints, spec)
        self._is_starting = False
        halt = self._halt
        if halt is None or self._is_over:
            return
        if spec.stop_on_entry:
            self._tell("entry", halt, [], 1)
        else:
            self._spawn(self._judge_now(halt))

    async def _enter(self, spec: LaunchSpec, breakpoints: Groups) -> None:
        """By the document, a program without breakpoints stops at its first line."""
        await self._start()
        if not self._early:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(ENTRY, self._launch_timeout)):
                    await self._stirred.wait()
        if self._early:
            await self._calm()
        await self._set_all(breakpoints)
        self._is_starting = False
        if self._early and self._halt is not None and not self._is_over:
            self._tell("entry", self._halt, [], 1)

    async def _run(self, spec: LaunchSpec, breakpoints: Groups) -> None:
        await self._set_all(breakpoints)
        self._is_starting = False
        if self._announced is None:
            await self._start()
        else:
            self._is_first = not spec.stop_on_entry
            await self._start(stopOnEntry=spec.stop_on_entry)

    async def _start(self, **params: Any) -> None:
        self._is_running = True
        try:
            await self._ask("start", self._launch_timeout, **params)
        except Refused as error:
            message = f"The debugger did not start the program: {error}"
            raise RelayError("LAUNCH_FAILED", message, status=400) from error
        except RelayError as error:
            if not self._is_over:  # else it has run to its end, and that is told
                raise self._not_started(error) from error

    async def _set_all(self, breakpoints: Groups) -> None:
        for path, group in breakpoints.items():
            with contextlib.suppress(RelayError):
                for bp, bound in zip(group, await self.set_breakpoints(path, group), strict=True):
                    self._listener.on_bound(bp.number, bound)

    def _warn_of_passed(self, passed: list[Halt], breakpoints: Groups, spec: LaunchSpec) -> None:
        wanted = {(os.path.realpath(bp.path), bp.line) for group in breakpoints.values() for bp in group}
        for halt in passed:
            if spec.stop_on_entry or (os.path.realpath(halt.path), halt.line) in wanted:
                self.warnings.append(f"The debugger has run line {halt.line} before it could be told to stop there")

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        raise self._cannot("attach to programs that run already", "Launch the program with POST /sessions/{id}/launch")

    async def join(self, *_: Any) -> None:
        raise self._cannot("debug the children of a program", "Launch without debug_subprocesses")

    def describe_target(self) -> dict[str, Any]:
        return {}

    # What the debugger says.

    def _wrote(self, stream: str, data: bytes) -> None:
        if stream == "stdout":
            self._hearing.feed(data)
        elif not self._is_ending:  # what it says when it is being ended is its own affair
            self._said = (self._said + data.decode("utf-8", "replace"))[-LAST_WORDS:]
            self._listener.on_output("stderr", data)

    def _event(self, event: str, data: dict[str, Any]) -> bool | None:
        if self._is_raw and event in NEVER_SAID and not (self._is_ending or self._is_over):
            return False
        if self._heard(event, data) or self._is_over:
            return None
        handler: Callable[[dict[str, Any]], None] | None = {
            "stopped": self._on_stopped,
            "output": self._on_output,
            "error": self._on_error,
            "exited": self._on_exited,
            "terminated": self._on_terminated,
            "inputRequested": lambda data: self._input.asked(),
            "dataBreakpointCleared": self._on_data_cleared,
        }.get(event)
        if handler is not None:
            handler(data)
        return None

    def _on_output(self, data: dict[str, Any]) -> None:
        text: str = data["text"]
        if data["category"] in ("stdout", "stderr"):
            self._listener.on_output(data["category"], text.encode("utf-8", "surrogateescape"))
        else:
            self._listener.on_log(0, text.removesuffix("\n"))

    def _on_error(self, data: dict[str, Any]) -> None:
        """Of a command that nobody waits for, or of the program."""
        message, place, command = data["message"], data.get("location"), data.get("command")
        is_unnamed = command is None and place is None and self._announced is None
        if command in GOING or (is_unnamed and UNABLE.search(message)):
            self._refused_to_go(message)
        where = f" ({self._absolute(place['file'])}:{place['line']})" if place else ""
        self._listener.on_log(0, f"{'Runtime error' if place else 'The debugger says'}: {message}{where}")

    # What the session asks.

    @property
    def program_pid(self) -> int | None:
        return self.pid if not self._is_over else None

    @property
    def stdin(self) -> Stdin | None:
        return self._input

    def _tell_input(self, text: str, eof: bool) -> None:
        self._send("input", text=text, eof=eof)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        if any(rule.exceptions or rule.condition for rule in rules):
            raise self._cannot("choose among exceptions", "Leave exceptions and condition out: it stops on all of them")
        if not await self._set_exceptions(rules) and any(rule.filters != UNCAUGHT for rule in rules):
            raise self._cannot("stop on exceptions", "Set a breakpoint on the line that fails")

    async def _set_exceptions(self, rules: list[ExceptionRule]) -> bool:
        if not self._has("exceptionBreakpoints"):
            return False
        named = {"user_unhandled": "userUnhandled"}
        filters = {named.get(each, each) for rule in rules for each in rule.filters}
        await self._require("setExceptionBreakpoints", filters=sorted(filters))
        return True


def _inside(path: str, spec: LaunchSpec) -> str:
    return f"{path} {spec.target}"
