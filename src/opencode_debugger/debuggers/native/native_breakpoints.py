"""The breakpoints that a native debugger has: which are whose, where they really are, and when they stop."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, TypedDict

from ...errors import RelayError
from ..hit_rules import Rules
from ..protocols import Listener
from ..rows import SourceRow
from ..shapes import BY_FUNCTION, Bound, DebuggerBreakpoint, ExceptionRule
from .native_conversation import NativeConversation
from .native_exceptions import NativeExceptions
from .native_memory import DataBreakpoints
from .native_program import FROM_CORE, NativeProgram

VISIT, ENTRY, CATCH = 0, -1, -2
"""Numbers of breakpoints that no client has set: at the line of a run-to, at the beginning, where C++ catches."""
MAIN = "main"
PENDING = "No file with debug information that the program has loaded has code there. Breakpoint pending."
NO_CODE_AFTER = "No executable code at this line or after it"
NO_CODE_THERE = "The program has no code at this address"
BETWEEN = "This address is in the middle of an instruction: the one before begins at {address}"


class PlacedBreakpoint(TypedDict, total=False):
    """A breakpoint that the debugger has, as DAP describes it, and what we have found out about it."""

    id: int
    verified: bool
    line: int
    message: str | None
    source: SourceRow | None
    places: list[dict[str, Any]]
    """of a function: path and line of each place"""
    nearest: int | None
    """of a line without code: the nearest one with some"""
    note: str | None
    condition_problem: str | None


Answers = list[PlacedBreakpoint]


@dataclass(eq=False)
class NativeBreakpoints:
    """Everything that makes the program stop, by the numbers of the session and by the debugger's ids."""

    _program: NativeProgram
    _conversation: NativeConversation
    _listener: Listener
    _exceptions: NativeExceptions
    _data: DataBreakpoints

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all: another program has none of them."""
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
        self._own: dict[int, DebuggerBreakpoint] = {}
        """on functions that we wait for ourselves, by number"""
        self._exceptions.reset()
        self._data.reset()

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        await self._exceptions.set_rules(rules)

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        if self._program.is_core:
            return [Bound(False, message=FROM_CORE) for _ in breakpoints]
        self._define_rules(path, breakpoints)
        if path == BY_FUNCTION:
            self._functions = breakpoints
            return await self._set_functions()
        real = os.path.realpath(path)
        spelled, _ = self._sent.get(real, (path, []))
        self._sent[real] = (spelled, breakpoints)
        return await self._set_file(real)

    def _define_rules(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> None:
        self.rules.define(path, breakpoints)

    async def _set_file(self, real: str) -> list[Bound]:
        spelled, breakpoints = self._sent[real]
        wanted = list(breakpoints)
        if self._visit is not None and self._visit[0] == real:
            wanted.append(DebuggerBreakpoint(VISIT, spelled, self._visit[1]))
        answers = await self.place_lines(spelled, wanted)
        bound = [self._bound_of(bp, answer) for bp, answer in zip(wanted, answers, strict=True)]
        every = zip(wanted, bound, answers, strict=True)
        kept = [bp for bp, now, answer in every if now.line in (None, bp.line) or not answer.get("verified")]
        if len(kept) < len(wanted):
            answers = await self.place_lines(spelled, kept)  # without those that would stop somewhere else
        self._told.update({bp.number: found for bp, found in zip(wanted, bound, strict=True)})
        await self._remember_ids(real, kept, answers)
        return bound[: len(breakpoints)]

    async def _set_functions(self) -> list[Bound]:
        wanted = [*self._functions, *self._own.values()]
        answers = await self.place_functions(wanted)
        bound = [self._bound_of(bp, answer) for bp, answer in zip(wanted, answers, strict=True)]
        self._told.update({bp.number: found for bp, found in zip(wanted, bound, strict=True)})
        await self._remember_ids(BY_FUNCTION, wanted, answers)
        return bound[: len(self._functions)]

    async def _remember_ids(self, key: str, wanted: list[DebuggerBreakpoint], answers: Answers) -> None:
        for id in self._ids.get(key, set()):
            self._marked.pop(id, None)
            self._elsewhere.discard(id)
        found = {answer["id"]: bp for bp, answer in zip(wanted, answers, strict=True) if answer.get("id") is not None}
        self._ids[key] = set(found)
        self._marked.update(found)

    # How the debugger is told.

    async def place_lines(self, path: str, wanted: list[DebuggerBreakpoint]) -> Answers:
        raise NotImplementedError

    async def place_functions(self, wanted: list[DebuggerBreakpoint]) -> Answers:
        raise NotImplementedError

    def _bound_of(self, bp: DebuggerBreakpoint, answer: PlacedBreakpoint) -> Bound:
        verified, line, bad = bool(answer.get("verified")), answer.get("line"), answer.get("condition_problem")
        if bp.function:
            path = (answer.get("source") or {}).get("path")
            one = [{"path": path, "line": line}] if path and line else []
            places = tuple(answer.get("places") or one) if verified else ()
            several = f"{len(places)} places of the program have this name: it stops at each of them"
            note = (several if len(places) > 1 else None) if verified else answer.get("message")
            return Bound(verified, None, note, places, bad)
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
        bound = self._told.pop(VISIT, None)
        if bound is not None and not bound.verified and (bound.line or bound.message == NO_CODE_AFTER):
            self._visit = None
            await self._set_file(real)
            nearest = f"Line {bound.line} is the nearest that has some" if bound.line else "Name a line before it"
            said = f"No executable code at line {line}"
            raise RelayError("BREAKPOINT_INVALID_LINE", said, file=path, line=line, suggestion=nearest)

    async def leave(self, path: str, line: int) -> None:
        real = os.path.realpath(path)
        if self._visit == (real, line):
            self._visit = None
            await self._set_file(real)

    async def await_function(self, number: int) -> bool:
        """Make the program stop in a function that we wait for, ENTRY or CATCH, and return whether it will."""
        name = MAIN if number == ENTRY else "__cxa_begin_catch"
        self._own[number] = DebuggerBreakpoint(number, "", 0, function=name)
        await self._set_functions()
        return self._told[number].verified

    async def forget_function(self, number: int) -> None:
        if self._own.pop(number, None) is not None:
            await self._set_functions()

    # What the debugger says.

    def on_breakpoint(self, body: dict[str, Any]) -> None:
        """Hear from the debugger that one has changed."""
        if body.get("reason") != "removed":
            self.on_changed(body["breakpoint"])
        else:  # of one that was removed on request nobody knows any more
            self._data.give_up(body["breakpoint"].get("id"))

    def on_changed(self, answer: PlacedBreakpoint) -> None:
        """Take note of a breakpoint that found its place in a library that was loaded."""
        bp = self._marked.get(answer.get("id", 0))
        if bp is None or bp.number <= VISIT:
            return
        told = self._told.get(bp.number)
        if told is not None and not told.verified and not answer.get("verified"):
            return  # what was said of it when it was set tells more
        bound = self._bound_of(bp, answer)
        (self._elsewhere.add if bound.line not in (None, bp.line) else self._elsewhere.discard)(answer["id"])
        if bound != told:
            self._told[bp.number] = bound
            self._listener.on_rebound(bp.number, bound)

    def reached_numbers(self, ids: list[int]) -> list[int]:
        """Return the numbers of breakpoints at a stop, by the debugger's ids."""
        return sorted({self._marked[id].number for id in ids if id in self._marked and id not in self._elsewhere})

    async def hits(self) -> dict[int, int]:
        return {number: rule.hits for number, rule in self.rules.items()}
