"""The conversation with a native debugger, and what is known of the program under it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from ...dap.channel import RequestFailed
from ...errors import RelayError
from ..base import Asked, Listener
from ..conversation import Conversation
from ..journeys import Journeys
from ..processes import Pipes
from ..watched import Watched
from .marks import Marks
from .process import Doorway, Helper

GRACE = 2.0
"""Seconds for an evaluation that was interrupted to come back."""


class Talking:
    kind = ""
    """gdb or lldb; `name` is that, or the debug server's"""
    name = ""

    def __init__(
        self, session_id: str, listener: Listener, timeout: float, launch_timeout: float, path: str | None
    ) -> None:
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
        self._door: Doorway | None = None
        """by which the debugger comes to its server"""
        self._watched: Watched | None = None
        """a program that runs without its debugger"""
        self._features: dict[str, Any] = {}
        """what the debugger said that it can do"""
        self._is_running = True
        self._alone: int | None = None
        """the only thread that runs"""
        self._contained_ones: set[Asked] = set()
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
        self._is_joined = False
        """of a child: it has run under its debugger, so that breakpoints may be in it"""
        self._is_ending = False
        self._is_core = False
        self._is_rust = False
        self._is_over = False
        self._startup_problem: str | None = None
        self._debugs_children = False
        self._elder: Any = None
        """of a child: the adapter of the program itself"""
        self._young: set[Any] = set()
        """of the program: the adapters of its children, and theirs"""
        self._stops = 0
        self._serial = 0
        loop = asyncio.get_running_loop()
        self._initialized: asyncio.Future[None] = loop.create_future()
        self._started: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()

    def _make_marks(self) -> Marks:
        return Marks(self._request, self._listener.on_rebound)

    async def _recover(self) -> None:
        """After an evaluation in which the program stopped."""

    def _forget_places(self) -> None:
        """Frames and references end when the program goes on."""

    def _require_talk(self) -> Conversation:
        if self._talk is None:
            raise RelayError("DEBUGPY_ERROR", "There is no connection to a debugger", status=502)
        return self._talk

    async def _request(self, command: str, arguments: dict[str, Any] | None = None, timeout: float = 0) -> Any:
        try:
            return await self._require_talk().request(command, arguments, timeout=timeout or None)
        except RelayError as error:
            explained = self._explained(error, command)
            if explained is error:
                raise  # with the debugger's words as its cause
            raise explained from error

    def _explained(self, error: RelayError, command: str) -> RelayError:
        return self._not_halted() if said_of(error) == "notStopped" else error

    def _not_halted(self) -> RelayError:
        return RelayError(
            "INVALID_SESSION_STATE",
            f"{self.kind} looks at a program only while all of its threads are halted, and one is running",
            suggestion="Pause it with POST /sessions/{id}/pause, or wait for its next stop",
        )

    async def _contained(self, command: str, arguments: dict[str, Any], timeout: float) -> Any:
        talk = self._require_talk()
        sent = talk.send(command, arguments)
        seq = talk.channel.last_seq
        self._contained_ones.add(sent)
        try:
            await asyncio.wait([sent], timeout=timeout)
            if not sent.done():
                await self._interrupt(seq, sent)
                raise RelayError("DEBUGPY_TIMEOUT", f"{self.kind} took too long, and was interrupted", timed_out=True)
            return await talk.answer(command, sent)
        except RelayError as error:
            said = said_of(error)
            if said is not None:
                error.details["said"] = said
            raise
        finally:
            await self._recover()
            self._contained_ones.discard(sent)

    @property
    def _asides(self) -> int:
        """Evaluations without an answer yet: they make the program run, which is nobody's business."""
        return sum(not sent.done() for sent in self._contained_ones)

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


def done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def said_of(error: RelayError) -> str | None:
    """The debugger's own words."""
    return str(error.__cause__) if isinstance(error.__cause__, RequestFailed) else None
