"""Python programs under plain debugpy, whose DAP goes to the tunnel's client and back unchanged."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from ...dap import framing, messages
from ...dap.channel import Channel
from ...errors import RelayError
from ..native.native_program import set_done
from ..process.program_process import ExitStatus, Program, end_others, not_started, program_environment
from ..python.interpreters import interpreter as interpreters
from ..python.launch.callback_socket import CallBack
from ..python.launch.start_program import INSIDE, LAUNCH, LAUNCHER, debugger_connection, debugpy_folder
from ..registry import DebuggerSetup
from ..shapes import LaunchSpec
from .handed_over_adapter import HandedOverAdapter
from .tunnel_client import CHUNK, GDB_REMOTE, Client

LONGEST = 64 * 1024 * 1024
"""Bytes of one message."""
FIRST_OWN = 2_000_000_000
"""First number of our own requests, far from those of clients."""
ANSWER = 2.0


class PlainDebugpyAdapter(HandedOverAdapter):
    protocol = "dap"
    gone = "The debugger of this program is gone: it runs without one"
    foreign = GDB_REMOTE
    not_spoken = "This tunnel speaks DAP, which gdb and lldb do not: attach an editor"

    def __init__(self, setup: DebuggerSetup) -> None:
        super().__init__("debugpy", setup)
        self._folder = setup.folder
        self._program: Program | None = None

    async def check_launch(self, spec: LaunchSpec) -> None:
        interpreter = await interpreters.identify(spec.interpreter)
        await interpreters.check_program(spec.kind, spec.target, interpreter)

    async def _start_program(self, spec: LaunchSpec) -> None:
        """Start the program: its debugger calls us, and runs nothing before a client has told it to.

        Children are not debugged: nobody would answer them."""
        interpreter = await interpreters.identify(spec.interpreter)
        what = {"file": [spec.target], "module": ["-m", spec.target]}.get(spec.kind, ["-c", spec.target])
        debugpy = ["--connect", "127.0.0.1:0", "--wait-for-client", "--configure-subProcess", "False"]
        begun = [interpreter.path, "-Xfrozen_modules=off", *spec.interpreter_args, LAUNCHER]
        argv = [*begun, *debugpy, *what, *spec.args]
        own = {"PYTHONUNBUFFERED": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        async with CallBack(self._folder, lambda: Channel(lambda event: None)) as callback:
            try:
                config = {"kind": "plain", "way": callback.way(), "debugpy": debugpy_folder(), "inside": INSIDE}
                own[LAUNCH] = msgspec.json.encode(config).decode()
                environment = {**program_environment(spec, self._session_id), **own}
                self._program = program = Program(argv, spec.cwd, environment, self._listener.on_output, self._exited)
            except (OSError, ValueError) as error:
                raise not_started(error) from error
            self.pid, self._pipes = program.pid, program.pipes
            self._listener.on_process(program.pid)
            with contextlib.suppress(RelayError):
                program.pipes.stdin.send(spec.stdin, spec.stdin_eof)
            self._line = DebugpyLine(await debugger_connection(callback, program, self._timeout))

    def _exited(self, status: ExitStatus) -> None:
        self.pid = None
        self._listener.on_exit(status)

    async def terminate(self, grace: float) -> None:
        if self._program is not None:
            await self._program.end(grace)
            self._program.pipes.close()
        await end_others(self._session_id)

    async def end(self, grace: float) -> None:
        await self.terminate(grace)
        if self._line is not None:
            self._line.close()
        self._program = self._pipes = self._line = None


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
        self._pump = asyncio.get_running_loop().create_task(self._listen_to_debugger())

    @property
    def is_closed(self) -> bool:
        return self._pump.done()

    async def carry(self, first: bytes, client: Client) -> None:
        self._client = client
        inward = asyncio.get_running_loop().create_task(self._carry_inward(first, client))
        try:
            await asyncio.wait([inward, self._pump], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._client = None
            inward.cancel()
            await asyncio.gather(inward, return_exceptions=True)

    async def _carry_inward(self, data: bytes, client: Client) -> None:
        """Pass on whole messages only: half of one would be the end of the line for everybody."""
        deframer = framing.Deframer(LONGEST)
        while data:
            for body in deframer.feed(data):
                with contextlib.suppress(messages.MessageError):
                    message = messages.decode_message(body)
                    if isinstance(message, messages.Request) and message.command in ("configurationDone", "disconnect"):
                        self._is_configured = message.command == "configurationDone"
                self._writer.write(framing.framed_message(body))
                await self._writer.drain()
            data = await client.read()

    async def _listen_to_debugger(self) -> None:
        with contextlib.suppress(OSError, framing.FramingError):
            while data := await self._reader.read(CHUNK):
                for body in self._deframer.feed(data):
                    await self._pass_to_client(body)

    async def _pass_to_client(self, body: bytes) -> None:
        if not self._is_own(body) and self._client is not None:
            with contextlib.suppress(OSError):
                await self._client.write(framing.framed_message(body))

    def _is_own(self, body: bytes) -> bool:
        """Take the answer to a request of ours; say whether it is one."""
        if not self._awaited:
            return False
        with contextlib.suppress(messages.MessageError):
            message = messages.decode_message(body)
            if isinstance(message, messages.Response) and message.request_seq in self._awaited:
                set_done(self._awaited.pop(message.request_seq))
                return True
        return False

    async def part_from_client(self) -> None:
        """Let the program run on: a client that leaves without a word is taken to have let go, as by debugpy's own
        adapter.

        The next is let in when nothing can come any more that is meant for the last."""
        if self.is_closed:
            return
        request = ("disconnect", {"terminateDebuggee": False}) if self._is_configured else ("threads", {})
        self._is_configured = False
        self._numbers += 1
        answered = self._awaited[self._numbers] = asyncio.get_running_loop().create_future()
        with contextlib.suppress(OSError):
            self._writer.write(framing.framed_message(messages.encode(messages.Request(self._numbers, *request))))
            await self._writer.drain()
            await asyncio.wait([answered, self._pump], timeout=ANSWER, return_when=asyncio.FIRST_COMPLETED)
            self._awaited.pop(self._numbers, None)

    def close(self) -> None:
        self._pump.cancel()
        self._writer.close()
