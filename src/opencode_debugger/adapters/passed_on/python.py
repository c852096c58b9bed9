"""Python programs under plain debugpy, whose DAP goes to the tunnel's client and back unchanged."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from ...dap import framing, messages
from ...dap.channel import Channel
from ...errors import RelayError
from ..base import LaunchSpec, Listener
from ..debugpy import interpreter as interpreters
from ..debugpy.callback import CallBack
from ..debugpy.launch import INSIDE, LAUNCH, LAUNCHER, connection, debugpy_folder
from ..environment import program_environment
from ..processes import ExitStatus, Program, end_others, not_started
from ..stdin import Stdin
from . import strangers
from .adapter import PassedOn
from .client import CHUNK, Client

SPEAKS_DAP = "This tunnel speaks DAP, which gdb and lldb do not: attach an editor"
GONE = "The debugger of this program is gone: it runs without one"
LONGEST = 64 * 1024 * 1024
"""Bytes of one message."""
FIRST_OWN = 2_000_000_000
"""Where the numbers of our own requests begin, far from those of clients."""
ANSWER = 2.0


class PythonPassedOn(PassedOn):
    protocol = "dap"
    name = "debugpy"

    _program: Program | None = None
    _line: DebugpyLine | None = None

    def __init__(self, session_id: str, folder: str, listener: Listener, timeout: float) -> None:
        super().__init__(session_id, listener, timeout)
        self._folder = folder

    async def check_launch(self, spec: LaunchSpec) -> None:
        interpreter = await interpreters.identify(spec.interpreter)
        await interpreters.check_program(spec.kind, spec.target, interpreter)

    async def _start(self, spec: LaunchSpec) -> None:
        """Its debugger calls us, and runs nothing before a client has told it to."""
        interpreter = await interpreters.identify(spec.interpreter)
        async with CallBack(self._folder, lambda: Channel(lambda event: None)) as callback:
            try:
                self._program = program = Program(
                    command(interpreter.path, spec),
                    spec.cwd,
                    environment(spec, self._session_id, callback),
                    self._listener.on_output,
                    self._exited,
                )
            except (OSError, ValueError) as error:
                raise not_started(error) from error
            self.pid = program.pid
            self._listener.on_process(program.pid)
            with contextlib.suppress(RelayError):
                program.stdin.send(spec.stdin, spec.stdin_eof)
            self._line = DebugpyLine(await connection(callback, program, self._timeout))

    def _exited(self, status: ExitStatus) -> None:
        self.pid = None
        self._listener.on_exit(status)

    async def _carry(self, client: Client) -> None:
        line = self._line
        if line is None or line.is_closed:
            await strangers.turn_away(client, GONE)
            return
        first = await client.read()
        if first.startswith(strangers.GDB_REMOTE):
            await strangers.turn_away(client, SPEAKS_DAP, first)
        elif first:
            try:
                await line.carry(first, client)
            finally:
                await line.part()

    @property
    def stdin(self) -> Stdin | None:
        return self._program.stdin if self._program is not None else None

    def drain(self) -> None:
        if self._program is not None:
            self._program.drain()

    async def detach(self) -> None:
        raise self.refusal("detach")

    async def terminate(self, grace: float) -> None:
        if self._program is not None:
            await self._program.end(grace)
            self._program.close_pipes()
        await end_others(self._session_id)

    async def end(self, grace: float) -> None:
        await self.terminate(grace)
        if self._line is not None:
            self._line.close()
        self._program = self._line = None


def command(interpreter: str, spec: LaunchSpec) -> list[str]:
    """Children are not debugged: nobody would answer them."""
    what = {"file": [spec.target], "module": ["-m", spec.target]}.get(spec.kind, ["-c", spec.target])
    debugpy = ["--connect", "127.0.0.1:0", "--wait-for-client", "--configure-subProcess", "False"]
    return [interpreter, "-Xfrozen_modules=off", *spec.interpreter_args, str(LAUNCHER), *debugpy, *what, *spec.args]


def environment(spec: LaunchSpec, session_id: str, callback: CallBack) -> dict[str, str]:
    config = {"kind": "plain", "way": callback.way(), "debugpy": debugpy_folder(), "inside": str(INSIDE)}
    own = {"PYTHONUNBUFFERED": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return {**program_environment(spec, session_id), **own, LAUNCH: msgspec.json.encode(config).decode()}


class DebugpyLine:
    """The connection that the debugger made. One client after the other, message by message."""

    def __init__(self, channel: Channel) -> None:
        transport, self._deframer = channel.hand_over()
        self._reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(self._reader)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        self._writer = asyncio.StreamWriter(transport, protocol, self._reader, asyncio.get_running_loop())
        self._client: Client | None = None
        self._numbers = FIRST_OWN
        self._awaited: dict[int, asyncio.Future[None]] = {}
        self._is_configured = False
        self._pump = asyncio.get_running_loop().create_task(self._listen())

    @property
    def is_closed(self) -> bool:
        return self._pump.done()

    async def carry(self, first: bytes, client: Client) -> None:
        self._client = client
        inward = asyncio.get_running_loop().create_task(self._inward(first, client))
        try:
            await asyncio.wait([inward, self._pump], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._client = None
            inward.cancel()
            await asyncio.gather(inward, return_exceptions=True)

    async def _inward(self, data: bytes, client: Client) -> None:
        """Whole messages only: half of one would be the end of the line for everybody."""
        deframer = framing.Deframer(LONGEST)
        while data:
            for body in deframer.feed(data):
                with contextlib.suppress(messages.MessageError):
                    self._notice(messages.decode(body))
                self._writer.write(framing.frame(body))
                await self._writer.drain()
            data = await client.read()

    def _notice(self, message: messages.Message) -> None:
        if isinstance(message, messages.Request):
            if message.command == "configurationDone":
                self._is_configured = True
            elif message.command == "disconnect":
                self._is_configured = False

    async def _listen(self) -> None:
        async for body in self._bodies():
            client = self._client
            if not self._is_own(body) and client is not None:
                with contextlib.suppress(OSError):
                    await client.write(framing.frame(body))

    async def _bodies(self) -> AsyncIterator[bytes]:
        with contextlib.suppress(OSError, framing.FramingError):
            while data := await self._reader.read(CHUNK):
                for body in self._deframer.feed(data):
                    yield body

    def _is_own(self, body: bytes) -> bool:
        """The answer to a request of ours."""
        if not self._awaited:
            return False
        with contextlib.suppress(messages.MessageError):
            message = messages.decode(body)
            if isinstance(message, messages.Response) and message.request_seq in self._awaited:
                answered = self._awaited.pop(message.request_seq)
                if not answered.done():
                    answered.set_result(None)
                return True
        return False

    async def part(self) -> None:
        """Who leaves without a word is taken to have let go, as debugpy's own adapter does: the program runs on.

        The next is let in when nothing can come any more that is meant for the last."""
        if not self.is_closed:
            request = ("disconnect", {"terminateDebuggee": False}) if self._is_configured else ("threads", {})
            self._is_configured = False
            with contextlib.suppress(OSError):
                await self._ask(*request)

    async def _ask(self, command: str, arguments: dict[str, Any]) -> None:
        self._numbers += 1
        answered = self._awaited[self._numbers] = asyncio.get_running_loop().create_future()
        self._writer.write(framing.frame(messages.encode(messages.Request(self._numbers, command, arguments))))
        await self._writer.drain()
        await asyncio.wait([answered, self._pump], timeout=ANSWER, return_when=asyncio.FIRST_COMPLETED)
        self._awaited.pop(self._numbers, None)

    def close(self) -> None:
        self._pump.cancel()
        self._writer.close()
