"""What breakpoints want beyond their place, of debuggers that do not see to it themselves."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Callable

from .base import BY_FUNCTION, DebuggerBreakpoint

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, number: hits % number == 0,
}


class Count:
    """How often something was reached."""

    def __init__(self, wanted: str | None, hits: int = 0) -> None:
        self._wanted = wanted
        self.hits = hits

    def count(self) -> bool:
        """Whether this hit is one of those that are wanted."""
        self.hits += 1
        wanted = self._wanted
        if not wanted:
            return True
        sign = next(sign for sign in COMPARISONS if wanted.startswith(sign))
        return COMPARISONS[sign](self.hits, int(wanted.removeprefix(sign)))


class Rule(Count):
    """What a breakpoint wants beyond its place and condition; counts how often it was reached with that true."""

    def __init__(self, bp: DebuggerBreakpoint, hits: int) -> None:
        super().__init__(bp.hit_condition, hits)
        self.bp = bp


class Rules(dict[int, Rule]):
    """Those of breakpoints that want more than to stop, by number."""

    def define(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> None:
        key = BY_FUNCTION if path == BY_FUNCTION else os.path.realpath(path)
        for number in [number for number, rule in self.items() if _group(rule.bp) == key]:
            if all(bp.number != number for bp in breakpoints):
                del self[number]
        for bp in breakpoints:
            known = self.get(bp.number)
            if bp.is_plain:
                self.pop(bp.number, None)
            else:
                self[bp.number] = Rule(bp, max(bp.hits, known.hits) if known else bp.hits)


def _group(bp: DebuggerBreakpoint) -> str:
    return BY_FUNCTION if bp.function else os.path.realpath(bp.path)


def formatted(text: str, spec: str) -> str:
    """As Python formats numbers, where it is one; else as text."""
    if not spec:
        return text
    for convert in (int, float, str):
        with contextlib.suppress(ValueError):
            return format(convert(text), spec)
    return f"<{text}: {spec} is no format for it>"
