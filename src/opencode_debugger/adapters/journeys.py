"""Steps that go on by themselves: so many times, or until an expression is true."""

from __future__ import annotations

import itertools
from typing import Any

KNOWN = 100


class Journey:
    def __init__(self, most: int, until: str | None) -> None:
        self.most = most
        self.until = until
        self.steps = 0
        self.is_met = False
        self.is_over = False
        """it goes no further than the step that is under way"""
        self.error: str | None = None
        self.kind = "next"
        self.granularity = "line"

    def report(self) -> dict[str, Any]:
        return {"steps": self.steps, "met": self.is_met, "error": self.error}


class Journeys:
    def __init__(self) -> None:
        self._tokens = itertools.count(1)
        self._known: dict[int, Journey] = {}
        self._planned: Journey | None = None
        self.current: Journey | None = None

    def plan(self, most: int, until: str | None) -> int:
        """For the next step."""
        while len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        token = next(self._tokens)
        self._planned = self._known[token] = Journey(most, until)
        return token

    def begin(self, kind: str, granularity: str) -> None:
        self.current, self._planned = self._planned, None
        if self.current is not None:
            self.current.kind, self.current.granularity = kind, granularity

    def stop(self) -> None:
        self.current = self._planned = None

    def report(self, token: int, end: bool) -> dict[str, Any]:
        journey = self._known.get(token)
        if journey is None:
            return {}
        if end:
            journey.is_over = True
            if journey is not self.current:
                del self._known[token]
            if journey is self._planned:
                self._planned = None
        return journey.report()
