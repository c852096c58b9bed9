"""debugpy inside the program, spoken to directly: no adapter process in between."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from ...dap.channel import Channel, ChannelClosed, RequestFailed
from ...dap.messages import Event
from ...errors import RelayError
from .. import processes
from ..base import AttachSpec, Bound, DebuggerBreakpoint, Groups, LaunchSpec, Listener, StopEvent
from . import interpreter as interpreters
from .probe import INSIDE, Probe

LAUNCHER = Path(__file__).with_name("debugpy_launcher.py")
EXCEPTION_FILTERS = ("raised", "uncaught")

ALLOWED = frozenset(
    {
        "pydevdAuthorize", "pydevdSystemInfo", "initialize", "launch", "attach", "configurationDone", "disconnect",
        "setBreakpoints", "setExceptionBreakpoints", "continue", "next", "stepIn", "stepOut", "pause", "threads",
        "stackTrace", "evaluate",
    }
)  # fmt: skip
"""debugpy never answers what it does not know, and some requests kill it: nothing else is ever sent."""

CLIENT = {
    "clientID": "opencode-debugger",
    "adapterID": "debugpy",
    "pathFormat": "path",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "supportsVariableType": True,
}

ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYDEVD_WARN_EVALUATION_TIMEOUT": "86400",
    "PYDEVD_WARN_SLOW_RESOLVE_TIMEOUT": "86400",
}


class DebugpyAdapter:
    name = "debugpy"

    def __init__(
        self, session_id: str, python_path: str, listener: Listener, timeout: float, launch_timeout: float
    ) -> None:
        self._session_id = session_id
        self._python_path = python_path
        self._listener = listener
        self._timeout = timeout
        self._launch_timeout = launch_timeout
        self._program: processes.Program | None = None
        self._channel: Channel | None = None
        self._probe: Probe | None = None
        self._numbers: dict[int, int] = {}
        """debugpy's breakpoint ids to the session's numbers"""
        self._smart: dict[str, set[int]] = {}
        """by file: breakpoints whose conditions live in the program"""
        self._first_reference = 1000
        self._exit_code: int | None = None
        self._is_attached = False
        self._farewell: asyncio.Task[None] | None = None
        # Known by the time it is needed: asking takes longer than creating a session.
        self._identified = asyncio.get_running_loop().create_task(interpreters.identify(python_path))
        self._identified.add_done_callback(lambda task: task.exception())
        self.pid: int | None = None
        self.capabilities: dict[str, bool] = {}

    async def _interpreter(self, path: str) -> interpreters.Interpreter:
        if path == self._python_path:
            return await asyncio.shield(self._identified)
        return await interpreters.identify(path)

    async def check_launch(self, spec: LaunchSpec) -> None:
        """Everything that can be known before the program starts."""
        interpreter = await self._interpreter(spec.interpreter)
        if spec.kind == "file":
            await interpreters.check_syntax(spec.target, interpreter)
        elif spec.kind == "code":
            await interpreters.check_code(spec.target, interpreter)

    async def launch(self, spec: LaunchSpec, breakpoints: Groups, stop_on: list[str]) -> None:
        interpreter = await self._interpreter(spec.interpreter)
        token = os.urandom(16).hex()
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Channel] = loop.create_future()
        server = await loop.create_server(lambda: self._new_channel(arrived), "127.0.0.1", 0)
        try:
            port = server.sockets[0].getsockname()[1]
            try:
                self._program = processes.Program(
                    [interpreter.path, "-Xfrozen_modules=off", *spec.interpreter_args, str(LAUNCHER), *spec.args],
                    spec.cwd,
                    self._environment(spec, port, token),
                    self._listener.on_output,
                    self._exited,
                )
            except (OSError, ValueError) as error:
                raise RelayError("LAUNCH_FAILED", f"The program could not be started: {error}") from error
            self.pid = self._program.pid
            self._channel = await self._connection(arrived)
        finally:
            server.close()
        await self._authorize(token)
        await self._configure("launch", {"stopOnEntry": spec.stop_on_entry}, spec.just_my_code, breakpoints, stop_on)

    def _new_channel(self, arrived: asyncio.Future[Channel]) -> Channel:
        channel = Channel(self._event)
        channel.on_closed = lambda reason: self._lost(channel, reason)
        channel.connected.add_done_callback(
            lambda _: arrived.set_result(channel) if not arrived.done() else channel.close()
        )
        return channel

    async def _connection(self, arrived: asyncio.Future[Channel]) -> Channel:
        assert self._program is not None
        ended = self._program.ended
        either: list[asyncio.Future[Any]] = [arrived, ended]
        await asyncio.wait(either, timeout=self._launch_timeout, return_when=asyncio.FIRST_COMPLETED)
        if arrived.done():
            return arrived.result()
        if ended.done():
            raise RelayError(
                "LAUNCH_FAILED",
                "The program ended before its debugger connected",
                exit_code=ended.result().code,
                signal=ended.result().signal,
            )
        raise RelayError("LAUNCH_FAILED", f"The debugger did not connect within {self._launch_timeout:g} s")

    def _environment(self, spec: LaunchSpec, port: int, token: str) -> dict[str, str]:
        found = importlib.util.find_spec("debugpy")
        assert found is not None and found.origin is not None
        folder = str(Path(found.origin).parent)
        config = {
            "port": port,
            "token": token,
            "debugpy": folder,
            "inside": str(INSIDE),
            "kind": spec.kind,
            "target": spec.target,
            "first_reference": self._first_reference,
            "subprocesses": False,
            "remove_environment": [name for name in ENVIRONMENT if name.startswith("PYDEVD")],
        }
        own = {name: value for name, value in os.environ.items() if not name.startswith("OPENCODE_DEBUG_")}
        return {
            **own,
            **spec.env,
            **ENVIRONMENT,
            processes.MARKER: self._session_id,
            "OPENCODE_DEBUG_LAUNCH": msgspec.json.encode(config).decode(),
        }

    async def _authorize(self, token: str) -> None:
        """Only the program that we started knows the token."""
        body = await self._request("pydevdAuthorize", {"debugServerAccessToken": None}, timeout=self._launch_timeout)
        if body.get("clientAccessToken") != token:
            raise RelayError("LAUNCH_FAILED", "Something other than the program connected to its debug port")

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[str]) -> None:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Channel] = loop.create_future()
        where = f"{spec.host}:{spec.port}"
        try:
            async with asyncio.timeout(spec.connect_timeout):
                _, channel = await loop.create_connection(lambda: self._new_channel(arrived), spec.host, spec.port)
                self._channel = channel
                await self._configure("attach", {}, spec.just_my_code, breakpoints, stop_on, spec.connect_timeout)
        except TimeoutError:
            raise RelayError(
                "ATTACH_TIMEOUT", f"Nothing answered as a debugger at {where} within {spec.connect_timeout:g} s"
            ) from None
        except OSError as error:
            raise RelayError("ATTACH_REFUSED", f"No connection to {where}: {error.strerror or error}") from error
        except RelayError as error:
            if error.code == "DEBUGPY_TIMEOUT":
                raise RelayError("ATTACH_TIMEOUT", f"The debugger at {where} does not answer") from error
            raise RelayError(
                "ATTACH_FAILED", f"What listens at {where} is not a debugger that can be attached to: {error.message}"
            ) from error
        self._is_attached = True

    async def _configure(
        self,
        command: str,
        arguments: dict[str, Any],
        just_my_code: bool,
        breakpoints: Groups,
        stop_on: list[str],
        timeout: float | None = None,
    ) -> None:
        """The handshake, in the order that debugpy wants; `configurationDone` lets the program run."""
        channel = self._open_channel()
        timeout = timeout or self._launch_timeout
        self._initialized = asyncio.get_running_loop().create_future()
        await self._request("initialize", CLIENT, timeout=timeout)
        options = {"justMyCode": just_my_code, "redirectOutput": False, "showReturnValue": True, **arguments}
        started = channel.send(command, options)
        await asyncio.wait([self._initialized, started], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        self._probe = Probe(channel, self._timeout)
        if command == "attach":
            await self._probe.load(self._first_reference)
        for path, group in breakpoints.items():
            await self.set_breakpoints(path, group)
        await self._request("setExceptionBreakpoints", {"filters": stop_on})
        try:
            await self._request("configurationDone", timeout=timeout)
        except RelayError:
            if self._program is None or self._program.is_alive:
                raise
            return  # it has run already, from beginning to end
        await asyncio.wait([started], timeout=timeout)
        if self.pid is None:
            self.pid = (await self._request("pydevdSystemInfo"))["process"]["pid"]

    def _open_channel(self) -> Channel:
        if self._channel is None or not self._channel.is_open:
            raise RelayError("DEBUGPY_ERROR", "The connection to the debugger is closed", status=502)
        return self._channel

    async def _request(
        self, command: str, arguments: dict[str, Any] | None = None, *, timeout: float | None = None
    ) -> Any:
        assert command in ALLOWED, command
        timeout = timeout or self._timeout
        try:
            return await self._open_channel().request(command, arguments, timeout=timeout)
        except RequestFailed as error:
            raise RelayError("DEBUGPY_ERROR", f"The debugger refused {command}: {error}") from error
        except TimeoutError as error:
            raise RelayError(
                "DEBUGPY_TIMEOUT", f"The debugger did not answer {command} within {timeout:g} s", operation=command
            ) from error
        except ChannelClosed as error:
            raise await self._connection_lost(command) from error

    def _event(self, event: Event) -> None:
        body = event.body or {}
        handler: Callable[[dict[str, Any]], None] | None = {
            "stopped": self._on_stopped,
            "initialized": self._on_initialized,
            "thread": lambda body: self._listener.on_thread(body["reason"], body["threadId"]),
            "module": lambda body: self._listener.on_module(body["reason"], body["module"]),
            "exited": self._on_exited,
            "terminated": self._on_terminated,
            "ocdb": self._on_inside,
        }.get(event.event)
        if handler is not None:
            handler(body)

    def _on_initialized(self, body: dict[str, Any]) -> None:
        if not self._initialized.done():
            self._initialized.set_result(None)

    def _on_exited(self, body: dict[str, Any]) -> None:
        """Comes only from somebody else's adapter; a program of ours tells its end by its exit."""
        self._exit_code = body.get("exitCode")

    def _on_terminated(self, body: dict[str, Any]) -> None:
        if self._program is None and self._channel is not None:
            self._channel.close()

    def _on_stopped(self, body: dict[str, Any]) -> None:
        ids = body.get("hitBreakpointIds") or []
        self._listener.on_stopped(
            StopEvent(
                reason=body["reason"],
                thread_id=body["threadId"],
                description=body.get("description"),
                text=body.get("text"),
                all_threads_stopped=body.get("allThreadsStopped", True),
                hit_numbers=[self._numbers[id] for id in ids if id in self._numbers],
            )
        )

    def _on_inside(self, body: dict[str, Any]) -> None:
        match body["kind"]:
            case "log":
                self._listener.on_hits({body["number"]: body["hits"]})
                self._listener.on_log(body["number"], body["text"])
            case "hits":
                self._listener.on_hits({int(number): hits for number, hits in body["hits"].items()})
            case "condition_error":
                self._listener.on_condition_error(body["number"], body["error"])

    def _exited(self, status: processes.ExitStatus) -> None:
        if self._channel is not None:
            self._channel.close()
        self._listener.on_exit(status)

    def _lost(self, channel: Channel, reason: Exception | None) -> None:
        """A program of ours tells its end by its exit; one that we attached to, by its connection."""
        if channel is not self._channel:
            return
        if self._program is not None:
            self._farewell = asyncio.get_running_loop().create_task(self._expect_end(self._program))
            return
        self._channel = None
        if self._exit_code is not None:
            self._listener.on_exit(processes.ExitStatus.of(self._exit_code))
        else:
            self._listener.on_lost(str(reason or "the program ended or its debugger let go"))

    async def _expect_end(self, program: processes.Program) -> None:
        """The connection ends just before the program does, unless the program closed it and goes on without us."""
        await asyncio.wait([program.ended], timeout=END_PATIENCE)
        if program.is_alive:
            self._listener.on_lost("the program closed the connection to its debugger and runs on without it")

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        await self._define_rules(path, breakpoints)
        wanted = [
            {"line": bp.line, **({} if bp.is_plain else {"condition": f"__import__('_ocdb').hit({bp.number})"})}
            for bp in breakpoints
        ]
        body = await self._request("setBreakpoints", {"source": {"path": path}, "breakpoints": wanted})
        bound = []
        for bp, answer in zip(breakpoints, body["breakpoints"], strict=True):
            if answer.get("id") is not None:
                self._numbers[answer["id"]] = bp.number
            bound.append(Bound(answer["verified"], answer.get("line"), answer.get("message")))
        return bound

    async def _define_rules(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> None:
        smart = [bp for bp in breakpoints if not bp.is_plain]
        numbers = {bp.number for bp in smart}
        gone = self._smart.get(path, set()) - numbers
        if smart or gone:
            rules = [
                {
                    "number": bp.number,
                    "condition": bp.condition,
                    "hit_condition": bp.hit_condition,
                    "log": bp.log_message,
                    "hits": bp.hits,
                }
                for bp in smart
            ]
            await self._aside("define", rules=rules, forget=sorted(gone))
        self._smart[path] = numbers

    async def hits(self) -> dict[int, int]:
        if not any(self._smart.values()):
            return {}
        answer = await self._aside("counts")
        return {int(number): hits for number, hits in answer["hits"].items()}

    async def _aside(self, method: str, **arguments: Any) -> Any:
        async with self._translated(method):
            return await self._require_probe().aside(method, **arguments)

    async def _in_frame(self, frame: int, method: str, timeout: float | None = None, **arguments: Any) -> Any:
        async with self._translated(method):
            return await self._require_probe().in_frame(frame, method, timeout or self._timeout, **arguments)

    def _require_probe(self) -> Probe:
        self._open_channel()
        assert self._probe is not None
        return self._probe

    @contextlib.asynccontextmanager
    async def _translated(self, operation: str) -> AsyncIterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise RelayError("DEBUGPY_TIMEOUT", "The debugger does not answer", operation=operation) from error
        except ChannelClosed as error:
            raise await self._connection_lost(operation) from error

    async def _connection_lost(self, operation: str) -> RelayError:
        """Told once it is known how the program ended, so that whoever asks next gets no stale state."""
        if self._farewell is not None:
            await asyncio.wait([self._farewell])
        return RelayError("DEBUGPY_ERROR", f"Connection to the debugger lost during {operation}", status=502)

    def resume(self, thread_id: int) -> None:
        # Its answer comes when the threads really run, which a new stop may prevent: nobody waits for it.
        self._open_channel().send("continue", {"threadId": thread_id})

    async def step(self, kind: str, thread_id: int) -> None:
        await self._request(kind, {"threadId": thread_id})

    async def pause(self, thread_id: int | None) -> None:
        await self._request("pause", {"threadId": "*" if thread_id is None else thread_id})

    def drain(self) -> None:
        if self._program is not None:
            self._program.drain()

    async def threads(self) -> list[dict[str, Any]]:
        body = await self._request("threads")
        return list(body["threads"])

    async def stack(self, thread_id: int) -> list[dict[str, Any]]:
        body = await self._request("stackTrace", {"threadId": thread_id})
        return list(body["stackFrames"])

    async def scopes(self, frame: int) -> list[dict[str, Any]]:
        return list((await self._in_frame(frame, "scopes"))["scopes"])

    async def children(
        self, frame: int, reference: int, start: int, count: int, filter: str | None, limit: int
    ) -> dict[str, Any]:
        page = {"reference": reference, "start": start, "count": count, "filter": filter, "limit": limit}
        return dict(await self._in_frame(frame, "children", VALUES, seconds=VALUES, **page))

    async def locals(self, frame: int, budget: int, names: int) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "report", VALUES, budget=budget, names=names, seconds=VALUES))

    async def evaluate(self, frame: int, expression: str, context: str, limit: int, timeout: float) -> dict[str, Any]:
        return dict(
            await self._in_frame(frame, "evaluate", timeout, expression=expression, context=context, limit=limit)
        )

    async def exception(self, frame: int) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = (await self._in_frame(frame, "exception", VALUES))["exception"]
        return answer

    async def examine(self, path: str) -> dict[str, Any]:
        try:
            interpreter = await asyncio.shield(self._identified)
        except RelayError:
            interpreter = await interpreters.identify(sys.executable)  # launching says what is wrong with the other
        return await interpreters.examine(path, interpreter)

    def check_expression(self, text: str) -> Any:
        return interpreters.check_expression(text)

    async def end(self, grace: float) -> None:
        """A program that we started ends; one that we attached to goes on without us."""
        if self._program is not None:
            await self._program.end(self._session_id, grace)
            self._program = None
        elif self._is_attached and self._channel is not None:
            with contextlib.suppress(RelayError):
                await self._request("disconnect", {"terminateDebuggee": False}, timeout=DISCONNECT)
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()


DISCONNECT = 2.0
END_PATIENCE = 2.0
VALUES = 1.0
"""Seconds that showing values may take before a slow __repr__ is interrupted."""
