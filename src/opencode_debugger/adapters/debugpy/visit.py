"""A line at which the next run stops once: a breakpoint that nobody sees."""

from __future__ import annotations

import os
from typing import Any

from ..base import DebuggerBreakpoint


def wanted(bp: DebuggerBreakpoint) -> dict[str, Any]:
    """A breakpoint as debugpy is told of it: what it depends on is decided in inside/breakpoints.py."""
    return {"line": bp.line, **({} if bp.is_plain else {"condition": f"__import__('_ocdb').hit({bp.number})"})}


class Visit:
    def __init__(self, path: str, line: int, number: int) -> None:
        self.real = os.path.realpath(path)
        self.line = line
        self.number = number
        self.place: int | None = None
        """among the breakpoints of its file, as they are sent"""
        self.ids: set[Any] = set()
        """debugpy's id of it"""
        self.is_reached = False

    def is_in(self, path: str) -> bool:
        return os.path.realpath(path) == self.real

    def add_to(self, breakpoints: list[DebuggerBreakpoint], sent: list[dict[str, Any]]) -> None:
        """debugpy has one breakpoint a line: a plain one does for this too, another goes on counting and logging."""
        self.place = None
        for place, bp in enumerate(breakpoints):
            if bp.line == self.line:
                if not bp.is_plain:
                    self.place = place
                    sent[place] = self._wanted(bp.number)
                return
        self.place = len(sent)
        sent.append(self._wanted(0))

    def _wanted(self, number: int) -> dict[str, Any]:
        return {"line": self.line, "condition": f"__import__('_ocdb').arrive({self.number}, {number})"}

    def sent(self, answers: list[dict[str, Any]]) -> None:
        self.ids = set() if self.place is None else {answers[self.place].get("id")}
