"""How long a call waits for the program: until its time is up, its caller has gone, or something has halted it."""

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
    """Says so if a signal or another debugger has halted the program, so that its own gets no answer from it."""
    if adapter is None:
        return None
    pid = adapter.program_pid
    if pid is None or not is_stopped(pid):
        return adapter.held_by_another()
    return f"The program's process {pid} is stopped by a signal (SIGSTOP): kill -CONT {pid} lets it go on"


def halted(why: str, operation: str) -> RelayError:
    return RelayError(
        "DEBUGPY_TIMEOUT",
        why,
        operation=operation,
        suggestion="Let it go on and ask again, or end it: POST /api/v1/sessions/{id}/terminate",
    )
