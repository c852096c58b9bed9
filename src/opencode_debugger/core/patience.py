"""How long a call waits for the program: until its time is up, whoever called has gone, or a signal has stopped it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from ..adapters.base import Adapter
from ..adapters.processes import is_stopped
from ..errors import RelayError


class Patience:
    def __init__(self) -> None:
        self.is_over = False
        self._waiters: set[asyncio.Future[None]] = set()

    def end(self) -> None:
        """Nobody waits for the answer any more. What was asked of the program goes on."""
        self.is_over = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    @contextlib.contextmanager
    def ends(self, waiter: asyncio.Future[None]) -> Iterator[None]:
        self._waiters.add(waiter)
        try:
            yield
        finally:
            self._waiters.discard(waiter)


UNENDING = Patience()
of_this_call: ContextVar[Patience] = ContextVar("patience", default=UNENDING)


def halt(adapter: Adapter | None) -> str | None:
    """Says so if the program's process is stopped by a signal, so that no debugger gets an answer from it."""
    pid = adapter.program_pid if adapter is not None else None
    if pid is None or not is_stopped(pid):
        return None
    return f"The program's process {pid} is stopped by a signal (SIGSTOP): kill -CONT {pid} lets it go on"


def halted(why: str, operation: str) -> RelayError:
    return RelayError(
        "DEBUGPY_TIMEOUT",
        why,
        operation=operation,
        suggestion="Send it SIGCONT and ask again, or end it: POST /api/v1/sessions/{id}/terminate",
    )
