"""The data breakpoints that a program has: known to whoever hears of their hits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..adapters.base import DataBreakpoint
from . import conditions
from .events import EventLog


@dataclass
class Watched:
    """A value that is watched by the debugger."""

    number: int
    expression: str
    access: str
    condition: str | None = None
    hit_condition: str | None = None
    hits: int = 0
    message: str | None = None

    @property
    def id(self) -> str:
        return f"dbp_{self.number}"

    def for_debugger(self) -> DataBreakpoint:
        hit = conditions.parse_hit_condition(self.hit_condition) if self.hit_condition else None
        return DataBreakpoint(self.number, self.expression, self.access, self.condition, hit)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "expression": self.expression,
            "access": self.access,
            "condition": self.condition,
            "hit_condition": self.hit_condition,
            "hit_count": self.hits,
            "message": self.message,
        }


class DataTable:
    """What a program's data breakpoints are, for whoever hears of their hits."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.known: dict[int, Watched] = {}
        self._last = 0

    def new(self, **wishes: Any) -> Watched:
        """Not there yet."""
        return Watched(self._last + 1, **wishes)

    def add(self, draft: Watched) -> None:
        self._last = draft.number
        self.known[draft.number] = draft
        self.log.add("data_breakpoint", {"reason": "new", "data_breakpoint": draft.to_dict()})

    def hit(self, number: int) -> str | None:
        watched = self.known.get(number)
        if watched is None:
            return None
        watched.hits += 1
        return watched.id

    def said(self, hit: dict[str, Any]) -> str:
        """What happened to the value."""
        watched = self.known.get(hit["number"])
        what = watched.expression if watched else "The value"
        if hit.get("said"):
            return str(hit["said"])
        if hit.get("old") is None:
            return f"{what} was read: {hit.get('new')}"
        return f"{what} changed from {hit['old']} to {hit['new']}"

    def gone(self, number: int, why: str) -> None:
        watched = self.known.pop(number, None)
        if watched is not None:
            watched.message = why
            self.log.add("data_breakpoint", {"reason": "removed", "data_breakpoint": watched.to_dict()})

    def forget(self) -> None:
        self.known.clear()
