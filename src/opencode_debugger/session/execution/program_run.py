"""One stretch of execution, from a launch or resume to the stop or end that comes of it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from .patience import UNENDING, Patience
from .stops import Outcome, Stop


@dataclass(eq=False)
class Run:
    leaving: str | None = None
    """the function that a step out leaves"""
    thread_id: int | None = None
    """the one thread that runs, or None: all"""
    serial: int = 0
    """number of the request that began it: stops of other threads that came before do not end it"""
    entering: Stop | None = None
    """the stop from which a step into began"""
    outcome: Outcome | None = None
    thread_ended: bool = False
    """the one thread came to its end without stopping"""
    _waiters: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.outcome is not None or self.thread_ended

    def ends_with(self, stop: Stop) -> bool:
        """Tell whether a stop ends the run: any stop if all threads run, else one of its thread or one that halted
        its thread too."""
        if self.thread_id in (None, stop.thread_id):
            return True
        return stop.event.all_threads_stopped and stop.event.after >= self.serial

    def finish_with(self, outcome: Outcome) -> None:
        """Take the first outcome: it is the one that counts."""
        if not self.is_over:
            self.outcome = outcome
            self._wake_waiters()

    def finish_thread(self) -> None:
        if not self.is_over:
            self.thread_ended = True
            self._wake_waiters()

    def _wake_waiters(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait_for_outcome(self, seconds: float, patience: Patience = UNENDING) -> Outcome | None:
        """Return the outcome, or None if the program is still going when the time, or the patience, is over."""
        if not self.is_over and not patience.is_over:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            with patience.wakes_at_end(waiter), contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await waiter
            self._waiters.remove(waiter)
        return self.outcome
