"""Counts and conditions of breakpoints, for debuggers that do not see to them themselves."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable
from dataclasses import dataclass

from .shapes import BY_FUNCTION, DebuggerBreakpoint

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, number: hits % number == 0,
}


@dataclass(eq=False)
class Count:
    """Counts how often something was reached."""

    _wanted: str | None
    hits: int = 0

    def count(self) -> bool:
        """Count a hit; say whether it is one of those that are wanted."""
        self.hits += 1
        if not (wanted := self._wanted):
            return True
        sign = next(sign for sign in COMPARISONS if wanted.startswith(sign))
        return COMPARISONS[sign](self.hits, int(wanted.removeprefix(sign)))


class Rule(Count):
    """The wishes of a breakpoint beyond its place and condition; counts how often it was reached with that true."""

    def __init__(self, bp: DebuggerBreakpoint, hits: int) -> None:
        super().__init__(bp.hit_condition, hits)
        self.bp = bp


class Rules(dict[int, Rule]):
    """The rules of breakpoints that want more than to stop, by number."""

    def define(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> None:
        key = BY_FUNCTION if path == BY_FUNCTION else os.path.realpath(path)
        for number, bp in [(number, rule.bp) for number, rule in self.items()]:
            group = BY_FUNCTION if bp.function else os.path.realpath(bp.path)
            if group == key and all(bp.number != number for bp in breakpoints):
                del self[number]
        for bp in breakpoints:
            known = self.get(bp.number)
            if bp.is_plain:
                self.pop(bp.number, None)
            else:
                self[bp.number] = Rule(bp, max(bp.hits, known.hits) if known else bp.hits)


def formatted(text: str, spec: str) -> str:
    """Format a text as Python does a number, where it is one; else as text."""
    if not spec:
        return text
    for convert in (int, float, str):
        with contextlib.suppress(ValueError):
            return format(convert(text), spec)
    return f"<{text}: {spec} is no format for it>"
