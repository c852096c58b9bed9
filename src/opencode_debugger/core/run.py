"""One stretch of execution, from a launch or resume to the stop or end that comes of it."""

from __future__ import annotations

import asyncio
import contextlib

from .patience import UNENDING, Patience
from .stops import Outcome, Stop


class Run:
    def __init__(self, leaving: str | None = None, thread_id: int | None = None, serial: int = 0) -> None:
        self.leaving = leaving
        """the function that a step out leaves"""
        self.thread_id = thread_id
        """the one thread that runs, or None: all"""
        self.serial = serial
        """of the request that began it: stops of other threads that were made before do not end it"""
        self.entering: Stop | None = None
        """where a step into began"""
        self.outcome: Outcome | None = None
        self.thread_ended = False
        """the one thread came to its end without stopping"""
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def is_over(self) -> bool:
        return self.outcome is not None or self.thread_ended

    def ends_with(self, stop: Stop) -> bool:
        """A stop of its own thread; for a run of all, any; else one that halted its thread too."""
        if self.thread_id in (None, stop.thread_id):
            return True
        return stop.event.all_threads_stopped and stop.event.after >= self.serial

    def finish(self, outcome: Outcome) -> None:
        """The first outcome is the one that counts."""
        if not self.is_over:
            self.outcome = outcome
            self._wake()

    def end_of_thread(self) -> None:
        if not self.is_over:
            self.thread_ended = True
            self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, seconds: float, patience: Patience = UNENDING) -> Outcome | None:
        """What came of it, or nothing if the program is still going when the time, or the patience, is over."""
        if not self.is_over and not patience.is_over:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            with patience.ends(waiter), contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await waiter
            self._waiters.remove(waiter)
        return self.outcome
