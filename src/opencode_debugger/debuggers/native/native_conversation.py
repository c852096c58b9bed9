"""The conversation with a native debugger: its process, its debug server, and the requests that are under way."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ...dap.channel import Channel, RequestFailed
from ...dap.messages import Event
from ...errors import RelayError
from ..dap_conversation import Conversation
from ..shapes import Asked
from .debugger_process import ADMITTING, Command, Doorway, Hear, Helper, Notify, Streams
from .native_program import NativeProgram

ALLOWED = frozenset((
    "initialize", "launch", "attach", "configurationDone", "disconnect", "terminate", "cancel", "setBreakpoints",
    "setFunctionBreakpoints", "setExceptionBreakpoints", "setInstructionBreakpoints", "dataBreakpointInfo",
    "setDataBreakpoints", "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "pause", "threads",
    "stackTrace", "scopes", "variables", "evaluate", "setVariable", "setExpression", "completions", "modules",
    "exceptionInfo", "readMemory", "writeMemory", "disassemble", "ocdb", "ocdbAlways",
))  # fmt: skip
FEATURES = ("linesStartAt1", "columnsStartAt1", "supportsVariableType", "supportsVariablePaging",
            "supportsMemoryReferences")  # fmt: skip
CLIENT = {"clientID": "opencode-debugger", "pathFormat": "path", **dict.fromkeys(FEATURES, True)}
GRACE = 2.0
"""Seconds for an evaluation that was interrupted to come back."""
QUIT = 2.0
"""Seconds for a debugger that was told to go."""


@dataclass(eq=False)
class NativeConversation:
    _program: NativeProgram
    timeout: float
    launch_timeout: float

    def __post_init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.reset()

    def reset(self) -> None:
        """Forget the last debugger, which has been closed."""
        self.debugger: Helper | None = None
        self.server: Helper | None = None
        self.door: Doorway | None = None
        """by which the debugger comes to its server"""
        self._talk: Conversation | None = None
        self._contained_ones: set[Asked] = set()

    @property
    def is_open(self) -> bool:
        return self._talk is not None

    async def open(
        self, command: Command, streams: Streams | None, on_event: Callable[[Event], None], on_ended: Notify
    ) -> None:
        """Start a debugger that reads requests from its stdin and writes answers and events to its stdout."""
        program = self._program
        try:
            async with contextlib.AsyncExitStack() as failing:
                ours, theirs = socket.socketpair()
                failing.callback(ours.close)
                with theirs:
                    helper = Helper(*command, program.marker, streams, on_ended, theirs)
                failing.push_async_callback(helper.end)  # nobody else knows of it yet
                # One that no longer talks is of no use.
                channel = Channel(on_event, lambda reason: self.spawn(helper.end(QUIT)))
                await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=ours)
                failing.pop_all()
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{program.kind} could not be started: {error}") from error
        self.debugger = helper
        self._talk = Conversation(channel, ALLOWED, self.timeout)
        self._talk.farewell = program.ended
        await self.request("initialize", {**CLIENT, "adapterID": program.kind}, self.launch_timeout)

    def start_server(
        self, command: Command, streams: Streams, cwd: str, on_ended: Notify, on_said: Hear = lambda text: None
    ) -> tuple[Helper, str]:
        """Start a debug server that waits for its debugger, and return the name of the doorway between them, too."""
        program, (argv, environment) = self._program, command
        try:
            self.door = door = Doorway()
            with door.listener as listener:
                argv, how = [*ADMITTING, *argv], (listener, cwd, True, on_said)
                self.server = Helper(argv, environment, program.marker, streams, on_ended, *how)
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"{program.debugger} could not be started: {error}") from error
        return self.server, door.name

    async def close(self) -> None:
        """End the debugger and its server."""
        talk, self._talk = self._talk, None
        helper, self.debugger = self.debugger, None
        server, self.server = self.server, None
        if talk is not None and helper is not None and helper.is_alive:
            with contextlib.suppress(RelayError):
                talk.send("disconnect", {})
            await helper.end(QUIT)
        elif helper is not None:
            await helper.end()
        if talk is not None:
            talk.channel.close()
        if server is not None:
            await server.end()

    def _require_talk(self) -> Conversation:
        if self._talk is None:
            raise RelayError("DEBUGPY_ERROR", "There is no connection to a debugger", status=502)
        return self._talk

    def send(self, command: str, arguments: dict[str, Any]) -> Asked:
        """Send a request: it is on its way when this returns."""
        return self._require_talk().send(command, arguments)

    async def answer(self, command: str, sent: Asked, timeout: float | None = None) -> Any:
        return await self._require_talk().answer(command, sent, timeout)

    async def request(self, command: str, arguments: dict[str, Any] | None = None, timeout: float = 0) -> Any:
        try:
            return await self._require_talk().request(command, arguments, timeout=timeout or None)
        except RelayError as error:
            if said_of(error) != "notStopped":
                raise  # with the debugger's words as its cause
            raise self._program.not_halted() from error

    async def call_inside(self, method: str, always: bool = False, **arguments: Any) -> Any:
        """Call our code inside gdb: while the program is halted, or also while it runs."""
        return await self.request("ocdbAlways" if always else "ocdb", {"method": method, "arguments": arguments})

    async def run_command(self, text: str) -> str:
        """Return what a command of the debugger's own prints."""
        return str((await self.request("evaluate", {"expression": text, "context": "repl"}))["result"])

    async def request_contained(self, command: str, arguments: dict[str, Any], timeout: float) -> Any:
        """Ask something that may run code of the program, which is interrupted if it takes too long."""
        talk = self._require_talk()
        sent = talk.send(command, arguments)
        seq = talk.channel.last_seq
        self._contained_ones.add(sent)
        try:
            await asyncio.wait([sent], timeout=timeout)
            if not sent.done():
                await self._interrupt(seq, sent)
                said = f"{self._program.kind} took too long, and was interrupted"
                raise RelayError("DEBUGPY_TIMEOUT", said, timed_out=True)
            return await talk.answer(command, sent)
        except RelayError as error:
            if said_of(error) is not None:
                error.details["said"] = said_of(error)
            raise
        finally:
            self._contained_ones.discard(sent)

    @property
    def is_evaluating(self) -> bool:
        """There are evaluations without an answer yet: they make the program run, which is nobody's business."""
        return any(not sent.done() for sent in self._contained_ones)

    async def _interrupt(self, seq: int, sent: Asked) -> None:
        """Cancel what runs too long; if the debugger does not listen to that, halt the program."""
        talk = self._require_talk()
        for command, arguments in (("cancel", {"requestId": seq}), ("pause", {"threadId": 1})):
            with contextlib.suppress(RelayError):
                talk.send(command, arguments)
            await asyncio.wait([sent], timeout=GRACE)
            if sent.done():
                return

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something besides, about what the debugger has said."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def said_of(error: RelayError) -> str | None:
    """Return the debugger's own words."""
    return str(error.__cause__) if isinstance(error.__cause__, RequestFailed) else None
