"""A native program under a debugger that speaks DAP: what gdb and lldb have in common.

What differs between them is in the methods under "Each in its own way", and in `Looking` and `Marks`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from ...dap.channel import RequestFailed
from ...dap.messages import Event
from ...errors import RelayError
from ..base import (
    Asked,
    AttachSpec,
    Bound,
    DebuggerBreakpoint,
    ExceptionRule,
    Frames,
    Go,
    Groups,
    LaunchSpec,
    Listener,
    StopEvent,
)
from ..conversation import Conversation
from ..offered import Offered
from ..processes import MARKER, ExitStatus, Pipes, end_others
from ..stdin import Stdin
from ..watched import Watched
from . import elf
from .journeys import Journeys
from .looking import MOST_FRAMES, Looking
from .marks import ENTRY, VISIT, Marks, Rule
from .process import Helper, Streams, start_debugger

ALLOWED = frozenset(
    {
        "initialize", "launch", "attach", "configurationDone", "disconnect", "terminate", "cancel",
        "setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints", "setInstructionBreakpoints",
        "dataBreakpointInfo", "setDataBreakpoints",
        "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "pause", "threads", "stackTrace",
        "scopes", "variables", "evaluate", "setVariable", "setExpression", "completions", "modules",
        "exceptionInfo", "readMemory", "writeMemory", "disassemble", "ocdb",
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
QUIT = 2.0
"""Seconds for a debugger that was told to go."""
GRACE = 2.0
"""Seconds for an evaluation that was interrupted to come back."""
DYING = 10.0
HALT = 5.0
FROM_CORE = "A core file shows a program that has crashed: it can be looked at, but not run"


class NativeAdapter(Looking, Offered):
    more = frozenset({"completions", "step_until"})
    kind = ""
    """gdb or lldb; `name` is that, or the debug server's"""

    def __init__(
        self, session_id: str, listener: Listener, timeout: float, launch_timeout: float, path: str | None
    ) -> None:
        super().__init__()
        self.name = self.kind
        self._session_id = session_id
        self._listener = listener
        self._timeout = timeout
        self._launch_timeout = launch_timeout
        self._path = path or None
        self.pid: int | None = None
        self.warnings: list[str] = []
        self._marks = self._make_marks()
        self._journeys = Journeys()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.Task[None] | None = None
        self._reset()

    def _reset(self) -> None:
        self._helper: Helper | None = None
        self._server: Helper | None = None
        self._talk: Conversation | None = None
        self._pipes: Pipes | None = None
        self._watched: Watched | None = None
        """a program that runs without its debugger"""
        self._features: dict[str, Any] = {}
        """what the debugger said that it can do"""
        self._is_running = True
        self._alone: int | None = None
        """the only thread that runs"""
        self._asides = 0
        """evaluations under way: they make the program run, which is nobody's business"""
        self._halting: asyncio.Future[None] | None = None
        """somebody here waits for a stop that is not told"""
        self._is_starting = False
        """the first stop is the debugger's own"""
        self._stops_on_entry = False
        self._stops_at_first = False
        """it has no symbols, so that only its very first instruction can be found"""
        self._is_pausing = False
        self._is_attached = False
        self._is_detached = False
        self._is_ending = False
        self._is_core = False
        self._is_over = False
        self._stops = 0
        self._serial = 0
        loop = asyncio.get_running_loop()
        self._initialized: asyncio.Future[None] = loop.create_future()
        self._started: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()

    # Each in its own way.

    def _make_marks(self) -> Marks:
        return Marks(self._request, self._listener.on_rebound)

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

    async def _serve(self, spec: LaunchSpec, environment: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Starts the program under a debug server, and says how it is reached."""
        raise NotImplementedError

    async def _exit_status(self, code: int | None) -> ExitStatus | None:
        """How the program ended, when the debugger has said that it did."""
        return None if code is None else ExitStatus.of(code)

    def _reason(self, body: dict[str, Any]) -> str:
        """Why it stopped, as a session sees it."""
        reason = str(body["reason"])
        return {"signal": "exception", "function breakpoint": "breakpoint", "instruction breakpoint": "breakpoint"}.get(
            reason, reason
        )

    async def _go_free(self) -> None:
        """Lets a halted program run on without the debugger."""
        await self._request("disconnect", {"terminateDebuggee": False}, QUIT)

    def _set_exceptions(self, rules: list[ExceptionRule]) -> tuple[list[str], list[dict[str, Any]]]:
        """Filters, and filters with options, of the debugger."""
        return [], []

    async def _recover(self) -> None:
        """After an evaluation in which the program stopped."""

    # Starting.

    async def check_interpreter(self, path: str) -> None:
        """Native programs have none."""

    def use_interpreter(self, path: str) -> None:
        """Native programs have none."""

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Everything that can be known before the program starts."""
        self._find()
        elf.check(spec.target, runs=spec.core is None)
        if spec.stop_scope == "thread":
            raise _all_threads(self.kind)

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._forget_last_program()
        self.name = spec.server or self.kind
        self.warnings = elf.warnings(spec.target)
        environment = program_environment(spec, self._session_id)
        streams = None if spec.core else Streams()
        try:
            await self._converse(None if spec.server else streams)
            if spec.core:
                self._is_core = True
                request = self._core_request(spec)
            elif spec.server:
                self._server_streams = streams
                request = await self._serve(spec, environment)
                self._is_starting = True
            else:
                request = self._launch_request(spec, environment)
            if streams is not None:
                streams.handed_over()
                owner = self._server or self._helper
                assert owner is not None
                self._pipes = streams.pipes(owner.pid, self._listener.on_output)
                with contextlib.suppress(RelayError):
                    self._pipes.stdin.send(spec.stdin, spec.stdin_eof)
        finally:
            if streams is not None:
                streams.close()
        await self._prepare(spec.target)
        self._stops_on_entry = spec.stop_on_entry and not spec.core
        await self._configure(*request, breakpoints, stop_on, "LAUNCH_FAILED")

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        await self._forget_last_program()
        if spec.stop_scope == "thread":
            raise _all_threads(self.kind)
        self.name = spec.server or self.kind
        self.warnings = elf.warnings(spec.program) if spec.program else []
        self._check_target(spec)
        await self._converse(None)
        await self._prepare(spec.program)
        self._is_attached = self._is_starting = True
        self.pid = spec.pid
        await self._configure(*self._attach_request(spec), breakpoints, stop_on, "ATTACH_FAILED")

    def _check_target(self, spec: AttachSpec) -> None:
        """Why a process cannot be attached to, as far as that shows from outside."""

    async def join(self, *_: Any) -> None:
        raise RelayError("NOT_SUPPORTED", "Children of native programs are not debugged")

    def describe_target(self) -> dict[str, Any]:
        """What there is to know of a program that we attached to."""
        if self.pid is None:
            return {}
        found: dict[str, Any] = {}
        with contextlib.suppress(OSError):
            found["program"] = os.readlink(f"/proc/{self.pid}/exe")
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/cmdline", "rb") as file:
            found["args"] = [part.decode("utf-8", "replace") for part in file.read().split(b"\0")[1:-1]]
        with contextlib.suppress(OSError):
            found["cwd"] = os.readlink(f"/proc/{self.pid}/cwd")
        return found

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
        command, environment = self._find()
        try:
            self._helper, channel = await start_debugger(
                command, environment, self._session_id, streams, self._event, self._debugger_ended
            )
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{self.kind} could not be started: {error}") from error
        channel.on_closed = lambda reason: self._spawn(self._hung_up())
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

    async def _begun(self, command: str, begun: Asked, failure: str) -> None:
        try:
            await self._require_talk().answer(command, begun, self._launch_timeout)
        except RelayError as error:
            said = _said(error)
            raise RelayError(failure, said or error.message, debugger=self.name) from error

    # The conversation.

    def _require_talk(self) -> Conversation:
        if self._talk is None:
            raise RelayError("DEBUGPY_ERROR", "There is no connection to a debugger", status=502)
        return self._talk

    async def _request(self, command: str, arguments: dict[str, Any] | None = None, timeout: float = 0) -> Any:
        try:
            return await self._require_talk().request(command, arguments, timeout=timeout or None)
        except RelayError as error:
            raise self._explained(error, command) from error

    def _explained(self, error: RelayError, command: str) -> RelayError:
        if _said(error) == "notStopped":
            return RelayError(
                "INVALID_SESSION_STATE",
                f"{self.kind} looks at a program only while all of its threads are halted, and one is running",
                suggestion="Pause it with POST /sessions/{id}/pause, or wait for its next stop",
            )
        return error

    async def _contained(self, command: str, arguments: dict[str, Any], timeout: float) -> Any:
        talk = self._require_talk()
        self._asides += 1
        try:
            sent = talk.send(command, arguments)
            seq = talk.channel.last_seq
            await asyncio.wait([sent], timeout=timeout)
            if not sent.done():
                await self._interrupt(seq, sent)
                raise RelayError("DEBUGPY_TIMEOUT", f"{command} took too long", operation=command, timed_out=True)
            return await talk.answer(command, sent)
        except RelayError as error:
            said = _said(error)
            if said is not None:
                error.details["said"] = said
            raise
        finally:
            await self._recover()
            self._asides -= 1

    async def _interrupt(self, seq: int, sent: Asked) -> None:
        """What runs too long is cancelled; a debugger that does not listen to that halts the program."""
        talk = self._require_talk()
        for command, arguments in (("cancel", {"requestId": seq}), ("pause", {"threadId": 1})):
            with contextlib.suppress(RelayError):
                talk.send(command, arguments)
            await asyncio.wait([sent], timeout=GRACE)
            if sent.done():
                return

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _event(self, event: Event) -> None:
        body = event.body or {}
        handler: Callable[[dict[str, Any]], None] | None = {
            "initialized": lambda body: _done(self._initialized),
            "process": self._on_process,
            "stopped": self._on_stopped,
            "continued": self._on_continued,
            "thread": self._on_thread,
            "module": lambda body: self._listener.on_module(body["reason"], body["module"]),
            "breakpoint": self._on_breakpoint,
            "exited": lambda body: self._spawn(self._on_exited(body.get("exitCode"))),
            "terminated": lambda body: self._spawn(self._on_terminated()),
            "output": self._on_said,
        }.get(event.event)
        if handler is not None:
            handler(body)

    def _on_process(self, body: dict[str, Any]) -> None:
        if body.get("systemProcessId"):
            self._found_pid(body["systemProcessId"])

    def _found_pid(self, pid: int) -> None:
        is_new = self.pid != pid
        self.pid = pid
        if is_new and not self._is_attached:
            self._listener.on_process(pid)
        _done(self._started)

    def _on_thread(self, body: dict[str, Any]) -> None:
        if not self._is_over:
            self._listener.on_thread(body["reason"], body["threadId"])

    def _on_breakpoint(self, body: dict[str, Any]) -> None:
        if body.get("reason") != "removed":
            self._marks.changed(body["breakpoint"])

    def _on_said(self, body: dict[str, Any]) -> None:
        """The debugger's own chatter: the program's output comes through its pipes."""

    def _on_continued(self, body: dict[str, Any]) -> None:
        if not self._asides:
            self._is_running = True

    # Stops.

    def _on_stopped(self, body: dict[str, Any]) -> None:
        _done(self._started)
        if self._asides:
            return
        self._is_running = False
        if self._halting is not None:
            _done(self._halting)
        elif self._is_ending:
            self._spawn(self._go_on_quietly(body["threadId"]))
        elif self._is_plain(body):
            self._tell(self._reason(body), body["threadId"], self._marks.numbers(body.get("hitBreakpointIds") or []))
        else:
            self._spawn(self._judge(body))

    def _is_plain(self, body: dict[str, Any]) -> bool:
        """Nothing to think about: it is what it seems."""
        numbers = self._marks.numbers(body.get("hitBreakpointIds") or [])
        special = any(number in self._marks.rules or number in (VISIT, ENTRY) for number in numbers)
        is_own = self._is_starting or self._stops_on_entry or self._journeys.current is not None
        missed = bool(body.get("hitBreakpointIds")) and not numbers
        return not (special or is_own or missed)

    def _tell(self, reason: str, thread_id: int, numbers: list[int]) -> None:
        self._is_pausing = False
        self._journeys.stop()
        self._alone = None
        self._stops += 1
        self._listener.on_stopped(
            StopEvent(reason, thread_id, hit_numbers=numbers, number=self._stops, after=self._serial)
        )

    async def _judge(self, body: dict[str, Any]) -> None:
        """Whether anybody is told of a stop; else the program goes on."""
        reason, thread_id = self._reason(body), body["threadId"]
        ids = body.get("hitBreakpointIds") or []
        try:
            if self._is_starting and not ids and reason != "exception":
                await self._arrived_at_start(thread_id)
                return
            self._is_starting = False
            numbers = self._marks.numbers(ids)
            if self._stops_on_entry:
                self._stops_on_entry = False
                await self._marks.entered()
                numbers = [number for number in numbers if number != ENTRY]
                stopping = [number for number in numbers if await self._wants_stop(number, thread_id)]
                self._tell("entry" if reason in ("breakpoint", "entry") else reason, thread_id, stopping)
                return
            stopping = [number for number in numbers if number and await self._wants_stop(number, thread_id)]
            if stopping or (reason != "breakpoint" and reason != "step"):
                self._tell(reason, thread_id, stopping)
            elif VISIT in numbers:
                self._tell("run_to", thread_id, [])
            elif self._is_pausing:
                self._tell("pause", thread_id, [])
            elif reason == "step":
                await self._travel(thread_id)
            elif ids:
                await self._go_on_quietly(thread_id)
            else:
                self._tell(reason, thread_id, [])
        except RelayError:
            if not self._is_over:
                self._tell(reason, thread_id, [])

    async def _arrived_at_start(self, thread_id: int) -> None:
        """The debugger has the program, which has not begun, or was running."""
        self._is_starting = False
        if self._is_core:
            self._tell("exception", thread_id, [])
        elif self._stops_on_entry and self._stops_at_first:
            self._stops_on_entry = False
            self._tell("entry", thread_id, [])
        elif self._is_pausing:
            self._tell("pause", thread_id, [])
        else:
            await self._go_on_quietly(thread_id)

    async def _wants_stop(self, number: int, thread_id: int) -> bool:
        rule = self._marks.rules.get(number)
        if rule is None:
            return True
        frames: Frames = []
        if rule.bp.condition or rule.bp.log or (rule.bp.function and rule.bp.path):
            frames = await self._stack(thread_id, 1)
        if rule.bp.function and rule.bp.path and not _is_in(frames, rule.bp.path):
            return False
        if rule.bp.condition and frames:
            problem = await self._problem_with(frames[0]["id"], rule.bp.condition)
            if problem is not None:
                self._listener.on_condition_error(number, problem, False)
                return True
        if not rule.count():
            return False
        if rule.bp.log is None:
            return True
        text = await self._message(frames[0]["id"], rule) if frames else ""
        self._listener.on_hits({number: rule.hits})
        self._listener.on_log(number, text)
        return False

    async def _problem_with(self, frame: int, condition: str) -> str | None:
        """Debuggers stop where a condition fails; they do not say so."""
        answer = await self._evaluated(frame, self._frame(frame), condition, 100, self._timeout)
        problem = (answer.get("syntax_error") or {}).get("message") or answer.get("error")
        return str(problem) if problem else None

    async def _message(self, frame: int, rule: Rule) -> str:
        parts = [part if isinstance(part, str) else await self._logged(frame, part) for part in rule.bp.log or []]
        return "".join(parts)[:LONGEST_LOG]

    async def _logged(self, frame: int, part: list[Any]) -> str:
        """One expression of a log message; one that fails leaves the rest whole."""
        answer = await self._evaluated(frame, self._frame(frame), part[0], LONGEST_LOG, self._timeout)
        problem = (answer.get("syntax_error") or {}).get("message") or answer.get("error")
        if problem or answer.get("timed_out"):
            return f"<{problem or 'timed out'}>"
        return formatted(answer["result"], "".join(each for each in part[2] if isinstance(each, str)))

    async def _travel(self, thread_id: int) -> None:
        """A step of a journey is over."""
        journey = self._journeys.current
        if journey is None:
            self._tell("step", thread_id, [])
            return
        journey.steps += 1
        if journey.until is not None:
            await self._look_ahead(journey, thread_id)
        if journey.is_over or journey.is_met or journey.error or journey.steps >= journey.most:
            self._tell("step", thread_id, [])
            return
        self._is_running = True
        self._forget_places()
        await self._request(journey.kind, self._go_arguments(thread_id, self._alone is not None, journey.granularity))

    async def _look_ahead(self, journey: Any, thread_id: int) -> None:
        frames = await self._stack(thread_id, 1)
        answer = await self._evaluated(frames[0]["id"], self._frame(frames[0]["id"]), journey.until, 100, self._timeout)
        problem = (answer.get("syntax_error") or {}).get("message") or answer.get("error")
        if problem and not self._is_unknown_name(problem):
            journey.error = problem
        elif answer.get("timed_out"):
            journey.error = "the expression took too long and was interrupted"
        else:
            journey.is_met = not problem and is_true(answer["result"])

    def _is_unknown_name(self, problem: str) -> bool:
        """A variable that does not exist yet makes a condition false."""
        return "No symbol" in problem or "undeclared identifier" in problem

    async def _go_on_quietly(self, thread_id: int) -> None:
        self._is_running = True
        self._forget_places()
        with contextlib.suppress(RelayError):
            await self._request("continue", self._go_arguments(thread_id, self._alone is not None))

    # Running.

    @property
    def _is_halted(self) -> bool:
        return not self._is_running

    def _go_arguments(self, thread_id: int, alone: bool, granularity: str = "line") -> dict[str, Any]:
        arguments: dict[str, Any] = {"threadId": thread_id, "singleThread": alone}
        if granularity == "instruction":
            arguments["granularity"] = "instruction"
        return arguments

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        await self._go("continue", thread_id, go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        self._journeys.begin(kind, granularity)
        await self._go(kind, thread_id, go, granularity)

    async def _go(self, command: str, thread_id: int, go: Go | None, granularity: str = "line") -> None:
        if self._is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE, suggestion="Launch the program without `core` to run it")
        self._is_running, self._is_pausing = True, False
        self._alone = thread_id if go is not None and go.alone else None
        if go is not None:
            self._serial = go.serial
        try:
            await self._request(command, self._go_arguments(thread_id, self._alone is not None, granularity))
        except RelayError as error:
            if error.code != "DEBUGPY_TIMEOUT":
                self._is_running = False
            raise
        if self._is_running:
            self._forget_places()

    async def pause(self, thread_id: int | None) -> None:
        if self._is_core:
            raise RelayError("NOT_SUPPORTED", FROM_CORE)
        self._is_pausing = True
        if self._is_running:
            await self._request("pause", {"threadId": thread_id or 1})

    async def _halt(self) -> None:
        """Stops the program without telling anybody."""
        if not self._is_running:
            return
        self._halting = asyncio.get_running_loop().create_future()
        try:
            await self._request("pause", {"threadId": 1})
            either: list[asyncio.Future[Any]] = [self._halting, self._ended]
            await asyncio.wait(either, timeout=HALT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._halting = None

    @property
    def program_pid(self) -> int | None:
        """Of a live program that we started."""
        return self.pid if self._pipes is not None and not self._is_over else None

    # Stacks.

    def ask_stack(self, thread_id: int) -> Asked:
        arguments = {"threadId": thread_id, "startFrame": 0, "levels": MOST_FRAMES}
        return self._require_talk().send("stackTrace", arguments)

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        body = await self._require_talk().answer("stackTrace", asked or self.ask_stack(thread_id))
        return self._told(thread_id, body["stackFrames"])

    # Breakpoints and journeys.

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        return await self._marks.set(path, breakpoints)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        filters, options = self._set_exceptions(rules)
        await self._request("setExceptionBreakpoints", {"filters": filters, "filterOptions": options})

    async def hits(self) -> dict[int, int]:
        return self._marks.hits()

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

    # Files and expressions, without a program.

    async def examine(self, path: str) -> dict[str, Any]:
        from ..switch import native_lines

        return native_lines(path)

    async def find_function(self, path: str, name: str) -> list[int]:
        return []

    def check_expression(self, text: str) -> Any:
        """Only the debugger knows the language."""
        return None

    # The end.

    def drain(self) -> None:
        if self._pipes is not None:
            self._pipes.drain()

    @property
    def stdin(self) -> Stdin | None:
        """Of a program that we started: that of another is not ours to write to."""
        return self._pipes.stdin if self._pipes is not None else None

    async def _on_exited(self, code: int | None) -> None:
        if self._is_over or self._is_detached:
            return
        status: ExitStatus | None = None
        with contextlib.suppress(RelayError):
            status = await self._exit_status(code)
        self._finish(lambda: self._listener.on_exit(status))

    async def _on_terminated(self) -> None:
        """Comes right after `exited`, or without it from a debugger that let go."""
        await asyncio.wait([self._ended], timeout=1.0)
        if not self._is_detached:
            self._finish(lambda: self._listener.on_lost("the debugger let go of the program"))

    def _debugger_ended(self) -> None:
        helper = self._helper
        if helper is None or self._is_detached:
            return
        words = helper.said.strip().splitlines()[-1:] or [""]
        status = helper.ended.result()
        message = f"the debugger ({self.kind}) ended unexpectedly with {status} {words[0][:300]}".strip()
        self._finish(lambda: self._listener.on_lost(message))

    def _server_ended(self) -> None:
        self._spawn(self._without_server())

    async def _without_server(self) -> None:
        """The debugger tells the end of the program, unless its server died without a word."""
        await asyncio.wait([self._ended], timeout=0.5)
        self._finish(lambda: self._listener.on_lost(f"the debug server ({self.name}) ended unexpectedly"))

    async def _hung_up(self) -> None:
        """A debugger that no longer talks is of no use."""
        helper = self._helper
        if helper is not None and helper.is_alive:
            await helper.end(QUIT)

    def _finish(self, tell: Callable[[], None]) -> None:
        """Once: the program is gone, or is not to be seen any more."""
        if self._is_over:
            return
        self._is_over = True
        self.drain()
        tell()
        _done(self._started)
        _done(self._ended)
        if self._pipes is not None:
            self._pipes.close()
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep())

    async def _sweep(self) -> None:
        """The debugger goes, and whatever else the session left."""
        if not self._is_attached:
            self._signal_program(signal.SIGKILL)
        await self._close()
        await end_others(self._session_id)

    async def _close(self) -> None:
        """Ends the debugger and its server."""
        talk, self._talk = self._talk, None
        helper, self._helper = self._helper, None
        server, self._server = self._server, None
        if talk is not None and helper is not None and helper.is_alive:
            with contextlib.suppress(RelayError):
                talk.send("disconnect", {})
            await helper.end(QUIT)
        if helper is not None:
            await helper.end()
        if talk is not None:
            talk.channel.close()
        if server is not None:
            await server.end()

    def settle(self) -> None:
        """Children are not debugged: there is nobody to wait for."""

    def _signal_program(self, number: int) -> None:
        if self.pid is None or self._is_core:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)

    async def detach(self) -> None:
        """All threads run on, without breakpoints. A program that we started keeps its pipes for now."""
        if self._is_core or self._is_over:
            return
        await self._halt()
        self._is_detached = True
        if self.pid is not None and self._pipes is not None:
            self._watched = Watched(self.pid)
            self._spawn(self._follow(self._watched))
        with contextlib.suppress(RelayError):
            await self._go_free()
        await self._close()

    async def _follow(self, watched: Watched) -> None:
        """The end of a program that was let go."""
        status = await watched.ended
        if self._watched is watched and self._pipes is not None:
            self._pipes.drain()
            self._listener.on_exit(status)
            self._pipes.close()

    async def terminate(self, grace: float) -> None:
        """Ends the program, whoever started it. What happened before can still be read."""
        if self._watched is not None:
            await self._watched.end(grace)
        elif self._is_core:
            self._finish(lambda: self._listener.on_lost("terminated"))
        elif not self._is_over and self.pid is not None:
            await self._end_program(grace)
        if self._sweeping is not None:
            await self._sweeping

    async def _end_program(self, grace: float) -> None:
        self._is_ending = True
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, DYING)):
            if self._is_over or not patience:
                continue
            self._signal_program(number)
            if not self._is_running:
                await self._go_on_quietly(1)
            await asyncio.wait([self._ended], timeout=patience)
        if not self._is_over and self._helper is not None:
            await self._helper.end()

    async def end(self, grace: float) -> None:
        """A program that we started ends; one that we attached to, or let go, goes on without us."""
        if self._is_detached:
            if self._pipes is not None and self._watched is not None and self._watched.is_alive:
                self._pipes.release()
            if self._watched is not None:
                self._watched.close()
        elif self._is_attached and not self._is_over:
            await self.detach()
        else:
            await self.terminate(grace)
        await self._close()
        if self._pipes is not None and not self._is_detached:
            self._pipes.close()
        self._pipes = self._watched = self.pid = None


