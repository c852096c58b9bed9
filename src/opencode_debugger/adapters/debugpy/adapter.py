"""debugpy inside the program, spoken to directly: no adapter process in between."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

from ...dap.channel import Channel
from ...dap.messages import Event
from ...errors import RelayError
from ..base import Asked, AttachSpec, Bound, DebuggerBreakpoint, Frames, Groups, LaunchSpec, Listener, StopEvent
from ..conversation import Conversation
from ..processes import ExitStatus, Program, end_others
from . import interpreter as interpreters
from . import launch as launching
from .probe import Probe
from .visit import Visit, wanted

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

DIAL = 1.0
DISCONNECT = 2.0
END_PATIENCE = 2.0
VALUES = 1.0
"""Seconds that showing values may take before a slow __repr__ is interrupted."""
CHAINED = "[Chained Exc: "
"""Names of frames that debugpy adds below the real ones for the causes of an exception; its traceback has them."""
REFERENCES_PER_LAUNCH = 1_000_000


class DebugpyAdapter:
    def __init__(
        self, session_id: str, python_path: str, listener: Listener, timeout: float, launch_timeout: float
    ) -> None:
        self._session_id = session_id
        self._python_path = python_path
        self._listener = listener
        self._timeout = timeout
        self._launch_timeout = launch_timeout
        self._program: Program | None = None
        self._talk: Conversation | None = None
        self._probe: Probe | None = None
        self._numbers: dict[int, int] = {}
        """debugpy's breakpoint ids to the session's numbers"""
        self._smart: dict[str, set[int]] = {}
        """by file: breakpoints whose conditions live in the program"""
        self._sent: dict[str, tuple[str, list[DebuggerBreakpoint]]] = {}
        """by real path: the breakpoints that debugpy has"""
        self._visit: Visit | None = None
        self._journeys: dict[int, dict[str, Any]] = {}
        """how those ended that the end of the program cut short"""
        self._tokens = itertools.count(1)
        self._first_reference = 1000
        self._exit_code: int | None = None
        self._is_attached = False
        # Known by the time it is needed: asking takes longer than creating a session.
        self._identified = asyncio.get_running_loop().create_task(interpreters.identify(python_path))
        self._identified.add_done_callback(lambda task: task.exception())
        self.pid: int | None = None

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
        async with launching.CallBack(self._new_channel) as callback:
            environment = launching.environment(spec, self._session_id, callback, self._first_reference)
            self._first_reference += REFERENCES_PER_LAUNCH
            try:
                self._program = Program(
                    launching.command(interpreter.path, spec),
                    spec.cwd,
                    environment,
                    self._listener.on_output,
                    self._exited,
                )
            except (OSError, ValueError) as error:
                raise RelayError("LAUNCH_FAILED", f"The program could not be started: {error}") from error
            self.pid = self._program.pid
            self._converse(await launching.connection(callback, self._program, self._launch_timeout))
        await self._configure("launch", {"stopOnEntry": spec.stop_on_entry}, spec.just_my_code, breakpoints, stop_on)

    def _new_channel(self) -> Channel:
        channel = Channel(lambda event: self._event(channel, event))
        channel.on_closed = lambda reason: self._lost(channel, reason)
        return channel

    def _converse(self, channel: Channel) -> None:
        self._talk = Conversation(channel, ALLOWED, self._timeout)
        self._probe = Probe(self._talk, self._timeout)

    async def attach(self, spec: AttachSpec, breakpoints: Groups, stop_on: list[str]) -> None:
        where = f"{spec.host}:{spec.port}"
        try:
            async with asyncio.timeout(spec.connect_timeout):
                self._converse(await self._dial(spec.host, spec.port))
                await self._configure("attach", {}, spec.just_my_code, breakpoints, stop_on, spec.connect_timeout)
        except TimeoutError:
            raise RelayError(
                "ATTACH_TIMEOUT", f"Nothing answered as a debugger at {where} within {spec.connect_timeout:g} s"
            ) from None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RelayError("ATTACH_REFUSED", f"No connection to {where}: {reason}") from error
        except RelayError as error:
            if error.code == "DEBUGPY_TIMEOUT":
                raise RelayError("ATTACH_TIMEOUT", f"The debugger at {where} does not answer") from error
            raise RelayError(
                "ATTACH_FAILED", f"What listens at {where} is not a debugger that can be attached to: {error.message}"
            ) from error
        self._is_attached = True

    async def _dial(self, host: str, port: int) -> Channel:
        """Tries again for a moment: a target that has just started, or was just let go, listens in a moment."""
        loop = asyncio.get_running_loop()
        patience = loop.time() + DIAL
        while True:
            try:
                _, channel = await loop.create_connection(self._new_channel, host, port)
                return channel
            except ConnectionRefusedError:
                if loop.time() > patience:
                    raise
            await asyncio.sleep(DIAL / 20)

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
        talk, probe = self._require_talk(), self._require_probe()
        timeout = timeout or self._launch_timeout
        self._initialized = asyncio.get_running_loop().create_future()
        await talk.request("initialize", CLIENT, timeout=timeout)
        options = {"justMyCode": just_my_code, "redirectOutput": False, "showReturnValue": True, **arguments}
        started = talk.channel.send(command, options)
        await asyncio.wait([self._initialized, started], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if command == "attach":
            await probe.load(self._first_reference)
        self._sent.clear()
        for path, group in breakpoints.items():
            for bp, bound in zip(group, await self.set_breakpoints(path, group), strict=True):
                self._listener.on_bound(bp.number, bound)
        await talk.request("setExceptionBreakpoints", {"filters": stop_on})
        try:
            await talk.request("configurationDone", timeout=timeout)
        except RelayError:
            if self._program is None or self._program.is_alive:
                raise
            return  # it has run already, from beginning to end
        await asyncio.wait([started], timeout=timeout)
        if self.pid is None:
            self.pid = (await talk.request("pydevdSystemInfo"))["process"]["pid"]

    def _require_talk(self) -> Conversation:
        if self._talk is None:
            raise RelayError("DEBUGPY_ERROR", "There is no connection to a debugger", status=502)
        return self._talk

    def _require_probe(self) -> Probe:
        self._require_talk()
        assert self._probe is not None
        return self._probe

    async def _request(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        return await self._require_talk().request(command, arguments)

    def _event(self, channel: Channel, event: Event) -> None:
        """Only from the debugger that has shown the token."""
        if self._talk is None or channel is not self._talk.channel:
            return
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
        if self._program is None and self._talk is not None:
            self._talk.channel.close()

    def _on_stopped(self, body: dict[str, Any]) -> None:
        ids = body.get("hitBreakpointIds") or []
        reason = body["reason"]
        if self._visit is not None and self._visit.is_reached and self._visit.ids.intersection(ids):
            reason, ids = "run_to", []
        self._listener.on_stopped(
            StopEvent(
                reason=reason,
                thread_id=body["threadId"],
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
            case "answer":
                self._require_probe().answered(body["token"], body["text"])
            case "visited":
                if self._visit is not None and self._visit.number == body["number"]:
                    self._visit.is_reached = True
            case "journeys":
                self._journeys = {int(token): found for token, found in body["journeys"].items()}
            case "condition_error":
                self._listener.on_condition_error(body["number"], body["error"])

    def _exited(self, status: ExitStatus) -> None:
        if self._talk is not None:
            self._talk.channel.close()
        self._listener.on_exit(status)
        self._sweeping = asyncio.get_running_loop().create_task(end_others(self._session_id))

    def _lost(self, channel: Channel, reason: Exception | None) -> None:
        """A program of ours tells its end by its exit; one that we attached to, by its connection."""
        talk = self._talk
        if talk is None or channel is not talk.channel:
            return
        if self._program is not None:
            talk.farewell = asyncio.get_running_loop().create_task(self._expect_end(self._program))
        elif self._exit_code is not None:
            self._listener.on_exit(ExitStatus.of(self._exit_code))
        else:
            self._listener.on_lost(str(reason or "the program ended or its debugger let go"))

    async def _expect_end(self, program: Program) -> None:
        """The connection ends just before the program does, unless the program closed it and goes on without us."""
        await asyncio.wait([program.ended], timeout=END_PATIENCE)
        if program.is_alive:
            self._listener.on_lost("the program closed the connection to its debugger and runs on without it")

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        await self._define_rules(path, breakpoints)
        self._sent[os.path.realpath(path)] = (path, breakpoints)
        visit = self._visit if self._visit is not None and self._visit.is_in(path) else None
        sent = [wanted(bp) for bp in breakpoints]
        if visit is not None:
            visit.add_to(breakpoints, sent)
        body = await self._request("setBreakpoints", {"source": {"path": path}, "breakpoints": sent})
        if visit is not None:
            visit.sent(body["breakpoints"])
        bound = []
        for bp, answer in zip(breakpoints, body["breakpoints"], strict=False):
            if answer.get("id") is not None:
                self._numbers[answer["id"]] = bp.number
            bound.append(Bound(answer["verified"], answer.get("line"), answer.get("message")))
        return bound

    async def visit(self, path: str, line: int) -> None:
        self._visit = Visit(path, line, next(self._tokens))
        await self._aside("visit", number=self._visit.number)
        await self._send_again(self._visit.real)

    async def leave(self, path: str, line: int) -> None:
        visit = self._visit
        if visit is not None and visit.is_in(path) and visit.line == line:
            self._visit = None
            await self._send_again(visit.real)

    async def _send_again(self, real: str) -> None:
        await self.set_breakpoints(*self._sent.get(real, (real, [])))

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
                    "log": bp.log,
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
        return await self._require_probe().aside(method, **arguments)

    async def _in_frame(self, frame: int, method: str, timeout: float | None = None, **arguments: Any) -> Any:
        return await self._require_probe().in_frame(frame, method, timeout or self._timeout, **arguments)

    async def resume(self, thread_id: int) -> None:
        # Its answer comes when the threads really run, which a new stop may prevent: nobody waits for it.
        await self._go_on("continue", thread_id)

    async def step(self, kind: str, thread_id: int) -> None:
        await self._require_talk().answer(kind, await self._go_on(kind, thread_id))

    async def _go_on(self, command: str, thread_id: int) -> Asked:
        talk, probe = self._require_talk(), self._require_probe()
        async with talk.translated(command):
            sent = talk.channel.send(command, {"threadId": thread_id})
        probe.resumed()
        return sent

    async def pause(self, thread_id: int | None) -> None:
        await self._request("pause", {"threadId": "*" if thread_id is None else thread_id})

    async def step_targets(self, frame: int) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "step_targets"))

    async def natives(self, frame: int, line: int) -> list[str]:
        return list((await self._in_frame(frame, "natives", line=line))["functions"])

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
            return self._journeys.get(token, {})

    def drain(self) -> None:
        if self._program is not None:
            self._program.drain()

    async def threads(self) -> list[dict[str, Any]]:
        body = await self._request("threads")
        return list(body["threads"])

    def ask_stack(self, thread_id: int) -> Asked:
        return self._require_talk().send("stackTrace", {"threadId": thread_id})

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        body = await self._require_talk().answer("stackTrace", asked or self.ask_stack(thread_id))
        return [frame for frame in body["stackFrames"] if not frame["name"].startswith(CHAINED)]

    async def scopes(self, frame: int) -> list[dict[str, Any]]:
        return list((await self._in_frame(frame, "scopes"))["scopes"])

    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "children", VALUES, seconds=VALUES, reference=reference, **page))

    async def locals(self, frame: int, page: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "locals", VALUES, seconds=VALUES, **page))

    async def report(self, frame: int, budget: int, names: int) -> dict[str, Any]:
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
            await self._program.end(grace)
            await end_others(self._session_id)
            self._program, self.pid = None, None
        elif self._is_attached and self._talk is not None:
            with contextlib.suppress(RelayError):
                await self._talk.request("disconnect", {"terminateDebuggee": False}, timeout=DISCONNECT)
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.channel.close()
