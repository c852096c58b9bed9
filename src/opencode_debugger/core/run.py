"""One stretch of execution, from a launch or resume to the stop or end that comes of it."""

from __future__ import annotations

import asyncio
import contextlib

from .stops import Outcome, Stop


class Run:
    def __init__(self, leaving: str | None = None) -> None:
        self.leaving = leaving
        """the function that a step out leaves"""
        self.entering: Stop | None = None
        """where a step into began"""
        self.outcome: Outcome | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def finish(self, outcome: Outcome) -> None:
        """The first outcome is the one that counts."""
        if self.outcome is not None:
            return
        self.outcome = outcome
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, seconds: float) -> Outcome | None:
        """What came of it, or nothing if the program is still going when the time is up."""
        if self.outcome is None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await waiter
            self._waiters.remove(waiter)
        return self.outcome
