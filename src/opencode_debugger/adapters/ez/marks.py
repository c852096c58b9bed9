"""The breakpoints that a debugger has: whose they are, and those that are there for a moment only.

Debuggers in the field give every breakpoint the same id, so that only its place tells which one was reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

from ..base import BY_FUNCTION, Bound, DebuggerBreakpoint
from ..rules import Rules
from . import source
from .talking import Refused

VISIT = 0
"""Number of the mark at the line of a run-to, which no client has set."""
MOST_LINES = 5000
"""of a file on which a program is to stop wherever it is"""

LATER = Bound(
    False,
    None,
    "The debugger is told when the program stops next: until then it may read its input, and would read that instead. "
    "Breakpoint pending.",
)

Place = tuple[str, int]
"""real path and line"""
Ask = Callable[..., Awaitable[dict[str, Any]]]


class Marks:
    def __init__(self, ask: Ask, must_be_silent: Callable[[], bool]) -> None:
        self._ask = ask
        self._must_be_silent = must_be_silent
        """whether the debugger cannot be told anything now"""
        self.clear()

    def clear(self) -> None:
        """Another program has none of them."""
        self._changing = asyncio.Lock()
        self.has_conditions = self.has_functions = False
        """whether the debugger sees to them itself"""
        self.rules = Rules()
        self._files: dict[str, list[DebuggerBreakpoint]] = {}
        """by real path"""
        self._functions: list[DebuggerBreakpoint] = []
        self._entries: dict[int, list[Place]] = {}
        """by number of a breakpoint on a function: where that begins"""
        self._ids: dict[str, int] = {}
        """by function: the debugger's id"""
        self._visit: Place | None = None
        self._everywhere: set[Place] = set()
        self._held: dict[Place, str | None] = {}
        """what the debugger has, and its condition"""
        self._bound: dict[Place, Bound] = {}
        self._is_behind = False
        """whether the debugger has not been told of all that changed"""
        self._fading: set[Place] = set()
        """taken away since the program was let go: it may have stopped there before that"""
        self._spelled: dict[str, str] = {}
        """paths as the debugger writes them"""

    def learn(self, path: str) -> None:
        if path:
            self._spelled.setdefault(os.path.realpath(path), path)

    async def set(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self.rules.define(path, breakpoints)
        if path == BY_FUNCTION:
            return await self._set_functions(breakpoints)
        real = os.path.realpath(path)
        self.learn(path)
        self._files[real] = breakpoints
        await self._synchronize()
        return [self._bound.get((real, bp.line), LATER) for bp in breakpoints]

    # Functions: by name where the debugger knows them, else at their first lines, as far as the files tell.

    async def _set_functions(self, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._functions = breakpoints
        if self.has_functions:
            return await self._set_by_name({bp.function or "": bp for bp in breakpoints})
        files = list(self._spelled)
        self._entries = {bp.number: _begins(bp, files) for bp in breakpoints}
        await self._synchronize()
        return [self._found(self._entries[bp.number]) for bp in breakpoints]

    def _found(self, places: list[Place]) -> Bound:
        listed = tuple({"path": self._spelled.get(real, real), "line": line} for real, line in places)
        if any(place not in self._bound for place in places):
            return LATER
        verified = any(self._bound[place].verified for place in places)
        return Bound(verified, None, None, listed if verified else ())

    async def _set_by_name(self, wanted: dict[str, DebuggerBreakpoint]) -> list[Bound]:
        for name in [name for name in self._ids if name not in wanted]:
            del self._ids[name]
            with contextlib.suppress(Refused):
                await self._ask("clearBreakpoint", function=name)
        return [await self._set_one(name) for name in wanted]

    async def _set_one(self, name: str) -> Bound:
        try:
            answer = await self._ask("setBreakpoint", function=name)
        except Refused as error:
            return Bound(False, None, str(error))
        self._ids[name] = answer["id"]
        path, line = answer.get("file"), answer.get("line")
        return Bound(True, places=({"path": path, "line": line},) if path and line else ())

    # Lines.

    async def _synchronize(self) -> None:
        """Tells the debugger what has changed, as soon as it can be told."""
        async with self._changing:
            self._is_behind = self._must_be_silent()
            if self._is_behind:
                return
            wanted = self._wanted()
            for place in [place for place in self._held if place not in wanted]:
                self._fading.add(place)
                await self._take_away(place)
                del self._held[place]
            for place, condition in wanted.items():
                if place not in self._held or self._held[place] != condition:
                    self._bound[place] = await self._place(place, condition)

    async def catch_up(self) -> dict[int, Bound]:
        """Tells the debugger, now that the program has stopped, what it could not be told; what came of it."""
        if not self._is_behind:
            return {}
        await self._synchronize()
        lines = {bp.number: self._bound.get((real, bp.line), LATER) for real in self._files for bp in self._files[real]}
        return lines | {number: self._found(places) for number, places in self._entries.items()}

    def _wanted(self) -> dict[Place, str | None]:
        found: dict[Place, str | None] = {}
        for real, breakpoints in self._files.items():
            for bp in breakpoints:
                found[real, bp.line] = bp.condition if self.has_conditions else None
        always = {place for places in self._entries.values() for place in places} | self._everywhere
        return found | dict.fromkeys(always | ({self._visit} if self._visit else set()))

    async def _place(self, place: Place, condition: str | None) -> Bound:
        more = {"condition": condition} if condition else {}
        try:
            answer = await self._tell("setBreakpoint", place, **more)
        except Refused as error:
            self._held.pop(place, None)
            return Bound(False, None, str(error))
        line = answer["line"]
        if line == place[1]:
            self._held[place] = condition
            self._fading.discard(place)
            return Bound(True, line)
        if (place[0], line) not in self._held:
            await self._take_away((place[0], line))  # nobody wants to stop there
        return Bound(False, line)

    async def _take_away(self, place: Place) -> None:
        """One that the debugger does not know is gone too."""
        with contextlib.suppress(Refused):
            await self._tell("clearBreakpoint", place)

    async def _tell(self, command: str, place: Place, **more: Any) -> dict[str, Any]:
        real, line = place
        return await self._ask(command, file=self._spelled.get(real, real), line=line, **more)

    # Places that are there for a moment.

    async def visit(self, path: str, line: int) -> None:
        self.learn(path)
        self._visit = (os.path.realpath(path), line)
        await self._synchronize()

    async def leave(self, path: str, line: int) -> None:
        if self._visit == (os.path.realpath(path), line):
            self._visit = None
            await self._synchronize()

    async def everywhere(self, has_stopped: Callable[[bool], Awaitable[bool]]) -> bool:
        """So that the program stops wherever it is, in the files that are known; says whether there are any.

        The fewer the better: each that is set while the program runs may lock up its debugger. So the likely ones come
        first, `has_stopped` may wait a little after each of those, and where it has none is set any more."""
        found = [(real, *source.likely_lines(real)) for real in list(self._spelled)]
        likely = [(real, line, True) for real, lines, _ in found for line in lines]
        others = [(real, line, False) for real, _, lines in found for line in lines[:MOST_LINES]]
        for real, line, is_likely in [*likely, *others]:
            async with self._changing:
                self._everywhere.add((real, line))
                if (real, line) not in self._held:
                    self._bound[real, line] = await self._place((real, line), None)
            if await has_stopped(is_likely):
                break
        return bool(likely or others)

    async def nowhere(self) -> None:
        if self._everywhere:
            self._everywhere = set()
            await self._synchronize()

    # Where the program stopped.

    def at(self, path: str, line: int, id: int | None = None) -> list[int]:
        """Whose breakpoints are there."""
        place = (os.path.realpath(path), line)
        lines = [bp.number for bp in self._files.get(place[0], []) if bp.line == line]
        begun = [number for number, places in self._entries.items() if place in places]
        named = [bp.number for bp in self._functions if id is not None and self._ids.get(bp.function or "") == id]
        visited = [VISIT] if place == self._visit else []
        return sorted({*lines, *begun, *named, *visited})

    def is_fading(self, path: str, line: int) -> bool:
        place = (os.path.realpath(path), line)
        return place in self._fading or place in self._everywhere

    def went_on(self) -> None:
        self._fading.clear()

    def hits(self) -> dict[int, int]:
        return {number: rule.hits for number, rule in self.rules.items()}


def _begins(bp: DebuggerBreakpoint, files: list[str]) -> list[Place]:
    """Where a function has its first line, in the only file in which it counts or in all that are known."""
    where = [os.path.realpath(bp.path)] if bp.path else files
    return [(real, line) for real in where for line in source.find_function(real, bp.function or "")]
