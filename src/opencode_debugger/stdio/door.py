"""One client on standard input and output: its commands in order, and where its session stands."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from ..core.session import Session
from ..core.settings import Config, Limits
from ..core.state import ENDED
from ..errors import RelayError
from ..ez.lines import Malformed, TooLong, decode
from ..ez.messages import check_command, event, refusal
from ..ez.protocol import State
from . import shapes
from .commands import HANDLERS
from .telling import Telling
from .wire import Reader, Writer

logger = logging.getLogger(__name__)

AT_ONCE = frozenset({"pause", "input"})
"""Commands that do not wait for a step to be over."""
LAST = "terminate"
WIDEST = 16
"""Bytes that a character of output may take as JSON, with room for the rest of its message."""
LONGEST_OUTPUT = 1024 * 1024
"""Bytes of an event with output, for a client that reads from no pipe."""
MOST = 1000
"""Commands that may wait to be carried out; further ones wait unread."""
STUCK, BUSY = 0.4, 5.0
"""Seconds that an end waits for what was sent before it: for a step that goes nowhere; for a command, or for the first
stop."""
LINGER = 1.0
"""Seconds after the program's end in which commands are still answered."""
GRACE = 0.4
"""Seconds for the program to end by itself: an IDE does not wait much longer."""
FAREWELL = 2.0
"""Seconds for the client to take what was said last."""


@dataclass
class Item:
    """A command, or what is wrong with a line that is none."""

    name: str | None
    params: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


END_OF_INPUT = Item(None)