LONGEST_LOG = 10_000
"""characters of a log message"""


def program_environment(spec: LaunchSpec, session_id: str) -> dict[str, str]:
    """The relay's own environment without its settings, then the client's."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OPENCODE_DEBUG_") and name not in spec.removed
    }
    return {**inherited, **spec.env, **spec.added, MARKER: session_id}


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _said(error: RelayError) -> str | None:
    """The debugger's own words."""
    return str(error.__cause__) if isinstance(error.__cause__, RequestFailed) else None


def _is_in(frames: Frames, path: str) -> bool:
    source = (frames[0].get("source") or {}) if frames else {}
    return os.path.realpath(source.get("path") or "") == os.path.realpath(path)


def _all_threads(debugger: str) -> RelayError:
    return RelayError(
        "NOT_SUPPORTED",
        f"{debugger} halts all threads of a program together: stop_scope thread is not offered",
        suggestion='Leave stop_scope out, or use "all"',
    )


def is_true(text: str) -> bool:
    """The result of a comparison, or any number or pointer that is not zero."""
    word = text.split(" ", 1)[0]
    return word not in ("0", "false", "0x0", "(nil)", "NULL", "0.0", "'\\0'")


def formatted(text: str, spec: str) -> str:
    """As Python formats numbers, where it is one; else as text."""
    if not spec:
        return text
    for convert in (int, float, str):
        with contextlib.suppress(ValueError):
            return format(convert(text), spec)
    return f"<{text}: {spec} is no format for it>"
