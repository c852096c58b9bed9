"""How long a call waits for the program: until its time is up, or whoever called has gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextvars import ContextVar


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
