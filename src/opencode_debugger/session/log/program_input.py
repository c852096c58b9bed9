"""The program's standard input: sending to it, and noticing that the program waits for it."""

from __future__ import annotations

import time

from ...debuggers.process.input_waits import Reader
from ...debuggers.process.standard_input import Stdin, closed
from ...errors import RelayError
from ...operations.event_kinds import EventKind
from ...operations.states import ENDED, LIVE, State
from ..execution.patience import Patience
from ..execution.program_run import Run
from ..execution.stops import Outcome
from ..lifecycle.debuggee import Debuggee
from ..lifecycle.relatives import Relatives
from ..state import wrong_state

FIRST_LOOK, LAST_LOOK = 0.005, 0.1
"""Seconds between looks at a program that somebody waits for, at first and later on. A look costs about 50 µs."""

NOT_OUR_STDIN = (
    "Write to it where it was started, or launch it in a session; a child reads what is sent to the session in its "
    "output_session_id"
)
Request = tuple[Stdin, Reader, int]
"""One wait for input: whose, and how much had been sent by then."""


class ProgramInput:
    def __init__(self, debuggee: Debuggee, relatives: Relatives) -> None:
        self._debuggee = debuggee
        self._relatives = relatives
        self._noticed_request: Request | None = None
        self._prompt = ""
        self._told_request: Request | None = None
        self._told_at = 0.0

    def send_text(self, text: str, eof: bool) -> int:
        """Send text to a program of ours, running or paused. Return how many bytes it was."""
        state = self._debuggee.state
        if state in ENDED:
            raise closed("The program has ended", self.pending)
        if state not in LIVE:
            raise wrong_state("stdin", state, LIVE)
        stdin = self._debuggee.require_adapter().stdin
        if stdin is None:
            message = "This session did not start the program: its stdin is not ours to write to"
            raise RelayError("NOT_SUPPORTED", message, suggestion=NOT_OUR_STDIN)
        data = text.encode()
        stdin.send(data, eof)
        self._debuggee.output.forget_prompt()
        return len(data)

    @property
    def pending(self) -> int | None:
        stdin = self._debuggee.require_adapter().stdin
        return stdin.pending if stdin else None

    def prompt(self) -> str | None:
        """Return what the program asks for, if it waits for its input now."""
        return self._prompt if self._look_for_request() is not None else None

    def _look_for_request(self) -> Request | None:
        debuggee = self._debuggee
        if debuggee.state is not State.RUNNING or debuggee.adapter is None:
            return None
        stdin = debuggee.adapter.stdin
        reader = stdin.reader() if stdin is not None else None
        if stdin is None or reader is None:
            return None
        request = (stdin, reader, stdin.accepted)
        if request != self._noticed_request:
            debuggee.adapter.drain()  # what it asked is in its pipes already
            debuggee.output.flush()
            self._noticed_request, self._prompt = request, debuggee.output.prompt
            debuggee.log.add(EventKind.INPUT_REQUESTED, {"prompt": self._prompt, "pid": reader.pid})
        return request

    async def wait_for_outcome(self, run: Run, seconds: float, patience: Patience) -> tuple[Outcome | None, bool]:
        """Return the outcome of a run, and whether the time was up.

        The wait also ends, without an outcome, once the program asks for input, or one that it started has stopped."""
        began = time.monotonic()
        pause, known = FIRST_LOOK, None
        while not run.is_over and not patience.is_over and (left := began + seconds - time.monotonic()) > 0:
            # Most steps are over before anybody has looked, which costs more than the rest of the step.
            await run.wait_for_outcome(min(left, pause), patience)
            pause = min(pause * 2, LAST_LOOK)
            if not run.is_over and self._relatives.has_news():
                return run.outcome, False
            stdin = self._debuggee.adapter.stdin if self._debuggee.adapter else None
            can_ask = (stdin is not None and stdin.is_open) or self._debuggee.state is State.LAUNCHING
            request = None if run.is_over or not can_ask else self._look_for_request()
            if request is not None and request != known:
                if await self._ends_wait(request, began):
                    return run.outcome, False
                known = request
        return run.outcome, not run.is_over and seconds > 0

    async def _ends_wait(self, request: Request, began: float) -> bool:
        """Tell whether a request ends a wait: one that was told before only if the program can do nothing else."""
        _, reader, _ = request
        if request != self._told_request:
            self._told_request, self._told_at = request, time.monotonic()
        if self._told_at >= began:
            return True
        if reader.thread != reader.pid:
            return False  # the main thread does something else
        try:
            threads = await self._debuggee.require_adapter().inspection.threads()
        except RelayError:
            return False
        return len(threads) == 1 and self._look_for_request() == request
