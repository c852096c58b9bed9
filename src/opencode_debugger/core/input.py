"""The program's standard input: sending to it, and noticing that the program waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..adapters.stdin import Stdin, closed
from ..adapters.waiting import Reader
from ..errors import RelayError
from .debuggee import Debuggee
from .patience import Patience
from .run import Run
from .state import ENDED, LIVE, State, wrong_state
from .stops import Outcome

FIRST_LOOK, LAST_LOOK = 0.005, 0.1
"""Seconds between looks at a program that somebody waits for, at first and later on. A look costs about 50 µs."""

Request = tuple[Stdin, Reader, int]
"""One wait for input: whose, and how much had been sent by then."""


class Input:
    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self._noticed: Request | None = None
        self._prompt = ""
        self._told: Request | None = None
        self._told_at = 0.0
        self.child_has_stopped: Callable[[], bool] = bool
        """whether a process that the program started stands at a stop that nobody was told of"""

    def send(self, text: str, eof: bool) -> int:
        """To a program of ours, running or paused. Says how many bytes it was."""
        state = self._debuggee.state
        if state in ENDED:
            raise closed("The program has ended", self.pending)
        if state not in LIVE:
            raise wrong_state("stdin", state, LIVE)
        data = text.encode()
        self._require_stdin().send(data, eof)
        self._debuggee.output.answered()
        return len(data)

    def _require_stdin(self) -> Stdin:
        stdin = self._debuggee.require_adapter().stdin
        if stdin is None:
            raise RelayError(
                "NOT_SUPPORTED",
                "This session did not start the program: its stdin is not ours to write to",
                suggestion="Write to it where it was started, or launch it in a session; a child reads what is sent to "
                "the session in its output_session_id",
            )
        return stdin

    @property
    def pending(self) -> int | None:
        stdin = self._debuggee.require_adapter().stdin
        return stdin.pending if stdin else None

    def prompt(self) -> str | None:
        """What the program asks for, if it waits for its input now."""
        return self._prompt if self._look() is not None else None

    def _look(self) -> Request | None:
        debuggee = self._debuggee
        if debuggee.state is not State.RUNNING or debuggee.adapter is None:
            return None
        stdin = debuggee.adapter.stdin
        reader = stdin.reader() if stdin is not None else None
        if stdin is None or reader is None:
            return None
        request = (stdin, reader, stdin.accepted)
        if request != self._noticed:
            debuggee.adapter.drain()  # what it asked is in its pipes already
            debuggee.output.flush()
            self._noticed, self._prompt = request, debuggee.output.prompt
            debuggee.log.add("input_requested", {"prompt": self._prompt, "pid": reader.pid})
        return request

    async def wait(self, run: Run, seconds: float, patience: Patience) -> tuple[Outcome | None, bool]:
        """What came of a run, and whether the time was up.

        Nothing came of it, too, once the program asks for input, or one that it started has stopped."""
        began = time.monotonic()
        pause, known = FIRST_LOOK, None
        while not run.is_over and not patience.is_over and (left := began + seconds - time.monotonic()) > 0:
            # Most steps are over before anybody has looked, which costs more than the rest of the step.
            await run.wait(min(left, pause), patience)
            pause = min(pause * 2, LAST_LOOK)
            if not run.is_over and self.child_has_stopped():
                return run.outcome, False
            request = None if run.is_over or not self._can_ask() else self._look()
            if request is not None and request != known:
                if await self._ends_wait(request, began):
                    return run.outcome, False
                known = request
        return run.outcome, not run.is_over and seconds > 0

    def _can_ask(self) -> bool:
        adapter = self._debuggee.adapter
        has_stdin = adapter is not None and adapter.stdin is not None and adapter.stdin.is_open
        return has_stdin or self._debuggee.state is State.LAUNCHING

    async def _ends_wait(self, request: Request, began: float) -> bool:
        """One that was told before the wait began ends it only if the program can do nothing else."""
        _, reader, _ = request
        if request != self._told:
            self._told, self._told_at = request, time.monotonic()
        if self._told_at >= began:
            return True
        if reader.thread != reader.pid:
            return False  # the main thread does something else
        try:
            threads = await self._debuggee.require_adapter().threads()
        except RelayError:
            return False
        return len(threads) == 1 and self._look() == request
