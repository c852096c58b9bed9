"""The program under the debugger: how it came there decides how it is let go and ended."""

from __future__ import annotations

from ..process.standard_input import Stdin
from .debugpy_connection import Link


class ProgramTarget:
    """A program that was launched, attached to, or started by another one that is debugged. This stands for none.

    What it answers holds for programs that somebody else started: their input and output are not ours."""

    @property
    def stdin(self) -> Stdin | None:
        """Return the input of a program that we started."""
        return None

    @property
    def own_pid(self) -> int | None:
        """Return the process id of a live program that we started."""
        return None

    @property
    def has_ended(self) -> bool:
        """Tell whether a program of the session's own is over."""
        return False

    def is_here(self, pid: int) -> bool:
        """Tell whether its process is one of this machine."""
        return True

    def drain_output(self) -> None:
        """Take what it has written by now."""

    def debugger_finished(self) -> None:
        """Be told that the debugger has nothing more to say."""

    def connection_closed(self, link: Link, reason: Exception | None) -> None:
        """Find out how the program ended, or why its debugger left."""

    async def let_go(self) -> None:
        """Make the debugger leave: all threads run on, without breakpoints."""

    async def terminate(self, grace: float) -> None:
        """End it, whoever started it."""

    async def end(self, grace: float) -> None:
        """End a program of the session's own; leave another to itself."""
