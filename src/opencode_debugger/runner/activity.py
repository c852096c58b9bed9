"""A program that works keeps its session alive, also when it prints nothing and nobody asks for it."""

from __future__ import annotations

import asyncio
import contextlib

from ..adapters.work import Work
from ..core.session import Session
from ..core.state import State
from ..errors import RelayError


class Activity:
    def __init__(self) -> None:
        self._pid: int | None = None
        self._work = Work()
        self._own_threads: list[int] = []
        self._asking: asyncio.Task[None] | None = None

    def look(self, session: Session) -> bool:
        """Whether the session's program, if it runs, has worked since the last look. A paused one does not work."""
        pid = session.adapter.program_pid
        if pid is None or session.state is not State.RUNNING:
            return False
        if pid != self._pid:
            self._pid, self._work, self._own_threads = pid, Work(), []
        if not self._own_threads and (self._asking is None or self._asking.done()):
            self._asking = asyncio.get_running_loop().create_task(self._ask(session))
        return self._work.has_happened(pid, self._own_threads)

    async def _ask(self, session: Session) -> None:
        """Which threads are the debugger's own. One that does not answer is asked again at the next look."""
        with contextlib.suppress(RelayError):
            self._own_threads = await session.adapter.own_threads()
