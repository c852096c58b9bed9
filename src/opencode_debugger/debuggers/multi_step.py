"""Steps that go on by themselves: so many times, or until an expression is true."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rows import JourneyRow


KNOWN = 100


@dataclass(eq=False)
class Journey:
    most: int
    until: str | None
    steps: int = 0
    is_met: bool = False
    is_over: bool = False
    """it goes no further than the step that is under way"""
    error: str | None = None
    kind: str = "next"
    granularity: str = "line"


class Journeys:
    def __init__(self) -> None:
        self._tokens = itertools.count(1)
        self._known: dict[int, Journey] = {}
        self._planned: Journey | None = None
        self.current: Journey | None = None

    def plan(self, most: int, until: str | None) -> int:
        """Plan several steps, which begin with the next one; return their token."""
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

    def report(self, token: int, end: bool) -> JourneyRow:
        journey = self._known.get(token)
        if journey is None:
            return {}
        if end:
            journey.is_over = True
            if journey is not self.current:
                del self._known[token]
            if journey is self._planned:
                self._planned = None
        return {"steps": journey.steps, "met": journey.is_met, "error": journey.error}
