"""The breakpoints that the debugger in the program has, and how it is told of changes."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any

from ..shapes import BY_FUNCTION, Bound, DebuggerBreakpoint, ExceptionRule
from .breakpoint_ids import BreakpointIds, bound_function
from .debugpy_connection import DebugpyConnection

FUNCTION_IDS = 1_000_000_000
"""Added to the number of a breakpoint by inside/breakpoints/function_breakpoints.py."""

RULE = ("number", "condition", "hit_condition", "log", "hits")
"""What the program is told of a breakpoint that depends on something."""


@dataclass(eq=False)
class DebugpyBreakpoints:
    _connection: DebugpyConnection
    ids: BreakpointIds
    _smart: dict[str, set[int]] = field(default_factory=dict)
    """by file: breakpoints whose conditions live in the program"""
    _sent: dict[str, tuple[str, list[DebuggerBreakpoint]]] = field(default_factory=dict)
    """by real path: the breakpoints that debugpy has"""

    def clear(self) -> None:
        """Forget them: another program has none of them."""
        self.ids.clear()
        self._smart.clear()
        self._sent.clear()

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        gone = await self._define_rules(path, breakpoints)
        bound = await (self._set_functions(breakpoints) if path == BY_FUNCTION else self._set_lines(path, breakpoints))
        if gone:  # only now: a breakpoint that is still there without its condition would stop
            await self._connection.call_aside("define", rules=[], forget=gone)
        return bound

    async def _set_lines(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._sent[os.path.realpath(path)] = (path, breakpoints)
        once = self.ids.one_time_stop
        once = once if once is not None and once.is_in(path) else None
        sent: list[dict[str, Any]] = [{"line": bp.line} for bp in breakpoints]
        for bp, each in zip(breakpoints, sent, strict=True):
            if not bp.is_plain:  # what it depends on is decided in inside/breakpoints/hit_decisions.py
                each["condition"] = f"__import__('_ocdb').hit({bp.number})"
        if once is not None:
            once.add_to(breakpoints, sent)
        body = await self._connection.request("setBreakpoints", {"source": {"path": path}, "breakpoints": sent})
        if once is not None:
            once.id = None if once.place is None else body["breakpoints"][once.place].get("id")
        bound = []
        for bp, answer in zip(breakpoints, body["breakpoints"], strict=False):
            if answer.get("id") is not None:
                self.ids.numbers[answer["id"]] = bp.number
            bound.append(Bound(answer["verified"], answer.get("line"), answer.get("message")))
        return bound

    async def _set_functions(self, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self.ids.numbers.update((FUNCTION_IDS + bp.number, bp.number) for bp in breakpoints)
        asked = [{"number": bp.number, "function": bp.function, "file": bp.path or None} for bp in breakpoints]
        answer = await self._connection.call_aside("functions", wanted=asked)
        return [bound_function(item) for item in answer["functions"]]

    async def _define_rules(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[int]:
        """Tell the program what its breakpoints depend on, and return the numbers of those that are no more."""
        smart = [bp for bp in breakpoints if not bp.is_plain]
        numbers = {bp.number for bp in smart}
        gone = self._smart.get(path, set()) - numbers
        if smart:
            rules = [{name: getattr(bp, name) for name in RULE} for bp in smart]
            await self._connection.call_aside("define", rules=rules, forget=[])
        self._smart[path] = numbers
        return sorted(gone)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        await self._connection.call_aside("exceptions", rules=[asdict(rule) for rule in rules])

    async def hits(self) -> dict[int, int]:
        if not any(self._smart.values()):
            return {}
        answer = await self._connection.call_aside("counts")
        return {int(number): hits for number, hits in answer["hits"].items()}

    async def send_again(self, real_path: str) -> None:
        await self.set_breakpoints(*self._sent.get(real_path, (real_path, [])))
