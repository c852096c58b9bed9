"""Breakpoints as debugpy tells of them: whose its ids are, and where functions were found."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from ..shapes import Bound, DebuggerBreakpoint

FILTERED = "The function is in a file in which the debugger does not stop"
OBSTACLES = {
    "class": "That is a class: give one of its methods, as in Class.__init__",
    "native": "That is no function written in Python, so nothing can stop in it: stop on a line that calls it",
}


def bound_function(function: dict[str, Any]) -> Bound:
    """Return what became of a breakpoint on a function, as the code inside the program tells it."""
    if function["places"]:
        return Bound(True, places=tuple(function["places"]))
    return Bound(False, message=FILTERED if function["filtered"] else OBSTACLES.get(function["obstacle"]))


@dataclass
class OneTimeStop:
    """A line at which the next run stops once: a breakpoint that nobody sees."""

    real_path: str
    line: int
    number: int
    place: int | None = None
    """among the breakpoints of its file, as they are sent"""
    id: int | None = None
    """debugpy's, of it"""
    is_reached: bool = False

    def is_in(self, path: str) -> bool:
        return os.path.realpath(path) == self.real_path

    def add_to(self, breakpoints: list[DebuggerBreakpoint], sent: list[dict[str, Any]]) -> None:
        """Add it to what is sent.

        debugpy has one breakpoint a line: a plain one does for this too, another goes on counting and logging."""
        place, number = len(sent), 0
        for index, bp in enumerate(breakpoints):
            if bp.line == self.line:
                place, number = index, bp.number
                break
        is_shared = place < len(sent) and breakpoints[place].is_plain
        self.place = None if is_shared else place
        if not is_shared:
            condition = f"__import__('_ocdb').arrive({self.number}, {number})"
            sent[place : place + 1] = [{"line": self.line, "condition": condition}]


@dataclass
class BreakpointIds:
    """Knows whose breakpoints debugpy's ids are."""

    numbers: dict[int, int] = field(default_factory=dict)
    """debugpy's breakpoint ids to the session's numbers"""
    together: dict[int, list[int]] = field(default_factory=dict)
    """ids of debugpy that stand for several breakpoints on one line"""
    one_time_stop: OneTimeStop | None = None

    def clear(self) -> None:
        self.numbers.clear()
        self.together.clear()
        self.one_time_stop = None

    def explain_stop(self, reason: str, hit: list[int]) -> tuple[str, list[int]]:
        """Return why it stopped, as a session sees it, and the numbers of the breakpoints that were hit."""
        ids = [part for id in hit for part in self.together.get(id, [id])]
        once = self.one_time_stop
        if once is not None and once.is_reached and once.id in ids:
            return "run_to", []
        return reason, [self.numbers[id] for id in ids if id in self.numbers]
