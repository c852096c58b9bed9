"""The conversation with a debugger that speaks the EZ protocol.

Answers carry no number, so one question is asked at a time, and the next message of the right kind is its answer.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import RelayError
from ...ez import lines
from ...ez.messages import EventData, command_message
from ...ez.protocol import COMMANDS
from ...operations.advice import advice
from .. import optional_features
from ..process.input_waits import Reader, is_busy
from ..process.processor_time import Work
from ..process.program_process import Program
from ..process.standard_input import LONGEST_QUEUE, Stdin, closed
from ..protocols import Listener
from .program_state import ProgramState

NAME = "ez"
QUIET = 0.1
"""Seconds without a stop after which a debugger that stops by itself is taken to wait."""
LOCKED_UP = (
    "The debugger is locked up: it was told of a breakpoint while the program was running, has not answered, and "
    "neither it nor the program does anything any more"
)
ABSENT = re.compile(r"unknown command|not (yet )?(implemented|supported)|unsupported|no such command", re.IGNORECASE)
SAME = ("frameIndex", "expression", "file", "function", "name")
"""Parameters of a question that its answer repeats."""


class Refused(Exception):
    """Says why the debugger did not do something, in its own words."""

    @property
    def is_absent(self) -> bool:
        return ABSENT.search(str(self)) is not None


class Question(NamedTuple):
    command: str
    params: dict[str, Any]
    answered: asyncio.Future[EventData]


@dataclass(eq=False)
class Conversation:
    _state: ProgramState
    _listener: Listener
    timeout: float
    _may_read: bool
    """whether the program reads its standard input anywhere"""
    process: Program | None = None
    announced: frozenset[str] | None = None
    """extensions, if the debugger says which it has"""
    _lacking: dict[str, str] = field(default_factory=dict)
    """commands that it does not know, and what it said to them"""
    _unanswered: set[str] = field(default_factory=set)
    """commands that it has been silent about the last time"""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _question: Question | None = None
    is_locked_up: bool = False
    """it has not answered, and does nothing any more"""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in the background that an event has made necessary."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process is not None else None

    def note_capabilities(self, capabilities: list[str]) -> None:
        """Note the extensions that the debugger says it has: it does not know the commands of others."""
        self.announced = frozenset(capabilities)
        lacking = [name for name, each in COMMANDS.items() if each.extension and each.capability not in self.announced]
        self._lacking |= {name: f"unknown command: {name}" for name in lacking}

    def has(self, capability: str) -> bool:
        return self.announced is not None and capability in self.announced

    def lacks_command(self, name: str) -> bool:
        return name in self._lacking

    @property
    def must_be_silent(self) -> bool:
        """True while a word to the debugger may become the program's input: both read from the same pipe."""
        return self._state.is_running and self._may_read and not self.has("input")

    def thread_param(self, thread_id: int) -> dict[str, int]:
        return {"threadId": thread_id} if self.has("threads") else {}

    def send(self, name: str, /, **params: Any) -> None:
        process = self.process
        if process is None or not process.is_alive:
            raise connection_lost(name)
        if self.is_locked_up:
            raise locked_up()
        try:
            process.pipes.stdin.send(lines.encode_line(command_message(name, **params)))
        except RelayError as error:
            if error.code == "STDIN_FULL":
                raise no_answer(name, "The debugger does not read what it is told") from error
            raise connection_lost(name) from error

    async def ask(self, name: str, timeout: float = 0, /, **params: Any) -> EventData:
        """Return the answer. Raises Refused with the debugger's words, or RelayError if it has none."""
        if name in self._lacking:
            raise Refused(self._lacking[name])
        if self.must_be_silent and name != "start":
            raise words_withheld(name)
        timeout = min(timeout or self.timeout, 0.5 if name in self._unanswered else math.inf)
        may_lock_up = self._state.is_running and self.announced is None and name != "start"
        ended = self._state.ended
        async with self._turn:
            answered: asyncio.Future[EventData] = asyncio.get_running_loop().create_future()
            self._question = Question(name, params, answered)
            try:
                self.send(name, **params)
                waited: list[asyncio.Future[Any]] = [answered, ended]
                if may_lock_up:
                    timeout -= await self._watch_lock_up(waited, timeout)
                await asyncio.wait(waited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._question = None
        if answered.done():
            self._unanswered.discard(name)
            if isinstance(error := answered.exception(), Refused) and error.is_absent:
                self._lacking[name] = str(error)
            return answered.result()
        if ended.done():
            raise connection_lost(name)
        self._unanswered |= {name} - {"evaluate"}  # which may take its time: that says nothing about the next
        raise no_answer(name)

    async def _watch_lock_up(self, waited: list[asyncio.Future[Any]], timeout: float) -> float:
        """Wait for an answer as long as the debugger does anything; return how many seconds that took.

        One that is told something while the program runs may wait for a lock that it holds itself."""
        clock = asyncio.get_running_loop().time
        assert self.pid is not None
        began, idle, work = clock(), 0, Work()
        work.has_happened(self.pid, ())
        while clock() - began < timeout:
            done, _ = await asyncio.wait(waited, timeout=0.25, return_when=asyncio.FIRST_COMPLETED)
            if done:
                break
            idle = 0 if work.has_happened(self.pid, ()) or is_busy(self.pid) else idle + 1
            if idle == 4:  # looks in a row at which it did nothing
                self.is_locked_up = True
                self._listener.on_log(0, LOCKED_UP)
                raise locked_up()
        return clock() - began

    async def try_to_ask(self, name: str, /, **params: Any) -> EventData:
        """Ask for what the debugger may not know, and may be silent about."""
        if self.announced is not None:
            return await self.ask(name, **params)
        try:
            return await self.ask(name, min(2.0, self.timeout), **params)
        except RelayError as error:
            if error.code != "DEBUGPY_TIMEOUT":
                raise
            self._lacking[name] = f"the debugger does not answer {name}"
            raise Refused(self._lacking[name]) from error

    async def require(self, name: str, /, **params: Any) -> EventData:
        """Ask, and tell clients what the debugger says against it."""
        try:
            return await self.ask(name, **params)
        except Refused as error:
            raise RelayError("DEBUGPY_ERROR", f"The debugger refused {name}: {error}") from error

    def take_answer(self, event: str, data: EventData) -> bool:
        """Take a message as the answer to the question that is asked; say whether it was nothing else."""
        self.is_locked_up = False
        self._unanswered = {name for name in self._unanswered if event not in COMMANDS[name].answers}
        question = self._question
        if question is None or question.answered.done():
            return False
        command, params, answered = question
        if event == "error" and ("command" in data or "location" not in data):  # else it is the program's
            if is_refusal := data.get("command", command) == command:
                answered.set_exception(Refused(data["message"]))
            return is_refusal
        is_same = all(data.get(name) == params[name] for name in SAME if name in data and name in params)
        if is_answer := event in COMMANDS[command].answers and is_same:
            answered.set_result(data)
        return is_answer and event != "stopped"

    # Waiting until a debugger that stops by itself has come to rest: some stop more than once before they wait.

    async def wait_for_rest(self) -> None:
        for _ in range(20):
            self._state.stirred.clear()
            if not await self.is_disturbed(QUIET):
                break

    async def is_disturbed(self, quiet: float) -> bool:
        """Say whether the debugger stops, or is still that long."""
        clock, stirred = asyncio.get_running_loop().time, self._state.stirred
        deadline = clock() + 1.0  # for one that is at work: on a busy machine it may have to wait for its turn
        while not stirred.is_set():
            await self._state.wait_for_stir(quiet)
            if clock() > deadline or self.pid is None or not is_busy(self.pid):
                break
        return stirred.is_set()


class ToldInput(Stdin):
    """Stands for the input of a program whose debugger has the pipe: what it is to read is told to the debugger."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._is_ended = self._is_asked = False
        self.accepted = 0

    @property
    def is_open(self) -> bool:
        return self._conversation.has("input") and not self._is_ended

    @property
    def pending(self) -> int | None:
        """Unknown: nobody tells how much of it the program has read."""
        return None

    def on_requested(self, data: EventData) -> None:
        self._is_asked = True

    def reader(self) -> Reader | None:
        pid = self._conversation.pid
        return Reader(pid, pid) if pid is not None and self._is_asked and self.is_open else None

    def send(self, data: bytes, eof: bool = False) -> None:
        if not self._conversation.has("input"):
            message = "The debugger of this program keeps its standard input for itself"
            instead = "Let the program read what it needs from a file or from its arguments"
            raise RelayError("NOT_SUPPORTED", f"{message}: nothing can be sent to the program", suggestion=instead)
        if self._is_ended:
            raise closed("An earlier call has ended the program's input")
        if len(data) > LONGEST_QUEUE:
            raise RelayError("STDIN_FULL", f"At most {LONGEST_QUEUE} bytes can be sent at once", pending=0)
        self._conversation.send("input", text=data.decode("utf-8", "replace"), eof=eof)
        self._is_asked, self._is_ended = False, eof
        self.accepted += len(data)

    def close(self) -> None:
        self._is_ended, self._is_asked = True, False


def cannot(what: str, instead: str) -> RelayError:
    return optional_features.cannot(NAME, what, instead)


def connection_lost(operation: str) -> RelayError:
    return RelayError("DEBUGPY_ERROR", f"Connection to the debugger lost during {operation}", status=502)


def words_withheld(operation: str) -> RelayError:
    message = (
        f"Nothing is sent to the debugger ({operation}) while the program runs: it may be reading its standard input, "
        "which the debugger shares with it, and would take what is sent for its input"
    )
    instead = "Set a breakpoint while the program is paused, or end it with {terminate}"
    return RelayError("NOT_SUPPORTED", message, operation=operation, suggestion=advice(instead))


def locked_up() -> RelayError:
    again = "Run the program again with {restart}, or end it with {terminate}"
    instead = advice(f"{again}; breakpoints that are set while it is paused are safe")
    return RelayError("DEBUGPY_ERROR", LOCKED_UP, status=502, suggestion=instead)


def no_answer(operation: str, message: str = "") -> RelayError:
    message = message or f"The debugger did not answer {operation} in time"
    return RelayError("DEBUGPY_TIMEOUT", message, operation=operation)
