"""The standard input of a program whose debugger has the pipe: what it is to read is told to the debugger."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import RelayError
from ..stdin import LONGEST_QUEUE, Stdin, closed
from ..waiting import Reader

OWNED = "The debugger of this program keeps its standard input for itself: nothing can be sent to the program"
INSTEAD = "Let the program read what it needs from a file or from its arguments"


class Told(Stdin):
    """As a session knows the input of a program; there is no pipe of ours behind it."""

    def __init__(self, tell: Callable[[str, bool], None] | None, pid: int) -> None:
        self._tell = tell
        self._pid = pid
        self._is_ended = self._is_asked = False
        self.accepted = 0

    @property
    def is_open(self) -> bool:
        return self._tell is not None and not self._is_ended

    @property
    def pending(self) -> int | None:
        """How much of it the program has read, nobody tells."""
        return None

    def asked(self) -> None:
        """The debugger says that the program waits."""
        self._is_asked = True

    def reader(self) -> Reader | None:
        return Reader(self._pid, self._pid) if self._is_asked and self.is_open else None

    def send(self, data: bytes, eof: bool = False) -> None:
        if self._tell is None:
            raise RelayError("NOT_SUPPORTED", OWNED, suggestion=INSTEAD)
        if self._is_ended:
            raise closed("An earlier call has ended the program's input")
        if len(data) > LONGEST_QUEUE:
            raise RelayError("STDIN_FULL", f"At most {LONGEST_QUEUE} bytes can be sent at once", pending=0)
        self._tell(data.decode("utf-8", "replace"), eof)
        self._is_asked, self._is_ended = False, eof
        self.accepted += len(data)

    def close(self) -> None:
        self._is_ended, self._is_asked = True, False
