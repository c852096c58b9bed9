"""Patience of a call: it waits until its time is up, its caller has gone, or something has halted the program."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ...debuggers.process.program_process import is_stopped
from ...errors import RelayError
from ...operations.advice import advice

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter


class Patience:
    def __init__(self) -> None:
        self.is_over = False
        self._waiters: set[asyncio.Future[None]] = set()

    def run_out(self) -> None:
        """End all waiting: the caller has gone. The program goes on with what was asked of it."""
        self.is_over = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    @contextlib.contextmanager
    def wakes_at_end(self, waiter: asyncio.Future[None]) -> Iterator[None]:
        self._waiters.add(waiter)
        try:
            yield
        finally:
            self._waiters.discard(waiter)


UNENDING = Patience()
call_patience: ContextVar[Patience] = ContextVar("patience", default=UNENDING)


def explain_halt(adapter: Adapter | None) -> str | None:
    """Say so if a signal or another debugger has halted the program, so that its own gets no answer from it."""
    if adapter is None:
        return None
    pid = adapter.program_pid
    if pid is None or not is_stopped(pid):
        return adapter.held_by_another()
    return f"The program's process {pid} is stopped by a signal (SIGSTOP): kill -CONT {pid} lets it go on"


def halted_error(why: str, operation: str) -> RelayError:
    hint = advice("Let it go on and ask again, or end it: {/terminate}")
    return RelayError("DEBUGPY_TIMEOUT", why, operation=operation, suggestion=hint)
