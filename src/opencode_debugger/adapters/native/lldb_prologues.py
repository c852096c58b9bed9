"""The beginning of a function, where its parameters are not in their places yet.

lldb looks for its end in the next line of the source: of a function that gcc compiled from a single line it finds none,
and stops at the first instruction, where every parameter is garbage.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from ..base import DebuggerBreakpoint
from .names import AN_ADDRESS

Run = Callable[[str], Awaitable[str]]

AT_START = re.compile(
    r"^\s+(\d+\.\d+): where = \S*?`((?:(?! \+ \d+ at ).)*) at \S+, address = (?:(\S*)\[)?(0x\w+)", re.M
)
"""Of the places of a breakpoint, those at the first instruction of a function."""
RANGE = re.compile(r"^\s+Function: .*range = \[(0x\w+)-", re.M)
FIRST = re.compile(r"^\s+LineEntry: \[(0x\w+)-(0x\w+)\)", re.M)
ON_THE_STACK = "location = DW_OP_fbreg"
"""Variables of code that is not optimized: the others are where they are said to be from the beginning."""
MADE = re.compile(r"^Breakpoint (\d+): where", re.M)


STALE = "\0"
"""No condition: of breakpoints that are to be looked at again."""


class Prologues:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._instead: dict[int, tuple[str | None, list[int]]] = {}
        """by id of a breakpoint that has places: its condition, and the ids of those that stop in place of it"""
        self._mending = asyncio.Lock()

    def clear(self) -> None:
        self._instead.clear()

    def has(self, id: int | None) -> bool:
        """Whether others stop in place of it, so that lldb takes it for one without a place."""
        return id in self._instead and bool(self._instead[id][1])

    async def mend(self, marked: dict[int, DebuggerBreakpoint]) -> None:
        """Those that stop too early are switched off, and others stop where the function really begins."""
        async with self._mending:
            await self._mend(marked)

    async def _mend(self, marked: dict[int, DebuggerBreakpoint]) -> None:
        for id, (condition, others) in list(self._instead.items()):
            if id not in marked or marked[id].condition != condition:
                self._instead.pop(id, None)
                for other in others:
                    marked.pop(other, None)
                    await self._run(f"breakpoint delete {other}")
        known = {*self._instead, *(other for _, others in self._instead.values() for other in others)}
        for id, bp in [(id, bp) for id, bp in marked.items() if id not in known]:
            listed = await self._run(f"breakpoint list {id}")
            if (bp.function or "").startswith(AN_ADDRESS):
                self._instead[id] = (bp.condition, [])
            elif "where = " in listed:
                self._instead[id] = (bp.condition, await self._moved(listed, bp.condition))
                marked |= dict.fromkeys(self._instead[id][1], bp)

    def forget(self, id: int | None) -> None:
        """It has got further places."""
        if id in self._instead:
            self._instead[id] = (STALE, self._instead[id][1])

    def knows(self, id: int) -> bool:
        return id in self._instead and self._instead[id][0] is not STALE

    def accept(self, ids: list[int]) -> None:
        """As they are, if they could not be looked at."""
        for id in (id for id in ids if not self.knows(id)):
            self._instead[id] = (None, self._instead[id][1] if id in self._instead else [])

    async def _moved(self, listed: str, condition: str | None) -> list[int]:
        made = []
        for place, _, module, address in AT_START.findall(listed):
            end = await self.end(address, module)
            if end is None:
                continue
            where = f"--address {end}" + (f" --shlib {quoted(module)}" if module else "")
            asked = f" --condition {quoted(condition)}" if condition else ""
            said = MADE.search(await self._run(f"breakpoint set {where}{asked}"))
            if said is not None:
                await self._run(f"breakpoint disable {place}")
                made.append(int(said[1]))
        return made

    async def end(self, address: str = "$pc", module: str = "") -> str | None:
        """Where the beginning of a function ends that this address is in."""
        known = await self._run(f"image lookup --verbose --address {address} {quoted(module) if module else ''}")
        function, first = RANGE.search(known), FIRST.search(known)
        if function is None or first is None or ON_THE_STACK not in known or function[1] != first[1]:
            return None
        return first[2]


def quoted(text: str) -> str:
    """One word of lldb's command line."""
    return "'" + text.replace("\n", " ").replace("'", "'\"'\"'") + "'"
