"""Breakpoints of editors among those of everybody: a client replaces and takes away its own, and nobody else's.

A place has one breakpoint. Editors that want the same there share it; one that wants another waits for those before it.
"""

import asyncio
import contextlib
import os
from typing import Any, Required

import msgspec

from ...answers.documents import SavedBreakpoint, SavedExceptionBreakpoint
from ...errors import RelayError
from ...session.breakpoints.breakpoint_table import Breakpoint, BreakpointItem, number_of
from ...session.breakpoints.exception_breakpoints import ExceptionBreakpoint
from ...session.session import Session
from .dap_shapes import Breakpoint as Checked
from .dap_shapes import ask_session

Owner = object
WAITS = "Another editor has a breakpoint here, with other conditions: yours is set as soon as that one is cleared"


class ShownBreakpoint(SavedBreakpoint, total=False):
    """A breakpoint as the session describes it, or why there is none."""

    id: str
    verified: Required[bool]
    message: str | None
    suggestion: dict[str, Any]


class SharedBreakpoints:
    """Knows which breakpoints of a session belong to which of its editors."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._table = session.debuggee.breakpoints
        self._owners: dict[int, tuple[Breakpoint, set[Owner]]] = {}
        self._waiting: dict[tuple[int, Owner], BreakpointItem] = {}
        """what editors want instead of what others of them have, by its number; first come, first served"""
        self._rules: dict[int, tuple[ExceptionBreakpoint, set[Owner]]] = {}
        self._changing = asyncio.Lock()

    # Lines and functions.

    async def replace_breakpoints(self, owner: Owner, path: str, wanted: list[BreakpointItem]) -> list[ShownBreakpoint]:
        """Replace those of one file, or of functions if there is no path; return the outcomes in their order."""
        path = self._table.resolve_path(path, "source.path") if path else ""
        items: list[BreakpointItem] = [{**item, "path": path} if path else item for item in wanted]
        async with self._changing:
            kept = [self._find_breakpoint(item) for item in items]
            for number, (bp, _) in list(self._owners.items()):
                is_there = (not bp.function and os.path.realpath(path) == bp.key[0]) if path else bool(bp.function)
                if is_there and not any(bp is each for each in kept):
                    await self._let_go(owner, number)
            new = [item for item in items if self._may_place(owner, item)]
            problems = await self._place_breakpoints(owner, new) | await self._refuse_waiting(owner, items)
            return [problems.get(id(item)) or self._placed_outcome(owner, item) for item in items]

    def seen_by(self, owner: Owner, shown: ShownBreakpoint) -> ShownBreakpoint:
        """A breakpoint as one editor is told of it: what it waits for is not there while another is."""
        wanted = self._waiting.get((number_of(shown["id"]), owner))
        is_there = wanted is None or _stop_options(wanted) == _stop_options(shown)
        return shown if is_there else {**shown, "verified": False, "message": WAITS}

    def is_owner(self, owner: Owner, number: int) -> bool:
        return owner in self._owners_of(number)

    def _owners_of(self, number: int) -> set[Owner]:
        """Return the owners of a breakpoint; none, if somebody else has changed it since."""
        bp, owners = self._owners.get(number, (None, set()))
        return owners if bp is not None and self._table.by_number(number) is bp else set()

    def _find_breakpoint(self, item: BreakpointItem) -> Breakpoint | None:
        if path := item.get("path"):
            return self._table.at_line(path, item["line"] or 0)
        functions = (bp for bp in self._table.all() if not bp.path)
        return next((bp for bp in functions if bp.function == item["function"]), None)

    def _may_place(self, owner: Owner, item: BreakpointItem) -> bool:
        """There is none, or one that is its own alone. The same belongs to both from now on; another has to wait."""
        there = self._find_breakpoint(item)
        if there is None:
            return True
        self._waiting.pop((there.number, owner), None)
        owners = self._owners_of(there.number)
        if owners and _is_same(there, item):
            owners.add(owner)
        elif owners == {owner}:
            return True
        elif owners:
            owners.discard(owner)
            self._waiting[there.number, owner] = item
        return False

    async def _refuse_waiting(self, owner: Owner, items: list[BreakpointItem]) -> dict[int, ShownBreakpoint]:
        """Refuse at once what could never be set."""
        problems: dict[int, ShownBreakpoint] = {}
        for key, item in list(self._waiting.items()):
            if key[1] is owner and any(item is each for each in items):
                try:
                    await self._table.check_drafts([item], False, self._session.adapter)
                except RelayError as error:
                    del self._waiting[key]
                    problems[id(item)] = _refused_outcome(item, error)
        return problems

    async def _place_breakpoints(self, owner: Owner, items: list[BreakpointItem]) -> dict[int, ShownBreakpoint]:
        """All in one go, or one by one if something is wrong with one of them: that is told of it alone."""
        with contextlib.suppress(RelayError):
            await self._put_breakpoint(owner, items)
            return {}
        problems: dict[int, ShownBreakpoint] = {}
        for item in items:
            try:
                await self._put_breakpoint(owner, [item])
            except RelayError as error:
                problems[id(item)] = _refused_outcome(item, error)
        return problems

    async def _put_breakpoint(self, owner: Owner, items: list[BreakpointItem]) -> None:
        answer = await ask_session(self._session, "set_breakpoints", items) if items else {}
        for shown in answer.get("breakpoints", ()):
            bp = self._table.find_by_id(shown["id"])
            self._owners[bp.number] = (bp, {owner, *self._take_waiting(bp.number, shown)})

    def _take_waiting(self, number: int, wanted: ShownBreakpoint) -> list[Owner]:
        """Return the owners that have waited for just this breakpoint."""
        others = [(key, item) for key, item in self._waiting.items() if key[0] == number]
        keys = [key for key, item in others if _stop_options(item) == _stop_options(wanted)]
        for key in keys:
            del self._waiting[key]
        return [owner for _, owner in keys]

    def _placed_outcome(self, owner: Owner, item: BreakpointItem) -> ShownBreakpoint:
        bp = self._find_breakpoint(item)
        if bp is None:
            return {"verified": False, "line": item.get("line"), "message": "It has just been removed by somebody else"}
        shown = self.seen_by(owner, msgspec.to_builtins(bp.to_answer()))
        is_waiting = (bp.number, owner) in self._waiting
        if not is_waiting and not self.is_owner(owner, bp.number) and not _is_same(bp, item):
            shown["message"] = f"{bp.id} of the session is here already, with conditions of its own: it stays as it is"
        return shown

    async def _let_go(self, owner: Owner, number: int) -> None:
        self._waiting.pop((number, owner), None)
        owners = self._owners_of(number)
        owners.discard(owner)
        if owners:
            return
        bp, _ = self._owners.pop(number)
        waiting = [key for key in self._waiting if key[0] == number]
        for key in waiting:
            if self._table.by_number(number) is bp:
                with contextlib.suppress(RelayError):
                    await self._put_breakpoint(key[1], [self._waiting[key]])
                    return
            del self._waiting[key]
        if self._table.by_number(number) is bp:
            with contextlib.suppress(RelayError):
                await self._session.method_of("remove_breakpoint")(bp.id)

    # Exceptions.

    async def set_rules(self, owner: Owner, wanted: list[SavedExceptionBreakpoint]) -> list[Checked]:
        """Filters, exceptions and condition of each; what became of them, in their order."""
        keys = [_key_of(item) for item in wanted]
        async with self._changing:
            for number, (rule, owners) in list(self._rules.items()):
                if owner in owners and rule.key not in keys:
                    await self._let_rule_go(owner, number)
            return [await self._set_rule(owner, item) for item in wanted]

    async def _set_rule(self, owner: Owner, item: SavedExceptionBreakpoint) -> Checked:
        known = self._session.debuggee.exception_breakpoints
        there = next((rule for rule in known.all() if rule.key == _key_of(item)), None)
        mine, owners = self._rules.get(there.number, (None, set())) if there else (None, set())
        if there is not None and (mine is not there or owners != {owner}):
            if mine is there:
                owners.add(owner)
            return Checked(verified=True)
        try:
            answer = await ask_session(self._session, "set_exception_breakpoint", **item)
        except RelayError as error:
            return Checked(verified=False, message=error.message)
        rule = known.find_by_id(answer["exception_breakpoint_id"])
        self._rules[rule.number] = (rule, {owner})
        return Checked(verified=True)

    async def _let_rule_go(self, owner: Owner, number: int) -> None:
        rule, owners = self._rules[number]
        owners.discard(owner)
        if owners:
            return
        del self._rules[number]
        if self._session.debuggee.exception_breakpoints.by_number(number) is rule:
            with contextlib.suppress(RelayError):
                await self._session.method_of("remove_exception_breakpoints")(rule.id)

    async def remove_client(self, owner: Owner) -> None:
        """Nothing of it stays that was its alone."""
        async with self._changing:
            waited = {number for number, waiting in self._waiting if waiting is owner}
            for number in [each for each in self._owners if self.is_owner(owner, each) or each in waited]:
                await self._let_go(owner, number)
            for number in [number for number, (_, owners) in self._rules.items() if owner in owners]:
                await self._let_rule_go(owner, number)


def _stop_options(wanted: SavedBreakpoint) -> list[str | None]:
    return [wanted.get("condition") or None, wanted.get("hit_condition") or None, wanted.get("log_message") or None]


def _is_same(bp: Breakpoint, item: BreakpointItem) -> bool:
    there = [bp.condition or None, bp.hit_condition or None, bp.log_message or None]
    return bp.enabled and there == _stop_options(item)


def _refused_outcome(item: BreakpointItem, error: RelayError) -> ShownBreakpoint:
    return {"verified": False, "line": item.get("line"), "message": error.message}


def _key_of(item: SavedExceptionBreakpoint) -> object:
    return ExceptionBreakpoint(tuple(item["filters"]), tuple(item.get("exceptions") or ())).key
