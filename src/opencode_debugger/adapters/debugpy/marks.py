"""The breakpoints that the debugger in the program has: which are whose, and how it is told of changes."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from ..base import BY_FUNCTION, Bound, DebuggerBreakpoint, ExceptionRule
from .visit import Visit, wanted

FUNCTION_IDS = 1_000_000_000
"""What inside/functions.py adds to the number of a breakpoint."""
FILTERED = "The function is in a file in which the debugger does not stop"
OBSTACLES = {
    "class": "That is a class: give one of its methods, as in Class.__init__",
    "native": "That is no function written in Python, so nothing can stop in it: stop on a line that calls it",
}

Ask = Callable[..., Awaitable[Any]]


def found(function: dict[str, Any]) -> Bound:
    """What the code inside the program says of a function."""
    message = FILTERED if function["filtered"] else OBSTACLES.get(function["obstacle"])
    message = None if function["places"] else message
    return Bound(bool(function["places"]), None, message, tuple(function["places"]))


class Marks:
    def __init__(self, request: Ask, aside: Ask) -> None:
        self._request = request
        self._aside = aside
        self._numbers: dict[int, int] = {}
        """debugpy's breakpoint ids to the session's numbers"""
        self._smart: dict[str, set[int]] = {}
        """by file: breakpoints whose conditions live in the program"""
        self._together: dict[int, list[int]] = {}
        """ids of debugpy that stand for several breakpoints on one line"""
        self._sent: dict[str, tuple[str, list[DebuggerBreakpoint]]] = {}
        """by real path: the breakpoints that debugpy has"""
        self._visit: Visit | None = None

    def clear(self) -> None:
        """Another program has none of them."""
        for known in (self._numbers, self._smart, self._sent, self._together):
            known.clear()
        self._visit = None

    async def set(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        gone = await self._define_rules(path, breakpoints)
        bound = await (self._set_functions(breakpoints) if path == BY_FUNCTION else self._set_lines(path, breakpoints))
        if gone:  # only now: a breakpoint that is still there without its condition would stop
            await self._aside("define", rules=[], forget=gone)
        return bound

    async def _set_lines(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._sent[os.path.realpath(path)] = (path, breakpoints)
        visit = self._visit if self._visit is not None and self._visit.is_in(path) else None
        sent = [wanted(bp) for bp in breakpoints]
        if visit is not None:
            visit.add_to(breakpoints, sent)
        body = await self._request("setBreakpoints", {"source": {"path": path}, "breakpoints": sent})
        if visit is not None:
            visit.sent(body["breakpoints"])
        bound = []
        for bp, answer in zip(breakpoints, body["breakpoints"], strict=False):
            if answer.get("id") is not None:
                self._numbers[answer["id"]] = bp.number
            bound.append(Bound(answer["verified"], answer.get("line"), answer.get("message")))
        return bound

    async def _set_functions(self, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._numbers.update({FUNCTION_IDS + bp.number: bp.number for bp in breakpoints})
        asked = [{"number": bp.number, "function": bp.function, "file": bp.path or None} for bp in breakpoints]
        answer = await self._aside("functions", wanted=asked)
        return [found(item) for item in answer["functions"]]

    async def _define_rules(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[int]:
        """Says which there are no more."""
        smart = [bp for bp in breakpoints if not bp.is_plain]
        numbers = {bp.number for bp in smart}
        gone = self._smart.get(path, set()) - numbers
        if smart:
            rules = [
                {
                    "number": bp.number,
                    "condition": bp.condition,
                    "hit_condition": bp.hit_condition,
                    "log": bp.log,
                    "hits": bp.hits,
                }
                for bp in smart
            ]
            await self._aside("define", rules=rules, forget=[])
        self._smart[path] = numbers
        return sorted(gone)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        await self._aside("exceptions", rules=[asdict(rule) for rule in rules])

    async def hits(self) -> dict[int, int]:
        if not any(self._smart.values()):
            return {}
        answer = await self._aside("counts")
        return {int(number): hits for number, hits in answer["hits"].items()}

    # A line at which the next run stops.

    async def visit(self, path: str, line: int, number: int) -> None:
        self._visit = Visit(path, line, number)
        await self._aside("visit", number=number)
        await self._send_again(self._visit.real)

    async def leave(self, path: str, line: int) -> None:
        visit = self._visit
        if visit is not None and visit.is_in(path) and visit.line == line:
            self._visit = None
            await self._send_again(visit.real)

    async def _send_again(self, real: str) -> None:
        await self.set(*self._sent.get(real, (real, [])))

    # What the debugger says.

    def visited(self, number: int) -> None:
        if self._visit is not None and self._visit.number == number:
            self._visit.is_reached = True

    def on_one_line(self, id: int, ids: list[int]) -> None:
        self._together[id] = ids

    def stopped(self, reason: str, hit: list[int]) -> tuple[str, list[int]]:
        """Why it stopped, as a session sees it, and the numbers of the breakpoints that were hit."""
        ids = [part for id in hit for part in self._together.get(id, [id])]
        if self._visit is not None and self._visit.is_reached and self._visit.ids.intersection(ids):
            return "run_to", []
        return reason, [self._numbers[id] for id in ids if id in self._numbers]