class Door:
    def __init__(
        self,
        reading: int,
        writing: int,
        session_id: str,
        limits: Limits,
        folder: str,
        file: str | None,
        args: list[str],
    ) -> None:
        self.args = args
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
        self._file = file
        self._session_id = session_id
        self._limits = limits
        self._folder = folder
        """for its sockets"""
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
        self._writer = Writer(writing, self._done.set)
        self._reader = Reader(reading, self._take)

    # Its life.

    async def serve(self) -> None:
        """Until the client has gone, or had enough, or the program has ended."""
        self._reader.resume()
        self.later(None, self._work())
        await self._done.wait()
        await self._finish()

    def end(self) -> None:
        """On request."""
        self._tells_end = True
        self._done.set()

    def program_ended(self) -> None:
        """A client that has not noticed yet is told so, for a moment."""
        if not self.is_ending:
            asyncio.get_running_loop().call_later(LINGER, self._done.set)

    async def _finish(self) -> None:
        self._reader.pause()
        self.is_ending = True
        tells_end = self._tells_end or self.state is not State.ENDED
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=FAREWELL)  # a launch that is under way ends what it has begun
        if self._session is not None:
            await self._session.end("terminated", grace=GRACE)
            await self._end_following(self._session)
        if tells_end:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    await self.tell("terminated")
        await self._writer.finish(FAREWELL)

    async def _end_following(self, session: Session) -> None:
        """What the program has written before its end is told."""
        if self._following is not None and session.state in ENDED:
            await asyncio.wait([self._following], timeout=FAREWELL)
        if self._following is not None:
            self._following.cancel()

    # What it is sent.

    def _take(self, line: bytes | TooLong | None) -> None:
        item = END_OF_INPUT if line is None else understood(line, self._file)
        if item is None or self._has_last:
            return
        self._items.append(item)
        self._news.set()
        self._has_last = item is END_OF_INPUT or (item.name == LAST and item.problem is None)
        if len(self._items) >= MOST or self._has_last:
            self._reader.pause()
        if self._has_last:
            self.later(None, self._end_if_stuck())

    async def _work(self) -> None:
        while True:
            item = self._next()
            if item is None:
                self._news.clear()
                await self._news.wait()
                continue
            self._is_busy = True
            self._moved.set()
            await self._perform(item)
            self._is_busy = False
            self._moved.set()
            if not self._has_last:
                self._reader.resume()

    def _next(self) -> Item | None:
        """In order; but while a step is under way only what cannot wait for its end, and while a stop is told none."""
        if not self._is_held:
            return self._items.popleft() if self._items else None
        if self.state is not State.RUNNING:
            return None
        found = next((item for item in self._items if item.name in AT_ONCE), None)
        if found is not None:
            self._items.remove(found)
        return found

    def hold(self) -> None:
        self._is_held = True

    def set_off(self) -> None:
        """A step has begun: what comes after it waits for its end."""
        self.state, self.is_stepping = State.RUNNING, True
        self.hold()

    def release(self) -> None:
        self._is_held = False
        self._moved.set()
        self._news.set()

    async def _end_if_stuck(self) -> None:
        """What was sent before an end is carried out, as long as it gets anywhere."""
        with contextlib.suppress(TimeoutError):
            while True:
                self._moved.clear()
                is_starting = self._is_held and not self.is_stepping
                async with asyncio.timeout(BUSY if self._is_busy or is_starting else STUCK):
                    await self._moved.wait()
        self._done.set()

    async def _perform(self, item: Item) -> None:
        if item is END_OF_INPUT:
            self._done.set()
        elif item.problem is not None or item.name is None:
            await self._fail(item.name, item.problem or "")
        elif (reason := refusal(item.name, self.state)) is not None:
            await self._fail(item.name, reason)
        else:
            await self._try(item.name, HANDLERS[item.name](self, item.params))

    async def _try(self, name: str, work: Coroutine[Any, Any, None] | Any) -> None:
        try:
            await work
        except RelayError as error:
            await self._fail(name, shapes.message(error), error)
        except (ValueError, TypeError, KeyError, OSError, RecursionError) as error:
            logger.exception("%s failed", name)
            await self._fail(name, f"{name} failed: {type(error).__name__}: {error}")

    async def _fail(self, command: str | None, message: str, error: RelayError | None = None) -> None:
        told: dict[str, Any] = {"message": message}
        if command is not None:
            told["command"] = command
        if error is not None and "error_message" in error.details and error.code == "LAUNCH_SYNTAX_ERROR":
            told |= shapes.syntax_error(error.details)
        await self.tell("error", **told)

    def later(self, command: str | None, work: Coroutine[Any, Any, None]) -> None:
        """Beside what comes after it; what goes wrong with a command is told."""
        task = asyncio.get_running_loop().create_task(self._try(command, work) if command else work)
        self._tasks.add(task)
        task.add_done_callback(self._done_with)

    def _done_with(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the session cannot go on", exc_info=error)
            self._done.set()

    # What it is told.

    async def tell_output(self, category: str, text: str) -> None:
        """In lines that go through the client's pipe in one piece."""
        longest = (self._writer.pipe or LONGEST_OUTPUT) // WIDEST
        for start in range(0, len(text), longest):
            await self.tell("output", category=category, text=text[start : start + longest])

    async def tell(self, name: str, /, **data: Any) -> None:
        await self._writer.send(event(name, **data))

    async def tell_useless(self, has_ended: bool = False) -> None:
        """Breakpoints that will never stop, each once."""
        for bp in self.require_session().debuggee.breakpoints.all():
            if bp.verified:
                self._bound.add(bp.number)
            said = shapes.useless(bp.to_dict(), has_ended)
            if said is not None and bp.number not in self._useless | self._bound:
                self._useless.add(bp.number)
                await self.tell("error", message=said, command="setBreakpoint")

    # The session.

    def config_for(self, root: str) -> Config:
        name = os.path.basename(root)
        return Config(self._session_id, name, project_root=root, limits=self._limits, folder=self._folder)

    async def new_session(self, config: Config) -> Session:
        if self._session is not None:
            await self._session.end("terminated", force=True)
        if self._following is not None:
            self._following.cancel()
        self._useless.clear()
        self._bound.clear()
        self._session = Session(config)
        self._following = asyncio.get_running_loop().create_task(Telling(self, self._session).follow())
        self._following.add_done_callback(self._followed)
        return self._session

    def _followed(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("what happens cannot be told", exc_info=error)
            self._done.set()

    def require_session(self) -> Session:
        assert self._session is not None
        return self._session

    async def call(self, operation: str, **params: Any) -> dict[str, Any]:
        answer = self.require_session().operations[operation](**params)
        return dict(await answer if asyncio.iscoroutine(answer) else answer)


def understood(line: bytes | TooLong, file: str | None) -> Item | None:
    """What a line asks for; nothing, if it is empty."""
    if isinstance(line, TooLong):
        return Item(None, problem=str(line))
    if not line.strip():
        return None
    try:
        message = decode(line)
    except Malformed as error:
        return Item(None, problem=str(error))
    name = message.get("command") if isinstance(message, dict) else None
    params = message.get("params") if isinstance(message, dict) else None
    if name == "initialize" and file is not None and isinstance(params, dict | None) and not (params or {}).get("file"):
        params = message["params"] = {**(params or {}), "file": file}
    problem = check_command(message)
    if problem is not None:
        return Item(name if isinstance(name, str) else None, problem=problem)
    return Item(name, {key: value for key, value in (params or {}).items() if value is not None})
