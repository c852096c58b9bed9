"""The breakpoints that a debugger was told of: whose they are, those that are there for a moment only, watched values.

Debuggers in the field give every breakpoint the same id, so that only its place tells which one was reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...ez.messages import EventData
from ..hit_rules import Count, Rules
from ..optional_features import ABSENT, NoMemory, Refuse
from ..protocols import Listener
from ..shapes import BY_FUNCTION, Bound, DataBreakpoint, DebuggerBreakpoint, ExceptionRule, Frames
from ..small_debugger import UNCAUGHT
from . import ez_files
from .ez_conversation import Conversation, Refused, cannot
from .inspection.ez_inspection import EzInspection
from .inspection.ez_stacks import Places
from .program_state import Halt

VISIT = 0
"""Number of the mark at the line of a run-to, which no client has set."""

WHEN_TOLD = "The debugger is told when the program stops next: until then it may read its input, and would read that"
LATER = Bound(False, None, f"{WHEN_TOLD} instead. Breakpoint pending.")

Place = tuple[str, int]
"""real path and line"""


class EzBreakpoints:
    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._changing = asyncio.Lock()
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

    @property
    def has_conditions(self) -> bool:
        """True if the debugger judges conditions itself."""
        return self._conversation.has("conditionalBreakpoints")

    def learn_path(self, path: str) -> None:
        if path:
            self._spelled.setdefault(os.path.realpath(path), path)

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self.rules.define(path, breakpoints)
        if path == BY_FUNCTION:
            return await self._set_functions(breakpoints)
        real = os.path.realpath(path)
        self.learn_path(path)
        self._files[real] = breakpoints
        await self._tell_changes()
        return [self._bound.get((real, bp.line), LATER) for bp in breakpoints]

    # Functions: by name where the debugger knows them, else at their first lines, as far as the files tell.

    async def _set_functions(self, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._functions = breakpoints
        if self._conversation.has("functionBreakpoints"):
            wanted = list(dict.fromkeys(bp.function or "" for bp in breakpoints))
            for name in [name for name in self._ids if name not in wanted]:
                del self._ids[name]
                with contextlib.suppress(Refused):
                    await self._conversation.ask("clearBreakpoint", function=name)
            return [await self._set_by_name(name) for name in wanted]
        self._entries = {}
        for bp in breakpoints:  # in the only file in which it counts, or in all that are known
            where = [os.path.realpath(bp.path)] if bp.path else list(self._spelled)
            starts = [(real, line) for real in where for line in ez_files.find_function(real, bp.function or "")]
            self._entries[bp.number] = starts
        await self._tell_changes()
        return [self._bound_function(self._entries[bp.number]) for bp in breakpoints]

    def _bound_function(self, places: list[Place]) -> Bound:
        if any(place not in self._bound for place in places):
            return LATER
        if not any(self._bound[place].verified for place in places):
            return Bound(False)
        return Bound(True, places=tuple({"path": self._spelled.get(real, real), "line": line} for real, line in places))

    async def _set_by_name(self, name: str) -> Bound:
        try:
            answer = await self._conversation.ask("setBreakpoint", function=name)
        except Refused as error:
            return Bound(False, None, str(error))
        self._ids[name] = answer["id"]
        path, line = answer.get("file"), answer.get("line")
        return Bound(True, places=({"path": path, "line": line},) if path and line else ())

    async def _tell_changes(self) -> None:
        """Tell the debugger what has changed, as soon as it can be told."""
        async with self._changing:
            self._is_behind = self._conversation.must_be_silent
            if self._is_behind:
                return
            always = {place for places in self._entries.values() for place in places} | self._everywhere
            always |= {self._visit} if self._visit else set()
            lines = [((real, bp.line), bp.condition) for real, group in self._files.items() for bp in group]
            wanted = {place: condition if self.has_conditions else None for place, condition in lines}
            wanted |= dict.fromkeys(always)
            for place in [place for place in self._held if place not in wanted]:
                self._fading.add(place)
                await self._take_away(place)
                del self._held[place]
            for place, condition in wanted.items():
                if place not in self._held or self._held[place] != condition:
                    self._bound[place] = await self._set_place(place, condition)

    async def catch_up(self) -> dict[int, Bound]:
        """Tell the debugger, now that the program has stopped, what it could not be told; return what came of it."""
        if not self._is_behind:
            return {}
        await self._tell_changes()
        lines = {bp.number: self._bound.get((real, bp.line), LATER) for real in self._files for bp in self._files[real]}
        return lines | {number: self._bound_function(places) for number, places in self._entries.items()}

    async def _set_place(self, place: Place, condition: str | None) -> Bound:
        try:
            answer = await self._ask_at("setBreakpoint", place, **({"condition": condition} if condition else {}))
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
        """Take a breakpoint away: one that the debugger does not know is gone too."""
        with contextlib.suppress(Refused):
            await self._ask_at("clearBreakpoint", place)

    async def _ask_at(self, command: str, place: Place, **more: Any) -> EventData:
        file = self._spelled.get(place[0], place[0])
        return await self._conversation.ask(command, file=file, line=place[1], **more)

    # Places that are there for a moment.

    async def visit(self, path: str, line: int) -> None:
        self.learn_path(path)
        self._visit = (os.path.realpath(path), line)
        await self._tell_changes()

    async def leave(self, path: str, line: int) -> None:
        if self._visit == (os.path.realpath(path), line):
            self._visit = None
            await self._tell_changes()

    async def set_everywhere(self, has_stopped: Callable[[bool], Awaitable[bool]]) -> bool:
        """Set breakpoints so that the program stops wherever it is; say whether there is a place for any.

        The fewer the better: each that is set while the program runs may lock up its debugger. So the likely ones come
        first, `has_stopped` may wait a little after each of those, and where it has none is set any more."""
        found = [(real, *ez_files.likely_lines(real)) for real in list(self._spelled)]
        likely = [(real, line, True) for real, lines, _ in found for line in lines]
        others = [(real, line, False) for real, _, lines in found for line in lines[:5000]]
        for real, line, is_likely in [*likely, *others]:
            async with self._changing:
                self._everywhere.add((real, line))
                if (real, line) not in self._held:
                    self._bound[real, line] = await self._set_place((real, line), None)
            if await has_stopped(is_likely):
                break
        return bool(likely or others)

    async def clear_everywhere(self) -> None:
        if self._everywhere:
            self._everywhere = set()
            await self._tell_changes()

    def numbers_at(self, path: str, line: int, id: int | None = None) -> list[int]:
        place = (os.path.realpath(path), line)
        lines = [bp.number for bp in self._files.get(place[0], []) if bp.line == line]
        begun = [number for number, places in self._entries.items() if place in places]
        named = [bp.number for bp in self._functions if id is not None and self._ids.get(bp.function or "") == id]
        return sorted({*lines, *begun, *named, *([VISIT] if place == self._visit else [])})

    def is_fading(self, path: str, line: int) -> bool:
        place = (os.path.realpath(path), line)
        return place in self._fading or place in self._everywhere

    def went_on(self) -> None:
        self._fading.clear()

    async def hits(self) -> dict[int, int]:
        return {number: rule.hits for number, rule in self.rules.items()}

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        if any(rule.exceptions or rule.condition for rule in rules):
            raise cannot("choose among exceptions", "Leave exceptions and condition out: it stops on all of them")
        if not await self.try_exceptions(rules) and any(rule.filters != UNCAUGHT for rule in rules):
            raise cannot("stop on exceptions", "Set a breakpoint on the line that fails")

    async def try_exceptions(self, rules: list[ExceptionRule]) -> bool:
        """Tell the debugger on which exceptions to stop; say whether it can at all."""
        if not self._conversation.has("exceptionBreakpoints"):
            return False
        filters = {each.replace("user_unhandled", "userUnhandled") for rule in rules for each in rule.filters}
        await self._conversation.require("setExceptionBreakpoints", filters=sorted(filters))
        return True


class WatchedValue(NamedTuple):
    id: int
    wanted: DataBreakpoint
    hits: Count


@dataclass(eq=False)
class EzMemory(NoMemory):
    """Watches values, which few debuggers of this protocol offer; memory itself none of them shows."""

    _refuse: Refuse
    _conversation: Conversation
    _places: Places
    _inspection: EzInspection
    _listener: Listener
    _watched: dict[int, WatchedValue] = field(default_factory=dict)
    """by the session's number"""

    async def set_data_breakpoints(self, frame: int | None, wanted: list[DataBreakpoint]) -> list[Bound]:
        talk = self._conversation
        if not talk.has("dataBreakpoints"):
            raise cannot(*ABSENT["data_breakpoints"])
        numbers = {each.number for each in wanted}
        for number in [number for number in self._watched if number not in numbers]:
            await talk.require("clearDataBreakpoint", id=self._watched.pop(number).id)
        return [Bound(True) if each.number in self._watched else await self._watch_one(frame, each) for each in wanted]

    async def _watch_one(self, frame: int | None, wanted: DataBreakpoint) -> Bound:
        index = self._places.find_frame(frame).index if frame is not None else 0
        what = {"expression": wanted.expression, "access": wanted.access, "frameIndex": index}
        try:
            answer = await self._conversation.ask("setDataBreakpoint", **what)
        except Refused as error:
            return Bound(False, None, str(error))
        self._watched[wanted.number] = WatchedValue(answer["id"], wanted, Count(wanted.hit_condition))
        return Bound(True)

    def on_cleared(self, data: EventData) -> None:
        """Forget a data breakpoint: what it watched has gone."""
        for number, watched in list(self._watched.items()):
            if watched.id == data["id"]:
                del self._watched[number]
                self._listener.on_data_gone(number, "What it watched is gone")

    def number_of(self, halt: Halt) -> int | None:
        """Return the session's number of the data breakpoint for which the program has stopped."""
        return next((number for number, watched in self._watched.items() if watched.id == halt.data_id), None)

    async def wants_stop(self, number: int, frames: Frames) -> bool:
        watched = self._watched[number]
        if watched.wanted.condition:
            judged = await self._inspection.judge(frames, watched.wanted.condition)
            if judged.problem is None and not judged.is_true:
                return False
        return watched.hits.count()
