"""Notes what clients ask for: in the timeline, and who it was that moved the program last."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ...answers.sessions import Driver
from ...errors import RelayError
from ...operations.asking_client import AskingClient, asking_client
from ...operations.operation import Operation
from ...operations.scopes import WRITE
from ...text.secrets import MASK, looks_secret
from ...timestamps import timestamp
from ..lifecycle.debuggee import Debuggee
from ..log.timeline import LONGEST_ANSWER, CommandRecord, kept_params
from .wheel import Wheel

INPUT = "stdin"
"""the operation that sends input, which is a secret if the program has asked for one"""
BY_ITSELF = frozenset({"hover", "watch"})
"""contexts of expressions that editors and the page evaluate by themselves"""


@dataclass(eq=False, slots=True)
class Drive:
    """A command that moves the program: whose, which, and since when."""

    client: AskingClient
    operation: str
    at: float


@dataclass(eq=False)
class CommandNotes:
    _debuggee: Debuggee
    wheel: Wheel
    _drives: list[Drive] = field(default_factory=list)
    """who moved the program last, and who is about to since then"""

    def begin(self, operation: Operation, params: dict[str, Any]) -> CommandNote:
        """Begin to carry out a command: to be ended, as a context, when it is done or has failed."""
        client = asking_client.get()
        if client.wheel:
            self.wheel.note_sign(client)
        is_look = client.looks_by_itself and _is_look(operation, params)
        is_noted = operation.is_noted and not is_look and client.door != ""
        if is_noted and operation.name == INPUT and looks_secret(self._debuggee.output.prompt):
            params = {**params, "input": MASK}
        return CommandNote(self, self._debuggee, client, operation, params if is_noted else None)

    def note_driver(self, client: AskingClient, operation: str) -> Drive:
        """Take a client for who drives as soon as he asks: his command may wait for the next stop."""
        drive = Drive(client, operation, time.time())
        self._drives.append(drive)
        return drive

    def settle_driver(self, drive: Drive, was_refused: bool) -> None:
        """Keep who drove, or forget him if his command was refused: then the one before still drives."""
        if drive not in self._drives:
            return  # another has driven since
        at = self._drives.index(drive)
        if was_refused:
            del self._drives[at]
        else:
            del self._drives[:at]

    def describe_driver(self) -> Driver | None:
        if not self._drives:
            return None
        last = self._drives[-1]
        return Driver(door=last.client.door, client=last.client.name, operation=last.operation, at=timestamp(last.at))


class CommandNote:
    """A command that is being carried out. It costs microseconds: words are made when somebody reads them."""

    __slots__ = ("_began", "_client", "_debuggee", "_drive", "_notes", "_operation", "_params", "answer")

    def __init__(
        self, notes: CommandNotes, debuggee: Debuggee, client: AskingClient, operation: Operation,
        params: dict[str, Any] | None,
    ) -> None:
        self._notes, self._debuggee, self._client = notes, debuggee, client
        self._operation, self._params = operation, params
        self._drive: Drive | None = None
        self.answer: bytes = b""
        """as JSON, once it is there"""

    @property
    def is_noted(self) -> bool:
        return self._params is not None

    def __enter__(self) -> CommandNote:
        self._began = time.time(), time.perf_counter()
        try:
            self._notes.wheel.require_free(self._operation)
        except RelayError as error:
            self.end(error)
            raise
        if self._operation.moves_program:
            self._drive = self._notes.note_driver(self._client, self._operation.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)

    def end(self, error: BaseException | None) -> None:
        if self._drive is not None:
            self._notes.settle_driver(self._drive, isinstance(error, RelayError))
        if self._params is None or not isinstance(error, RelayError | None):
            return
        at, counter = self._began
        debuggee, size = self._debuggee, len(self.answer)
        stop = debuggee.stop
        debuggee.log.add_record(CommandRecord(
            client=self._client, operation=self._operation.name, params=kept_params(self._params), began=at,
            seconds=time.perf_counter() - counter, answer=self.answer if size <= LONGEST_ANSWER else None,
            answer_size=size, error=error, status=debuggee.state.value, location=stop.location if stop else None,
            stop_count=debuggee.change_count,
        ))


def _is_look(operation: Operation, params: dict[str, Any]) -> bool:
    return WRITE not in operation.scopes or params.get("context") in BY_ITSELF
