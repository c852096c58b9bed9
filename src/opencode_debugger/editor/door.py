"""One client that speaks DAP: what it asks for is done to the session, what happens there is told to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from ..core.session import Session
from ..dap.messages import Request
from ..errors import RelayError
from . import arguments, machine, requests, setting
from .breakpoints import Shared
from .events import Events
from .handles import Handles
from .places import Places
from .wire import Malformed, Wire

logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Requests of one client that are carried out side by side; further ones wait unread."""
PARTING = 0.5
"""Seconds for a client to say good-bye after the end of the program."""


class Door:
    def __init__(
        self, session: Session, shared: Shared, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.session = session
        self.shared = shared
        self.places = Places()
        self.handles = Handles(session.debuggee)
        self._wire = Wire(reader, writer)
        self._events = Events(session, shared, self.places, self._wire, self)
        self.watched: dict[str, str] = {}
        """data breakpoints that it has set, by the ids that it has for what they watch"""
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._following: asyncio.Task[None] | None = None
        self._told_all: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def call(self, operation: str, **params: Any) -> dict[str, Any]:
        answer = self.session.operations[operation](**params)
        return dict(await answer if asyncio.iscoroutine(answer) else answer)

    async def serve(self) -> None:
        """Until it leaves, or the program has ended and it has heard of that."""
        conversing = asyncio.get_running_loop().create_task(self._converse())
        try:
            await asyncio.wait([conversing, self._told_all], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([conversing], timeout=PARTING)
            if conversing.done():
                conversing.result()
        finally:
            conversing.cancel()
            self._told_all.cancel()
            if self._following is not None:
                self._following.cancel()
            await self.leave()

    async def leave(self) -> None:
        """Nothing of it stays."""
        await self.shared.leave(self)
        for data_id in list(self.watched):
            await self.unwatch(data_id)

    async def unwatch(self, data_id: str) -> None:
        with contextlib.suppress(RelayError):
            await self.call("remove_data_breakpoints", data_breakpoint_id=self.watched.pop(data_id))

    async def _converse(self) -> None:
        async for request in self._wire.received():
            self.session.debuggee.touch()
            if isinstance(request, Malformed):
                await self._wire.fail(request.seq, "", str(request))
            elif request.command in requests.ASIDE:
                await self._room.acquire()
                self._later(self._aside(request))
            else:
                await self._perform(request)
                if request.command == "disconnect":
                    return

    def _later(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, OSError):
            logger.error("a client of the tunnel", exc_info=error)

    async def _aside(self, request: Request) -> None:
        try:
            await self._answer(request, requests.ASIDE[request.command])
        finally:
            self._room.release()

    async def _perform(self, request: Request) -> None:
        if request.command == "initialize":
            await self._answer(request, initialize)
        elif request.command == "configurationDone":
            await self._wire.answer(request)
            self._follow()
        elif request.command in requests.IN_ORDER:
            async with self._events.after_answer():
                done = await self._answer(request, requests.IN_ORDER[request.command])
            if done and request.command == "attach":
                await self._wire.tell("initialized")
                await self._tell_process()
        else:
            await self._wire.fail(request.seq, request.command, f"There is no request '{request.command[:50]}' here")

    async def _answer(self, request: Request, handler: requests.Handler) -> bool:
        try:
            body = await handler(self, request.arguments)
        except RelayError as error:
            await self._fail(request, error)
            return False
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            logger.exception("%s failed", request.command)
            await self._wire.fail(request.seq, request.command, f"{request.command} failed: {type(error).__name__}")
            return False
        await self._wire.answer(request, body)
        return True

    async def _fail(self, request: Request, error: RelayError) -> None:
        """Editors look at things by themselves, at each stop: only what somebody asked for is worth a window."""
        is_running = error.code == "INVALID_SESSION_STATE" and error.details.get("current_state") == "running"
        short = "notStopped" if is_running else None
        is_shown = request.command in requests.IN_ORDER
        await self._wire.fail(request.seq, request.command, error.message, short, error.status, is_shown)

    async def _tell_process(self) -> None:
        info = self.session.summary()
        about = {"name": info["program"] or info["name"], "isLocalProcess": True}
        method = "attach" if self.session.starting.attached else "launch"
        pid = {"systemProcessId": info["pid"]} if info["pid"] else {}
        await self._wire.tell("process", {**about, "startMethod": method, **pid})

    def _follow(self) -> None:
        if self._following is None:
            self._following = self._later(self._events.follow())
            self._following.add_done_callback(lambda _: self._told_all.cancel())


async def initialize(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    door.places.learn(arguments.understood(given, arguments.Initialize))
    offered = door.session.adapter.capabilities
    return {
        "supportsConfigurationDoneRequest": True,
        "supportsFunctionBreakpoints": True,
        "supportsConditionalBreakpoints": True,
        "supportsHitConditionalBreakpoints": True,
        "supportsLogPoints": True,
        "supportsEvaluateForHovers": True,
        "supportsSetVariable": True,
        "supportsSetExpression": True,
        "supportsRestartRequest": not door.session.starting.attached,
        "supportsExceptionInfoRequest": True,
        "supportsExceptionFilterOptions": "exception_classes" in offered,
        "supportsExceptionOptions": "exception_classes" in offered,
        "exceptionBreakpointFilters": setting.OFFERED if "exception_classes" in offered else [],
        "supportTerminateDebuggee": True,
        "supportsTerminateRequest": True,
        "supportsDelayedStackTraceLoading": True,
        "supportsModulesRequest": True,
        "supportsClipboardContext": True,
        "supportsSingleThreadExecutionRequests": True,
        "supportsCompletionsRequest": "completions" in offered,
        "supportsStepInTargetsRequest": "step_targets" in offered,
        **machine.capabilities(offered),
    }
