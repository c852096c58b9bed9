"""What a killed runner leaves behind becomes the relay's, and is ended also if it dropped the marker of its session."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator

from ..adapters.processes import ADOPTED, adopted, collect, kill_all, marker_of


class Orphans:
    """Children of the relay that it did not start. A process tells nobody whose it was: what comes when a runner has
    gone is taken to be its session's; what was there before, or came at another time, is not ours to end."""

    def __init__(self) -> None:
        self._not_ours = _found()
        self._seen: set[int] = set()
        """at the last look"""
        self._ending = 0

    def look(self) -> None:
        """Now and then. Seen twice, nothing was lost in between whose it could be."""
        reap_orphans()
        found = _found()
        if not self._ending:
            self._not_ours |= found & self._seen
        self._not_ours &= found
        self._seen = found

    def leave(self) -> None:
        """All that are there now: somebody detached from them."""
        self._not_ours |= _found()

    async def end(self, session_id: str) -> None:
        """All that have come since, until there is none: whoever loses a parent that is ended here comes next."""
        deadline = time.monotonic() + ADOPTED
        while (left := self._left_by(session_id)) and time.monotonic() < deadline:
            self._not_ours |= kill_all(left)
            reap_orphans()
            await asyncio.sleep(0)

    @contextlib.contextmanager
    def awaited(self) -> Iterator[None]:
        """While a runner goes, who comes may be from it."""
        self._ending += 1
        try:
            yield
        finally:
            self._ending -= 1

    def _left_by(self, session_id: str) -> list[int]:
        return [pid for pid in _found() - self._not_ours if marker_of(pid) in (None, session_id)]


def _found() -> set[int]:
    """Children of ours from other sessions (in the system's sense): what the relay starts itself is in its own."""
    own, found = os.getsid(0), set()
    for pid in adopted():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) != own:
                found.add(pid)
    return found


def reap_orphans() -> None:
    collect(_found())
