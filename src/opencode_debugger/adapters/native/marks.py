"""The breakpoints that a native debugger has: which are whose, where they really are, and when they stop."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from ...errors import RelayError
from ..base import BY_FUNCTION, Bound, DebuggerBreakpoint
from ..rules import Rules

VISIT, ENTRY, CATCH = 0, -1, -2
"""Numbers of marks that no client has set: the line of a run-to, where the program begins, and where C++ catches."""
MAIN, BEGIN_CATCH = "main", "__cxa_begin_catch"
PENDING = "No file with debug information that the program has loaded has code there. Breakpoint pending."
NO_CODE_AFTER = "No executable code at this line or after it"
SEVERAL = "{count} places of the program have this name: it stops at each of them"
NO_CODE_THERE = "The program has no code at this address"
BETWEEN = "This address is in the middle of an instruction: the one before begins at {address}"
Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]
Answers = list[dict[str, Any]]
"""as DAP describes breakpoints"""


class Marks:
    def __init__(self, ask: Ask, rebound: Callable[[int, Bound], None]) -> None:
        self._ask = ask
        self._rebound = rebound
        self._marked: dict[int, DebuggerBreakpoint] = {}
        """by the debugger's id"""
        self._ids: dict[str, set[int]] = {}
        """by group: what the debugger has"""
        self._sent: dict[str, tuple[str, list[DebuggerBreakpoint]]] = {}
        """by real path: how the file is spelled, and its breakpoints"""
        self._functions: list[DebuggerBreakpoint] = []
        self._told: dict[int, Bound] = {}
        self._elsewhere: set[int] = set()
        """ids of those that were bound to another line than asked for: nobody wants to stop there"""
        self.rules = Rules()
        self._visit: tuple[str, int] | None = None
        self._entry: DebuggerBreakpoint | None = None
        self._catch: DebuggerBreakpoint | None = None

    def clear(self) -> None:
        """Another program has none of them."""
        for known in (self._marked, self._ids, self._sent, self._functions, self._told, self._elsewhere, self.rules):
            known.clear()
        self._visit = self._entry = self._catch = None

    async def set(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._define(path, breakpoints)
        if path == BY_FUNCTION:
            self._functions = breakpoints
            return await self._set_functions()
        real = os.path.realpath(path)
        spelled, _ = self._sent.get(real, (path, []))
        self._sent[real] = (spelled, breakpoints)
        return await self._set_file(real)

    def _define(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> None:
        self.rules.define(path, breakpoints)

    async def _set_file(self, real: str) -> list[Bound]:
        spelled, breakpoints = self._sent[real]
        wanted = list(breakpoints)
        if self._visit is not None and self._visit[0] == real:
            wanted.append(DebuggerBreakpoint(VISIT, spelled, self._visit[1]))
        answers = await self.place_lines(spelled, wanted)
        bound = [self._bound(bp, answer) for bp, answer in zip(wanted, answers, strict=True)]
        kept = [
            bp
            for bp, found, answer in zip(wanted, bound, answers, strict=True)
            if found.line in (None, bp.line) or not answer.get("verified")
        ]
        if len(kept) < len(wanted):
            answers = await self.place_lines(spelled, kept)  # without those that would stop somewhere else
        self._remember(real, kept, answers)
        self._told.update({bp.number: found for bp, found in zip(wanted, bound, strict=True)})
        return bound[: len(breakpoints)]

    async def _set_functions(self) -> list[Bound]:
        wanted = [*self._functions, *(own for own in (self._entry, self._catch) if own is not None)]
        answers = await self.place_functions(wanted)
        self._remember(BY_FUNCTION, wanted, answers)
        bound = [self._bound(bp, answer) for bp, answer in zip(wanted, answers, strict=True)]
        self._told.update({bp.number: found for bp, found in zip(wanted, bound, strict=True)})
        return bound[: len(self._functions)]

    def _remember(self, key: str, wanted: list[DebuggerBreakpoint], answers: Answers) -> None:
        for id in self._ids.get(key, set()):
            self._marked.pop(id, None)
            self._elsewhere.discard(id)
        found = {answer["id"]: bp for bp, answer in zip(wanted, answers, strict=True) if answer.get("id") is not None}
        self._ids[key] = set(found)
        self._marked.update(found)

    # How the debugger is told: another one may have its own way.

    async def place_lines(self, path: str, wanted: list[DebuggerBreakpoint]) -> Answers:
        lines = [{"line": bp.line, **_condition(bp)} for bp in wanted]
        body = await self._ask("setBreakpoints", {"source": {"path": path}, "breakpoints": lines})
        return list(body["breakpoints"])

    async def place_functions(self, wanted: list[DebuggerBreakpoint]) -> Answers:
        names = [{"name": bp.function, **_condition(bp)} for bp in wanted]
        return list((await self._ask("setFunctionBreakpoints", {"breakpoints": names}))["breakpoints"])

    def places(self, answer: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Where a function was found."""
        path = (answer.get("source") or {}).get("path")
        return ({"path": path, "line": answer["line"]},) if path and answer.get("line") else ()

    def _bound(self, bp: DebuggerBreakpoint, answer: dict[str, Any]) -> Bound:
        verified, line, bad = bool(answer.get("verified")), answer.get("line"), answer.get("condition_problem")
        if bp.function:
            places = self.places(answer) if verified else ()
            several = SEVERAL.format(count=len(places)) if len(places) > 1 else None
            return Bound(verified, None, several if verified else answer.get("message"), places, bad)
        if not verified:
            nearest = answer.get("nearest")
            return Bound(False, nearest, None if nearest else answer.get("message") or PENDING, bad_condition=bad)
        return Bound(line in (None, bp.line), line, answer.get("note"), bad_condition=bad)

    # A line at which the next run stops, and the first one of the program.

    async def visit(self, path: str, line: int) -> None:
        real = os.path.realpath(path)
        self._visit = (real, line)
        self._sent.setdefault(real, (path, []))
        await self._set_file(real)
        bound = self._told.get(VISIT)
        self._told.pop(VISIT, None)
        if bound is not None and not bound.verified and (bound.line or bound.message == NO_CODE_AFTER):
            self._visit = None
            await self._set_file(real)
            nearest = f"Line {bound.line} is the nearest that has some" if bound.line else "Name a line before it"
            raise RelayError(
                "BREAKPOINT_INVALID_LINE",
                f"No executable code at line {line}",
                file=path,
                line=line,
                suggestion=nearest,
            )

    async def leave(self, path: str, line: int) -> None:
        real = os.path.realpath(path)
        if self._visit == (real, line):
            self._visit = None
            await self._set_file(real)

    async def enter(self) -> bool:
        """Whether the program will stop where it begins."""
        self._entry = DebuggerBreakpoint(ENTRY, "", 0, function=MAIN)
        await self._set_functions()
        return self._told[ENTRY].verified

    async def entered(self) -> None:
        self._entry = None
        await self._set_functions()

    async def await_catch(self) -> None:
        """The next run stops where the exception is caught that is being thrown."""
        self._catch = DebuggerBreakpoint(CATCH, "", 0, function=BEGIN_CATCH)
        await self._set_functions()

    @property
    def awaits_catch(self) -> bool:
        return self._catch is not None

    async def caught(self) -> None:
        self._catch = None
        await self._set_functions()

    # What the debugger says.

    def changed(self, answer: dict[str, Any]) -> None:
        """A library was loaded, and a breakpoint found its place there."""
        bp = self._marked.get(answer.get("id", 0))
        if bp is None or bp.number <= VISIT:
            return
        told = self._told.get(bp.number)
        if told is not None and not told.verified and not answer.get("verified"):
            return  # what was said of it when it was set tells more
        bound = self._bound(bp, answer)
        (self._elsewhere.add if bound.line not in (None, bp.line) else self._elsewhere.discard)(answer["id"])
        if bound != told:
            self._told[bp.number] = bound
            self._rebound(bp.number, bound)

    def reached(self, ids: list[int]) -> list[int]:
        """Whose breakpoints these are, at a stop."""
        found = {self._marked[id].number for id in ids if id in self._marked and id not in self._elsewhere}
        return sorted(found)

    async def hits(self) -> dict[int, int]:
        return {number: rule.hits for number, rule in self.rules.items()}


def _condition(bp: DebuggerBreakpoint) -> dict[str, Any]:
    return {"condition": bp.condition} if bp.condition else {}
