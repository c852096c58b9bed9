"""One client that speaks DAP: what it asks for is done to the session, what happens there is told to it."""

import asyncio
import contextlib
import logging
from typing import Any

from ...dap.messages import Request
from ...errors import RelayError
from ...operations.asking_client import EDITOR, AskingClient, asking_client
from ...session.session import Session
from . import dap_requests
from .client_places import ClientPlaces
from .client_references import ClientReferences
from .dap_arguments import Initialize, read_arguments
from .dap_shapes import ask_session
from .dap_wire import EditorWire, Malformed
from .editor_breakpoints import SharedBreakpoints
from .editor_events import EditorEvents

logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Requests of one client that are carried out side by side; further ones wait unread."""
PARTING = 0.5
"""Seconds for a client to say good-bye after the end of the program."""


class EditorDoor:
    def __init__(
        self, session: Session, shared: SharedBreakpoints, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.session = session
        self.shared = shared
        self.client_name = ""
        """as it introduces itself"""
        self.places = ClientPlaces()
        self.handles = ClientReferences(session)
        self._wire = EditorWire(reader, writer)
        self._events = EditorEvents(session, shared, self.places, self._wire, self)
        self.watched: dict[str, str] = {}
        """data breakpoints that it has set, by the ids that it has for what they watch"""
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._following: asyncio.Task[None] | None = None
        self._told_all: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def call(self, operation: str, **params: Any) -> dict[str, Any]:
        return await ask_session(self.session, operation, **params)

    async def serve_client(self) -> None:
        """Serve the client until it leaves, or the program has ended and it has heard of that."""
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
            await self.leave_session()

    async def leave_session(self) -> None:
        """Nothing of it stays."""
        await self.shared.remove_client(self)
        for data_id in list(self.watched):
            await self.remove_watches(data_id)

    async def remove_watches(self, data_id: str) -> None:
        with contextlib.suppress(RelayError):
            await self.call("remove_data_breakpoints", data_breakpoint_id=self.watched.pop(data_id))

    async def _converse(self) -> None:
        async for request in self._wire.receive_requests():
            self.session.debuggee.touch()
            asking_client.set(AskingClient(EDITOR, self.client_name))
            if isinstance(request, Malformed):
                await self._wire.send_failure(request.seq, "", str(request))
            elif request.command in dap_requests.ASIDE:
                await self._room.acquire()
                work = self._answer_request(request, dap_requests.ASIDE[request.command])
                self._start_task(work).add_done_callback(lambda _: self._room.release())
            else:
                await self._perform_request(request)
                if request.command == "disconnect":
                    return

    def _start_task(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, OSError):
            logger.error("a client of the tunnel", exc_info=error)

    async def _perform_request(self, request: Request) -> None:
        if request.command == "initialize":
            await self._answer_request(request, dap_requests.Handler(Initialize, dap_requests.initialize))
        elif request.command == "configurationDone":
            await self._wire.send_answer(request)
            if self._following is None:
                self._following = self._start_task(self._events.follow_session())
                self._following.add_done_callback(lambda _: self._told_all.cancel())
        elif request.command in dap_requests.IN_ORDER:
            async with self._events.after_answer():
                done = await self._answer_request(request, dap_requests.IN_ORDER[request.command])
            if done and request.command == "attach":
                await self._wire.send_event("initialized")
                info = self.session.summary()
                about = {"name": info.program or info.name, "isLocalProcess": True}
                method = "attach" if self.session.starting.attached else "launch"
                pid = {"systemProcessId": info.pid} if info.pid else {}
                await self._wire.send_event("process", {**about, "startMethod": method, **pid})
        else:
            text = f"There is no request '{request.command[:50]}' here"
            await self._wire.send_failure(request.seq, request.command, text)

    async def _answer_request(self, request: Request, handler: dap_requests.Handler[Any]) -> bool:
        try:
            body = await handler.carry_out(self, read_arguments(request.arguments, handler.takes))
        except RelayError as error:
            is_running = error.code == "INVALID_SESSION_STATE" and error.details.get("current_state") == "running"
            short = "notStopped" if is_running else None
            # Editors look at things by themselves, at each stop: only what somebody asked for is worth a window.
            is_shown = request.command in dap_requests.IN_ORDER
            await self._wire.send_failure(request.seq, request.command, error.message, short, error.status, is_shown)
            return False
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            logger.exception("%s failed", request.command)
            text = f"{request.command} failed: {type(error).__name__}"
            await self._wire.send_failure(request.seq, request.command, text)
            return False
        await self._wire.send_answer(request, body)
        return True
