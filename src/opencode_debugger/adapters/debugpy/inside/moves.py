"""When each thread was let go last, counted in requests to let threads go: the relay counts those too."""

from __future__ import annotations

from typing import Any, Dict, Iterable


class Moves:
    def __init__(self) -> None:
        self._count = 0
        self._all = 0
        self._own: Dict[Any, int] = {}
        self._kept: Dict[Any, int] = {}

    def of(self, thread: Any) -> int:
        """The last move of this thread: what was asked about it before is not to be answered any more."""
        own = self._own.get(thread, 0)
        return own if self._kept.get(thread) == self._all else max(own, self._all)

    def go(self, thread: Any, kept: Iterable[Any] = ()) -> None:
        """One thread alone, or (None) all but those that are kept."""
        self._count += 1
        if thread is not None:
            self._own[thread] = self._count
            return
        for other in kept:
            self._own[other] = self.of(other)
            self._kept[other] = self._count
        self._all = self._count
