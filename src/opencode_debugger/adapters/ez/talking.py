"""The conversation with a debugger that speaks the EZ protocol, and what is known of the program under it.

Answers carry no number, so one question is asked at a time, and the next message of the right kind is its answer.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from ...errors import RelayError
from ...ez import lines
from ...ez.messages import command
from ...ez.protocol import COMMANDS
from ..base import LaunchSpec, Listener
from ..processes import Program
from ..waiting import is_busy
from ..work import Work
from .hearing import Hearing
from .input import Told

TRY = 2.0
"""Seconds for an answer to what the debugger may not know at all."""
AGAIN = 0.5
"""Seconds for an answer to what has not been answered the last time."""
UNHURRIED = frozenset({"evaluate"})
"""What an expression does may take its time, and the next one does something else."""
LOOK, IDLE_LOOKS = 0.25, 4
"""Seconds between looks at a debugger that owes an answer, and at how many it does nothing before it is given up."""
LOCKED_UP = (
    "The debugger is locked up: it was told of a breakpoint while the program was running, has not answered, and "
    "neither it nor the program does anything any more"
)
UNLOCK = (
    "Run the program again with POST /sessions/{id}/restart, or end it with POST /sessions/{id}/terminate; breakpoints "
    "that are set while it is paused are safe"
)
ABSENT = re.compile(r"unknown command|not (yet )?(implemented|supported)|unsupported|no such command", re.IGNORECASE)
SAME = ("frameIndex", "expression", "file", "function", "name")
"""What an answer repeats of its question."""
GOING = frozenset({"continue", "stepInto", "stepOver", "stepOut", "stepBack", "reverseContinue"})


class Refused(Exception):
    """Why the debugger did not do something, in its own words."""

    @property
    def is_absent(self) -> bool:
        return ABSENT.search(str(self)) is not None


@dataclass(frozen=True, eq=False)
class Halt:
    """A stop as the debugger tells it."""

    reason: str
    path: str
    """absolute; empty if it is in no file"""
    line: int
    column: int
    thread_id: int = 1
    breakpoint_id: int | None = None
    data_id: int | None = None
    text: str | None = None


@dataclass(frozen=True)
class Question:
    command: str
    params: dict[str, Any]
    answered: asyncio.Future[dict[str, Any]]

    def is_answered_by(self, event: str, data: dict[str, Any]) -> bool:
        if self.answered.done() or event not in COMMANDS[self.command].answers:
            return False
        return all(data[name] == self.params[name] for name in SAME if name in data and name in self.params)

    def is_refused_by(self, data: dict[str, Any]) -> bool:
        if self.answered.done() or ("command" not in data and "location" in data):
            return False
        return bool(data.get("command", self.command) == self.command)


class Talking:
    name = "ez"

    def __init__(
        self, session_id: str, listener: Listener, timeout: float, launch_timeout: float, path: str | None
    ) -> None:
        self._session_id = session_id
        self._listener = listener
        self._timeout = timeout
        self._launch_timeout = launch_timeout
        self._path = path or None
        self.pid: int | None = None
        self.warnings: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.Task[None] | None = None
        self._reset()

    def _reset(self) -> None:
        self._program: Program | None = None
        self._spec: LaunchSpec | None = None
        self._announced: frozenset[str] | None = None
        """extensions, if the debugger says which it has"""
        self._lacks: dict[str, str] = {}
        """commands that it does not know, and what it said to them"""
        self._unanswered: set[str] = set()
        """commands that it has been silent about the last time"""
        self._turn = asyncio.Lock()
        self._question: Question | None = None
        self._halt: Halt | None = None
        self._is_running = False
        self._is_locked_up = False
        """it has not answered, and does nothing any more"""
        self._may_read = False
        """whether the program reads its standard input anywhere"""
        self._is_pausing = False
        self._is_ending = False
        self._is_over = False
        self._exit_code: int | None = None
        self._input = Told(None, 0)
        self._hearing = Hearing(self._event, lambda text: self._listener.on_output("stdout", text))
        loop = asyncio.get_running_loop()
        self._stirred = asyncio.Event()
        """set at each stop"""
        self._ended: asyncio.Future[None] = loop.create_future()

    def _event(self, event: str, data: dict[str, Any]) -> bool | None:
        """What the debugger says."""
        raise NotImplementedError

    # Saying something.

    def _has(self, capability: str) -> bool:
        return self._announced is not None and capability in self._announced

    @property
    def _must_be_silent(self) -> bool:
        """Whether what the debugger is told may become the program's input: both read from the same pipe."""
        return self._is_running and self._may_read and not self._has("input")

    def _send(self, name: str, /, **params: Any) -> None:
        program = self._program
        if program is None or not program.is_alive:
            raise lost(name)
        if self._is_locked_up:
            raise locked_up()
        try:
            program.stdin.send(lines.encode(command(name, **params)))
        except RelayError as error:
            if error.code == "STDIN_FULL":
                raise slow(name, "The debugger does not read what it is told") from error
            raise lost(name) from error

    async def _ask(self, name: str, timeout: float = 0, /, **params: Any) -> dict[str, Any]:
        """Raises Refused with the debugger's words, or RelayError if it has none."""
        if name in self._lacks:
            raise Refused(self._lacks[name])
        if self._must_be_silent and name != "start":
            raise withheld(name)
        timeout = min(timeout or self._timeout, AGAIN if name in self._unanswered else math.inf)
        may_lock_up = self._is_running and self._announced is None and name != "start"
        async with self._turn:
            answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
            self._question = Question(name, params, answered)
            try:
                self._send(name, **params)
                waited: list[asyncio.Future[Any]] = [answered, self._ended]
                if may_lock_up:
                    timeout -= await self._watch_lock_up(waited, timeout)
                await asyncio.wait(waited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._question = None
        if answered.done():
            self._unanswered.discard(name)
            return self._answer_to(name, answered)
        if self._ended.done():
            raise lost(name)
        self._unanswered |= {name} - UNHURRIED
        raise slow(name)

    async def _watch_lock_up(self, waited: list[asyncio.Future[Any]], timeout: float) -> float:
        """Waits for an answer as long as the debugger does anything; how many seconds that took.

        One that is told something while the program runs may wait for a lock that it holds itself."""
        clock = asyncio.get_running_loop().time
        assert self.pid is not None
        began, idle, work = clock(), 0, Work()
        work.has_happened(self.pid, ())
        while clock() - began < timeout:
            done, _ = await asyncio.wait(waited, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
            if done:
                break
            idle = 0 if work.has_happened(self.pid, ()) or is_busy(self.pid) else idle + 1
            if idle == IDLE_LOOKS:
                self._is_locked_up = True
                self._listener.on_log(0, LOCKED_UP)
                raise locked_up()
        return clock() - began

    def _answer_to(self, name: str, answered: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
        try:
            return answered.result()
        except Refused as error:
            if error.is_absent:
                self._lacks[name] = str(error)
            raise

    async def _try(self, name: str, /, **params: Any) -> dict[str, Any]:
        """What the debugger may not know, and may be silent about."""
        if self._announced is not None:
            return await self._ask(name, **params)
        try:
            return await self._ask(name, min(TRY, self._timeout), **params)
        except RelayError as error:
            if error.code != "DEBUGPY_TIMEOUT":
                raise
            self._lacks[name] = f"the debugger does not answer {name}"
            raise Refused(self._lacks[name]) from error

    async def _require(self, name: str, /, **params: Any) -> dict[str, Any]:
        """What it says against something is told to clients."""
        try:
            return await self._ask(name, **params)
        except Refused as error:
            raise RelayError("DEBUGPY_ERROR", f"The debugger refused {name}: {error}") from error

    def _heard(self, event: str, data: dict[str, Any]) -> bool:
        """Whether that was the answer to a question."""
        self._is_locked_up = False
        self._unanswered = {name for name in self._unanswered if event not in COMMANDS[name].answers}
        question = self._question
        if question is None:
            return False
        if event == "error" and question.is_refused_by(data):
            question.answered.set_exception(Refused(data["message"]))
            return True
        if question.is_answered_by(event, data):
            question.answered.set_result(data)
            return event != "stopped"
        return False

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def lost(operation: str) -> RelayError:
    return RelayError("DEBUGPY_ERROR", f"Connection to the debugger lost during {operation}", status=502)


def withheld(operation: str) -> RelayError:
    message = (
        f"Nothing is sent to the debugger ({operation}) while the program runs: it may be reading its standard input, "
        "which the debugger shares with it, and would take what is sent for its input"
    )
    advice = "Set a breakpoint while the program is paused, or end it with POST /sessions/{id}/terminate"
    return RelayError("NOT_SUPPORTED", message, operation=operation, suggestion=advice)


def locked_up() -> RelayError:
    return RelayError("DEBUGPY_ERROR", LOCKED_UP, status=502, suggestion=UNLOCK)


def slow(operation: str, message: str = "") -> RelayError:
    message = message or f"The debugger did not answer {operation} in time"
    return RelayError("DEBUGPY_TIMEOUT", message, operation=operation)
