"""One client on standard input and output: its commands in order, and where its session stands."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ...default_settings import Limits
from ...errors import RelayError
from ...ez.lines import Malformed, TooLong, decode_line
from ...ez.messages import check_command, event_message, state_refusal
from ...ez.protocol import State
from ...operations.states import ENDED
from ...session.session import Session
from ...session.session_settings import Config
from . import ez_shapes
from .ez_commands import HANDLERS, EzCommands
from .ez_events import EventTeller
from .stdio_wire import LineReader, LineWriter

logger = logging.getLogger(__name__)

WIDEST = 16
"""Bytes that a character of output may take as JSON, with room for the rest of its message."""
LONGEST_OUTPUT = 1024 * 1024
"""Bytes of an event with output, for a client that reads from no pipe."""
STUCK, BUSY = 0.4, 5.0
"""Seconds that an end waits for what was sent before it: for a step that goes nowhere; for a command, or for the first
stop."""
GRACE = 0.4
"""Seconds for the program to end by itself: an IDE does not wait much longer."""
FAREWELL = 2.0
"""Seconds for the client to take what was said last."""


@dataclass(eq=False)
class Item:
    """A command, or what is wrong with a line that is none."""

    name: str | None
    params: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


END_OF_INPUT = Item(None)


@dataclass(frozen=True)
class DoorOptions:
    session_id: str
    limits: Limits
    folder: str
    """for sockets of the session"""
    file: str | None
    """the program, for a client that does not name it"""
    args: list[str]


class StdioDoor:
    def __init__(self, reading: int, writing: int, options: DoorOptions) -> None:
        self.options = options
        self.state = State.NEW
        self.is_extended = False
        """whether the client knows more than the document has"""
        self.is_stepping = False
        self.stops_on_uncaught = True
        self.is_ending = False
        self._tells_end = False
        self.launch: dict[str, Any] = {}
        self.telling = asyncio.Lock()
        """held by whoever answers a command that makes things happen, so that they are told after it"""
        self._session: Session | None = None
        self._following: asyncio.Task[None] | None = None
        self._useless: set[int] = set()
        """numbers of breakpoints of which that was told"""
        self._bound: set[int] = set()
        """those that could stop at some time: a library may be gone before the program is"""
        self._items: deque[Item] = deque()
        self._news = asyncio.Event()
        self._is_held = False
        self._is_busy = False
        self._moved = asyncio.Event()
        """set whenever a command is begun or over, and when a step is over"""
        self._has_last = False
        """whether an end has been sent: what comes after it does not count"""
        self._tasks: set[asyncio.Task[None]] = set()
        self._done = asyncio.Event()
        self._commands = EzCommands(self)
        self._writer = LineWriter(writing, self._done.set)
        self._reader = LineReader(reading, self._take_line)

    async def serve_client(self) -> None:
        """Serve the client until it has gone, or had enough, or the program has ended."""
        self._reader.resume()
        self.carry_out_aside(None, self._work_through())
        await self._done.wait()
        self._reader.pause()
        self.is_ending = True
        tells_end = self._tells_end or self.state is not State.ENDED
        if tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=FAREWELL)  # a launch that is under way ends what it has begun
        if self._session is not None:
            await self._session.end("terminated", grace=GRACE)
        if self._following is not None:
            if self._session is not None and self._session.state in ENDED:  # all that was before its end is told
                await asyncio.wait([self._following], timeout=FAREWELL)
            self._following.cancel()
        if tells_end:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    await self.tell_event("terminated")
        await self._writer.finish(FAREWELL)

    def end_session(self) -> None:
        self._tells_end = True
        self._done.set()

    def program_ended(self) -> None:
        """Linger for a moment: a client that has not noticed yet is told so."""
        if not self.is_ending:
            asyncio.get_running_loop().call_later(1.0, self._done.set)

    def _take_line(self, line: bytes | TooLong | None) -> None:
        item = END_OF_INPUT if line is None else read_command(line, self.options.file)
        if item is None or self._has_last:
            return
        self._items.append(item)
        self._news.set()
        self._has_last = item is END_OF_INPUT or (item.name == "terminate" and item.problem is None)
        if len(self._items) >= 1000 or self._has_last:  # further ones wait unread
            self._reader.pause()
        if self._has_last:
            self.carry_out_aside(None, self._end_if_stuck())

    async def _work_through(self) -> None:
        while True:
            if (item := self._next_command()) is None:
                self._news.clear()
                await self._news.wait()
                continue
            self._is_busy = True
            self._moved.set()
            if item is END_OF_INPUT:
                self._done.set()
            elif item.name is None or item.problem is not None:
                await self._tell_failure(item.name, item.problem or "")
            elif (reason := state_refusal(item.name, self.state)) is not None:
                await self._tell_failure(item.name, reason)
            else:
                await self._try_command(item.name, HANDLERS[item.name](self._commands, item.params))
            self._is_busy = False
            self._moved.set()
            if not self._has_last:
                self._reader.resume()

    def _next_command(self) -> Item | None:
        """Return the next; during a step only one that cannot wait for its end, and while a stop is told none."""
        if not self._is_held:
            return self._items.popleft() if self._items else None
        if self.state is not State.RUNNING:
            return None
        if found := next((item for item in self._items if item.name in ("pause", "input")), None):
            self._items.remove(found)
        return found

    def hold_commands(self) -> None:
        self._is_held = True

    def set_off(self) -> None:
        """Note that a step has begun: what comes after it waits for its end."""
        self.state, self.is_stepping = State.RUNNING, True
        self.hold_commands()

    def release_commands(self) -> None:
        self._is_held = False
        self._moved.set()
        self._news.set()

    async def _end_if_stuck(self) -> None:
        """End when nothing gets any further; until then, what was sent before an end is carried out."""
        with contextlib.suppress(TimeoutError):
            while True:
                self._moved.clear()
                is_starting = self._is_held and not self.is_stepping
                async with asyncio.timeout(BUSY if self._is_busy or is_starting else STUCK):
                    await self._moved.wait()
        self._done.set()

    async def _try_command(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except RelayError as error:
            await self._tell_failure(name, ez_shapes.error_message(error), error)
        except (ValueError, TypeError, KeyError, OSError, RecursionError) as error:
            logger.exception("%s failed", name)
            await self._tell_failure(name, f"{name} failed: {type(error).__name__}: {error}")

    async def _tell_failure(self, command: str | None, message: str, error: RelayError | None = None) -> None:
        told: dict[str, Any] = {"command": command} if command is not None else {}
        if error is not None and "error_message" in error.details and error.code == "LAUNCH_SYNTAX_ERROR":
            message, told["location"] = ez_shapes.syntax_mistake(error.details)
        await self.tell_event("error", message=message, **told)

    def carry_out_aside(self, command: str | None, work: Coroutine[Any, Any, None]) -> None:
        """Do it beside what comes after it; what goes wrong with a command is told."""
        task = asyncio.get_running_loop().create_task(self._try_command(command, work) if command else work)
        self._tasks.add(task)
        task.add_done_callback(self._end_if_failed)

    def _end_if_failed(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the session cannot go on", exc_info=error)
            self._done.set()

    async def tell_output(self, category: str, text: str) -> None:
        """Tell it in lines that go through the client's pipe in one piece."""
        longest = (self._writer.pipe or LONGEST_OUTPUT) // WIDEST
        for start in range(0, len(text), longest):
            await self.tell_event("output", category=category, text=text[start : start + longest])

    async def tell_event(self, name: str, /, **data: Any) -> None:
        await self._writer.send(event_message(name, **data))

    async def tell_useless(self, has_ended: bool = False) -> None:
        """Tell of breakpoints that will never stop, of each once."""
        for bp in self.require_session().debuggee.breakpoints.all():
            if bp.verified:
                self._bound.add(bp.number)
            said = ez_shapes.is_useless(msgspec.to_builtins(bp.to_answer()), has_ended)
            if said is not None and bp.number not in self._useless | self._bound:
                self._useless.add(bp.number)
                await self.tell_event("error", message=said, command="setBreakpoint")

    async def new_session(self, config: Config) -> Session:
        if self._session is not None:
            await self._session.end("terminated", force=True)
        if self._following is not None:
            self._following.cancel()
        self._useless.clear()
        self._bound.clear()
        self._session = Session(config)
        self._following = asyncio.get_running_loop().create_task(EventTeller(self, self._session).follow_session())
        self._following.add_done_callback(self._end_if_failed)
        return self._session

    def require_session(self) -> Session:
        assert self._session is not None
        return self._session

    async def call(self, operation: str, **params: Any) -> dict[str, Any]:
        """Return the session's answer as JSON has it, to be spelled in the protocol's words."""
        answer = self.require_session().method_of(operation)(**params)
        told: dict[str, Any] = msgspec.to_builtins(await answer if asyncio.iscoroutine(answer) else answer)
        return told


def read_command(line: bytes | TooLong, file: str | None) -> Item | None:
    """Return the command on a line, or None if the line is empty."""
    if isinstance(line, TooLong):
        return Item(None, problem=str(line))
    if not line.strip():
        return None
    try:
        message = decode_line(line)
    except Malformed as error:
        return Item(None, problem=str(error))
    known: dict[str, Any] = message if isinstance(message, dict) else {}
    name, params = known.get("command"), known.get("params")
    if name == "initialize" and file is not None and isinstance(params, dict | None) and not (params or {}).get("file"):
        params = known["params"] = {**(params or {}), "file": file}
    if (problem := check_command(message)) is not None:
        return Item(name if isinstance(name, str) else None, problem=problem)
    return Item(name, {key: value for key, value in (params or {}).items() if value is not None})
