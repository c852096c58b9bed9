"""debugpy inside the program, spoken to directly: no adapter process in between."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
from collections.abc import Callable
from typing import Any

from ...dap.channel import Channel
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
)
from ..conversation import Conversation
from ..offered import Offered
from ..processes import ExitStatus, Program, end_others, not_started
from ..stdin import Stdin
from ..watched import Watched
from . import attach as attaching
from . import interpreter as interpreters
from . import launch as launching
from . import ports, target
from .arrivals import ChildArrival
from .callback import CallBack
from .child import END_PATIENCE, Child
from .hearing import Hearing
from .looking import Looking
from .marks import Marks
from .probe import Probe
from .protocol import ALLOWED, CLIENT, FIELD, real_frames, scope_options

DISCONNECT = 2.0
REFERENCES_PER_LAUNCH = 1_000_000


class DebugpyAdapter(Looking, Offered):
    name = "debugpy"
    busy = (
        "The program has not reached a new line: it is inside a long call, or in a loop of one line "
        "(Python 3.12 and newer). It pauses at its next line."
    )
    more = frozenset({"subprocesses", "stop_scope_thread", "completions", "exception_classes", "step_until"})

    def __init__(
        self,
        session_id: str,
        folder: str,
        python_path: str,
        listener: Listener,
        timeout: float,
        launch_timeout: float,
        asks_early: bool = True,
    ) -> None:
        self._session_id = session_id
        self._folder = folder
        self._python_path = python_path
        self._listener = listener
        self._timeout = timeout
        self._launch_timeout = launch_timeout
        self._program: Program | None = None
        self._talk: Conversation | None = None
        self._probe: Probe | None = None
        self._heard: Hearing | None = None
        """what came over the last connection"""
        self._marks = Marks(self._request, self._aside)
        self._tokens = itertools.count(1)
        self._first_reference = 1000
        self._is_attached = False
        self._callback: CallBack | None = None
        """where debuggers of children call"""
        self._child: Child | None = None
        self._elder: DebugpyAdapter | None = None
        """of a child: the adapter of the program itself"""
        self._young: set[DebugpyAdapter] = set()
        """of the program itself: all its children that live"""
        self._is_detached = False
        self._stranger: Watched | None = None
        """a process into which we brought the debugger"""
        self._port: int | None = None
        """where somebody else's debugger listens that we attached to"""
        self._sweeping: asyncio.Task[None] | None = None
        self.spell: Callable[[str], str] = lambda path: path
        """what the user calls a file"""
        self._identified: asyncio.Task[interpreters.Interpreter] | None = None
        """who the interpreter says it is, unless it is not to be asked before a launch"""
        if asks_early:
            self._identify(python_path)
        self.pid: int | None = None
        self.warnings: list[str] = []

    def _identify(self, python_path: str) -> asyncio.Task[interpreters.Interpreter]:
        """Known by the time it is needed: asking takes longer than creating a session."""
        self._identified = asyncio.get_running_loop().create_task(interpreters.identify(python_path))
        self._identified.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._identified

    async def check_interpreter(self, path: str) -> None:
        """Refuses what is no Python that can be debugged."""
        await interpreters.identify(path)

    def use_interpreter(self, path: str) -> None:
        """For the programs to come."""
        self._python_path = path
        self._identify(path)

    async def _interpreter(self, path: str) -> interpreters.Interpreter:
        if path == self._python_path:
            return await asyncio.shield(self._identified or self._identify(path))
        return await interpreters.identify(path)

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Everything that can be known before the program starts."""
        interpreter = await self._interpreter(spec.interpreter)
        await interpreters.check_program(spec.kind, spec.target, interpreter)

    # How a program comes under it.

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        interpreter = await self._interpreter(spec.interpreter)
        await self._forget_last_program()
        async with CallBack(self._folder, self._new_channel) as callback:
            environment = launching.environment(spec, self._session_id, callback, self._first_reference)
            program = self._begin_program(launching.command(interpreter.path, spec), spec, environment)
            self._converse(await launching.connection(callback, program, self._launch_timeout))
            if spec.debug_subprocesses:
                self._callback = callback
                callback.stay_open(self._child_called)
        options = {"stopOnEntry": spec.stop_on_entry, **scope_options(spec.stop_scope)}
        await self._configure("launch", options, spec.just_my_code, breakpoints, stop_on)

    def _begin_program(self, argv: list[str], spec: LaunchSpec, environment: dict[str, str]) -> Program:
        self._first_reference += REFERENCES_PER_LAUNCH
        try:
            program = Program(argv, spec.cwd, environment, self._listener.on_output, self._exited)
        except (OSError, ValueError) as error:
            raise not_started(error) from error
        self._program, self.pid = program, program.pid
        program.is_outlived = self._is_outlived
        self._listener.on_process(program.pid)
        with contextlib.suppress(RelayError):  # one that has ended already tells more by its end
            program.stdin.send(spec.stdin, spec.stdin_eof)
        return program

    async def _forget_last_program(self) -> None:
        """What it left running is being ended, by the marker that the next one will carry too."""
        if self._sweeping is not None:
            await self._sweeping
        self._marks.clear()
        self._program = self._talk = self._probe = self._heard = None

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        """By its debugger's port, or by process id: then a debugger is brought into it first."""
        async with attaching.translated(spec):
            self._port = spec.port or ports.debugpy_port(spec.pid or 0)
            if self._port is not None:
                async with asyncio.timeout(spec.connect_timeout):
                    self._converse(await attaching.dial(self._new_channel, spec.host, self._port))
                    await self._attach(spec, breakpoints, stop_on)
                return
            assert spec.pid is not None
            self._stranger = attaching.stranger(spec.pid)
            async with attaching.Injection(self._stranger, self._folder, self._new_channel) as injection:
                self._converse(await injection.connection(spec.gdb_path, spec.connect_timeout))
                async with asyncio.timeout(spec.connect_timeout):
                    await self._attach(spec, breakpoints, stop_on)
                    await injection.done()

    async def _attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[ExceptionRule]) -> None:
        options = scope_options(spec.stop_scope)
        await self._configure("attach", options, spec.just_my_code, breakpoints, stop_on, spec.connect_timeout)

    def describe_target(self) -> dict[str, Any]:
        """What there is to know of a program that we attached to; of one on another machine, nothing."""
        return target.describe(self.pid) if self.pid is not None and self._is_here(self.pid) else {}

    def held_by_another(self) -> str | None:
        holder = target.held_by(self.pid) if self.pid is not None else None
        is_told = holder is not None and self.pid is not None and self._is_here(self.pid)
        return f"The program's process {self.pid} is halted by {holder}" if is_told else None

    def _is_here(self, pid: int) -> bool:
        """On this machine: of a program that was attached to by its port, only that port tells."""
        return self._port is None or ports.debugpy_port(pid) == self._port

    async def _configure(
        self,
        command: str,
        arguments: dict[str, Any],
        just_my_code: bool,
        breakpoints: Groups,
        stop_on: list[ExceptionRule],
        timeout: float | None = None,
    ) -> None:
        """The handshake, in the order that debugpy wants; `configurationDone` lets the program run."""
        talk, probe, heard = self._require_talk(), self._require_probe(), self._require_heard()
        timeout = timeout or self._launch_timeout
        await talk.request("initialize", CLIENT, timeout=timeout)
        self._is_attached = command == "attach"
        options = {"justMyCode": just_my_code, "redirectOutput": False, "showReturnValue": True, **arguments}
        options["breakOnSystemExit"] = []  # an exit is no crash, whatever its code
        started = talk.channel.send(command, options)
        either: list[asyncio.Future[Any]] = [heard.initialized, started]
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if command == "attach":
            await probe.load(self._first_reference)
        self._marks.clear()
        for path, group in breakpoints.items():
            for bp, bound in zip(group, await self.set_breakpoints(path, group), strict=True):
                self._listener.on_bound(bp.number, bound)
        await self.set_exceptions(stop_on)
        try:
            await talk.request("configurationDone", timeout=timeout)
        except RelayError:
            if self._program is None or self._program.is_alive:
                raise
            return  # it has run already, from beginning to end
        await asyncio.wait([started], timeout=timeout)
        if self.pid is None:
            self.pid = (await talk.request("pydevdSystemInfo"))["process"]["pid"]

    # The connection to it.

    def _new_channel(self) -> Channel:
        channel = Channel(lambda event: self._event(channel, event))
        channel.on_closed = lambda reason: self._lost(channel, reason)
        return channel

    def _converse(self, channel: Channel) -> tuple[Conversation, Hearing]:
        self._talk = Conversation(channel, ALLOWED, self._timeout)
        self._probe = Probe(self._talk, self._timeout)
        self._heard = Hearing(self._listener, self._marks, self._probe)
        return self._talk, self._heard

    def _require_talk(self) -> Conversation:
        if self._talk is None:
            raise RelayError("DEBUGPY_ERROR", "There is no connection to a debugger", status=502)
        return self._talk

    def _require_probe(self) -> Probe:
        self._require_talk()
        assert self._probe is not None
        return self._probe

    def _require_heard(self) -> Hearing:
        assert self._heard is not None
        return self._heard

    async def _request(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        return await self._require_talk().request(command, arguments)

    async def _aside(self, method: str, **arguments: Any) -> Any:
        return await self._require_probe().aside(method, **arguments)

    async def _in_frame(self, frame: int, method: str, timeout: float | None = None, **arguments: Any) -> Any:
        return await self._require_probe().in_frame(frame, method, timeout or self._timeout, **arguments)

    def _event(self, channel: Channel, event: Event) -> None:
        """Only from the debugger that has shown the token."""
        if self._talk is None or channel is not self._talk.channel:
            return
        if event.event == "terminated":
            if self._program is None:
                channel.close()
        else:
            self._require_heard().hear(event)

    def _lost(self, channel: Channel, reason: Exception | None) -> None:
        """A program of ours tells its end by its exit; one that we attached to, by its connection."""
        talk = self._talk
        if talk is None or channel is not talk.channel:
            return
        if self._program is not None:
            talk.farewell = asyncio.get_running_loop().create_task(
                self._expect_end(self._program, self._require_heard())
            )
        elif self._stranger is not None:
            talk.farewell = asyncio.get_running_loop().create_task(self._expect_end_of(self._stranger))
        elif (code := self._require_heard().exit_code) is not None:
            self._listener.on_exit(ExitStatus.of(code))
        else:
            self._listener.on_lost(str(reason or "the program ended or its debugger let go"))

    async def _expect_end(self, program: Program, heard: Hearing) -> None:
        """The connection ends just before the program does, unless the program closed it and goes on without us."""
        await asyncio.wait([program.ended], timeout=0 if heard.replaced_by else END_PATIENCE)
        if program.is_alive:
            self._listener.on_lost(heard.why_it_left())

    async def _expect_end_of(self, stranger: Watched) -> None:
        """Whoever is not its parent does not get to know how it ended, only that it did."""
        await asyncio.wait([stranger.ended], timeout=END_PATIENCE)
        gone = "exited" if stranger.ended.done() else "the program closed the connection to its debugger and runs on"
        self._listener.on_lost(gone)

    # Children: each is followed by an adapter of its own.

    def _child_called(self, channel: Channel) -> None:
        self._listener.on_child(ChildArrival(channel, self))

    async def join(
        self,
        arrival: ChildArrival,
        pid: int,
        breakpoints: Groups,
        stop_on: list[ExceptionRule],
        just_my_code: bool,
        stop_scope: str,
        environment: dict[str, str],
    ) -> None:
        """The debugger of a child, which waits for us. If this fails it has to be let go. `environment` is what the
        child finds in its own besides."""
        channel, self._elder, self.pid = arrival.channel, arrival.elder, pid
        channel.on_event = lambda event: self._event(channel, event)
        talk, heard = self._converse(channel)
        self._elder._young.add(self)
        self._child = Child(pid, talk, heard, self._listener, self._left)
        try:
            await self._aside("set_environment", variables=environment)
            await self._configure("launch", scope_options(stop_scope), just_my_code, breakpoints, stop_on)
        except BaseException:
            self._child.forget()
            raise

    def _left(self) -> None:
        if self._elder is not None:
            self._elder._young.discard(self)
            self._elder.settle()

    def _is_outlived(self) -> bool:
        return bool(self._young) or self._listener.is_expecting()

    def settle(self) -> None:
        """What a program leaves behind ends with it, or with the last of its children that are debugged."""
        if self._program is None or self._program.is_alive or self._is_outlived():
            return
        self._close_callback()
        self._program.close_pipes()
        if self._is_detached:
            return
        self._sweeping = asyncio.get_running_loop().create_task(end_others(self._session_id))

    def _close_callback(self) -> None:
        if self._callback is not None:
            self._callback.close()
            self._callback = None

    # Breakpoints, and letting it run.

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        return await self._marks.set(path, breakpoints)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        await self._marks.set_exceptions(rules)

    async def hits(self) -> dict[int, int]:
        return await self._marks.hits()

    async def visit(self, path: str, line: int) -> None:
        await self._marks.visit(path, line, next(self._tokens))

    async def leave(self, path: str, line: int) -> None:
        await self._marks.leave(path, line)

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        # Its answer comes when the threads really run, which a new stop may prevent: nobody waits for it.
        await self._go_on("continue", thread_id, go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        await self._require_talk().answer(kind, await self._go_on(kind, thread_id, go))

    async def _go_on(self, command: str, thread_id: int, go: Go | None) -> Asked:
        talk, probe = self._require_talk(), self._require_probe()
        arguments: dict[str, Any] = {"threadId": thread_id}
        if go is not None:
            arguments[FIELD] = {"thread": thread_id, **vars(go)}
        async with talk.translated(command):
            sent = talk.channel.send(command, arguments)
        probe.resumed(thread_id if go and go.alone else None, go.keep if go else ())
        return sent

    async def pause(self, thread_id: int | None) -> None:
        if thread_id is None:
            await self._request("pause", {"threadId": "*"})
        else:
            await self._aside("pause", thread=thread_id)  # an adapter in between would pause all

    async def speak_for_blocked(self, thread_id: int | None) -> None:
        await self._aside("speak_for_blocked", thread=thread_id)

    async def set_out(
        self, frame: int, most: int = 1, until: str | None = None, target: str | int | None = None
    ) -> dict[str, Any]:
        token = next(self._tokens)
        answer = await self._in_frame(frame, "set_out", token=token, most=most, until=until, target=target)
        return {**answer, "token": token}

    async def journey(self, token: int, end: bool = False) -> dict[str, Any]:
        try:
            return dict(await self._aside("journey", token=token, end=end))
        except RelayError:
            return self._heard.journeys.get(token, {}) if self._heard else {}

    # What is known of it.

    @property
    def stdin(self) -> Stdin | None:
        """Of a program that we started: that of another is not ours to write to."""
        return self._program.stdin if self._program is not None else None

    @property
    def program_pid(self) -> int | None:
        """Of a live program that we started."""
        return self._program.pid if self._program is not None and self._program.is_alive else None

    def drain(self) -> None:
        if self._elder is not None:
            self._elder.drain()  # its output comes through the pipes of the program
        elif self._program is not None:
            self._program.drain()

    def ask_stack(self, thread_id: int) -> Asked:
        return self._require_talk().send("stackTrace", {"threadId": thread_id})

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        body = await self._require_talk().answer("stackTrace", asked or self.ask_stack(thread_id))
        frames = real_frames(body["stackFrames"], self.spell)
        self._require_probe().tracks(thread_id, (frame["id"] for frame in frames))
        return frames

    async def task_stack(self, task_id: int) -> tuple[int | None, Frames]:
        answer = await self._aside("task_stack", number=task_id)
        if not answer["frames"]:
            suggestion = "GET /sessions/{id}/tasks lists them; those that are finished have no frames"
            raise RelayError("FRAME_NOT_FOUND", f"Task {task_id} has no frames", task_id=task_id, suggestion=suggestion)
        frames = [{**frame, "source": {"path": self.spell(frame["source"]["path"])}} for frame in answer["frames"]]
        self._require_probe().tracks(answer["thread_id"] or 0, (frame["id"] for frame in frames))
        return answer["thread_id"], frames

    async def examine(self, path: str) -> dict[str, Any]:
        interpreter = None
        if self._identified is not None:
            with contextlib.suppress(RelayError):  # launching says what is wrong with it
                interpreter = await asyncio.shield(self._identified)
        interpreter = interpreter or await interpreters.identify(sys.executable)
        return await interpreters.examine(path, interpreter)

    async def find_function(self, path: str, name: str) -> list[int]:
        """The first lines inside of the functions of that name in a file."""
        from .inside.names import Name  # here, because it brings the whole package along, which is for programs

        wanted = Name(name)
        listed = (await self.examine(path)).get("functions", ())
        return [line for qualname, line in listed if wanted.match(qualname, set(), path, is_own=True) == "yes"]

    def check_expression(self, text: str) -> Any:
        return interpreters.check_expression(text)

    # How it ends.

    def _exited(self, status: ExitStatus) -> None:
        if self._talk is not None:
            self._talk.channel.close()
        self._listener.on_exit(status)
        self.settle()

    async def detach(self) -> None:
        """All threads run on, without breakpoints. A program that we started keeps its pipes for now."""
        with contextlib.suppress(RelayError):
            self._listener.on_hits(await self.hits())
        self._is_detached = True
        self._close_callback()  # nor is what it starts from now on debugged
        await self._let_go(terminate=False)

    async def _let_go(self, terminate: bool) -> None:
        talk, self._talk = self._talk, None
        if talk is None:
            return
        with contextlib.suppress(RelayError):
            await talk.request("disconnect", {"terminateDebuggee": terminate}, timeout=DISCONNECT)
        if self._is_attached and self._stranger is None:
            # Somebody else's adapter: it dies, and its port with it, if we are gone before it has closed its end.
            await asyncio.wait([talk.channel.closed], timeout=DISCONNECT)
        talk.channel.close()

    async def terminate(self, grace: float) -> None:
        """Ends the program, whoever started it. What happened before can still be read."""
        if self._child is not None:
            await self._child.end(grace)
        elif self._program is not None:
            await self._end_program(self._program, grace)
        elif self._stranger is not None:
            await self._stranger.end(grace)
            if self._stranger.is_alive:
                raise RelayError("DEBUGPY_TIMEOUT", f"Process {self._stranger.pid} did not end", operation="terminate")
        else:
            await self._let_go(terminate=True)

    async def _end_program(self, program: Program, grace: float) -> None:
        await program.end(grace)
        await asyncio.gather(*(child.end(0) for child in list(self._young)))
        program.close_pipes()
        await end_others(self._session_id)

    async def end(self, grace: float) -> None:
        """A program that we started ends; one that we attached to, or let go, goes on without us."""
        self._close_callback()
        if self._child is not None and self._is_detached:
            self._child.forget()
        elif self._child is not None:
            await self._child.end(grace)
        elif self._program is not None and self._is_detached:
            self._program.release()
        elif self._program is not None:
            await self._end_program(self._program, grace)
        if self._is_attached:
            await self._let_go(terminate=False)
        if self._stranger is not None:
            self._stranger.close()
        self._program = self._child = self._stranger = self.pid = None
        self._is_attached = False
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.channel.close()
