"""Breakpoints of editors among those of everybody: a client replaces and takes away its own, and nobody else's.

A place has one breakpoint. Editors that want the same there share it; one that wants another waits for those before it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any

from ..core.breakpoints import Breakpoint
from ..core.exception_breakpoints import ExceptionBreakpoint
from ..core.session import Session
from ..errors import RelayError
from .shapes import number_of

HOW = ("condition", "hit_condition", "log_message")
Item = dict[str, Any]
"""a breakpoint as it is set: path and line, or function, and how"""
Owner = object
WAITS = "Another editor has a breakpoint here, with other conditions: yours is set as soon as that one is cleared"


class Shared:
    """Which breakpoints of a session belong to which of its editors."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._table = session.debuggee.breakpoints
        self._owners: dict[int, tuple[Breakpoint, set[Owner]]] = {}
        self._waiting: dict[tuple[int, Owner], Item] = {}
        """what editors want instead of what others of them have, by its number; first come, first served"""
        self._rules: dict[int, tuple[ExceptionBreakpoint, set[Owner]]] = {}
        self._changing = asyncio.Lock()

    # Lines and functions.

    async def replace(self, owner: Owner, path: str, wanted: list[Item]) -> list[Item]:
        """Those of one file; of functions if there is no path. What became of each, in their order."""
        path = self._table.resolve(path, "source.path") if path else ""
        items = [{**item, "path": path} if path else item for item in wanted]
        async with self._changing:
            await self._drop(owner, path, items)
            new = [item for item in items if self._may_place(owner, item)]
            problems = await self._place(owner, new) | await self._refuse_waiting(owner, items)
            return [problems.get(id(item)) or self._outcome(owner, item) for item in items]

    def seen_by(self, owner: Owner, shown: Item) -> Item:
        """A breakpoint as one editor is told of it: what it waits for is not there while another is."""
        wanted = self._waiting.get((number_of(shown["id"]), owner))
        is_there = wanted is None or _how(wanted) == _how(shown)
        return shown if is_there else {**shown, "verified": False, "message": WAITS}

    def is_owner(self, owner: Owner, number: int) -> bool:
        return owner in self._of(number)

    def _of(self, number: int) -> set[Owner]:
        """Nobody's, if somebody else has changed it since."""
        bp, owners = self._owners.get(number, (None, set()))
        return owners if bp is not None and self._table.by_number(number) is bp else set()

    def _find(self, item: Item) -> Breakpoint | None:
        if "path" in item:
            return self._table.at(item["path"], item["line"])
        functions = (bp for bp in self._table.all() if not bp.path)
        return next((bp for bp in functions if bp.function == item["function"]), None)

    def _may_place(self, owner: Owner, item: Item) -> bool:
        """There is none, or one that is its own alone. The same belongs to both from now on; another has to wait."""
        there = self._find(item)
        if there is None:
            return True
        self._waiting.pop((there.number, owner), None)
        owners = self._of(there.number)
        if owners and _is_same(there, item):
            owners.add(owner)
        elif owners == {owner}:
            return True
        elif owners:
            owners.discard(owner)
            self._waiting[there.number, owner] = item
        return False

    async def _refuse_waiting(self, owner: Owner, items: list[Item]) -> dict[int, Item]:
        """What could never be set is told at once."""
        problems: dict[int, Item] = {}
        for key, item in list(self._waiting.items()):
            if key[1] is owner and any(item is each for each in items):
                try:
                    await self._table.check([item], False, self._session.adapter)
                except RelayError as error:
                    del self._waiting[key]
                    problems[id(item)] = _refused(item, error)
        return problems

    async def _place(self, owner: Owner, items: list[Item]) -> dict[int, Item]:
        """All in one go, or one by one if something is wrong with one of them: that is told of it alone."""
        with contextlib.suppress(RelayError):
            await self._put(owner, items)
            return {}
        problems: dict[int, Item] = {}
        for item in items:
            try:
                await self._put(owner, [item])
            except RelayError as error:
                problems[id(item)] = _refused(item, error)
        return problems

    async def _put(self, owner: Owner, items: list[Item]) -> None:
        answer = await self._session.operations["set_breakpoints"](items) if items else {}
        for shown in answer.get("breakpoints", ()):
            bp = self._table.find(shown["id"])
            self._owners[bp.number] = (bp, {owner, *self._take_waiting(bp.number, shown)})

    def _take_waiting(self, number: int, wanted: Item) -> list[Owner]:
        """Those that have waited for just that."""
        keys = [key for key, item in self._waiting.items() if key[0] == number and _how(item) == _how(wanted)]
        for key in keys:
            del self._waiting[key]
        return [owner for _, owner in keys]

    def _outcome(self, owner: Owner, item: Item) -> Item:
        bp = self._find(item)
        if bp is None:
            return {"verified": False, "line": item.get("line"), "message": "It has just been removed by somebody else"}
        shown = self.seen_by(owner, bp.to_dict())
        if (bp.number, owner) in self._waiting:
            return shown
        if not self.is_owner(owner, bp.number) and not _is_same(bp, item):
            shown["message"] = f"{bp.id} of the session is here already, with conditions of its own: it stays as it is"
        return shown

    async def _drop(self, owner: Owner, path: str, wanted: list[Item]) -> None:
        kept = [self._find(item) for item in wanted]
        for number, (bp, _) in list(self._owners.items()):
            is_there = (not bp.function and os.path.realpath(path) == bp.key[0]) if path else bool(bp.function)
            if is_there and not any(bp is each for each in kept):
                await self._let_go(owner, number)

    async def _let_go(self, owner: Owner, number: int) -> None:
        self._waiting.pop((number, owner), None)
        owners = self._of(number)
        owners.discard(owner)
        if owners:
            return
        bp, _ = self._owners.pop(number)
        waiting = [key for key in self._waiting if key[0] == number]
        for key in waiting:
            if self._table.by_number(number) is bp:
                with contextlib.suppress(RelayError):
                    await self._put(key[1], [self._waiting[key]])
                    return
            del self._waiting[key]
        if self._table.by_number(number) is bp:
            with contextlib.suppress(RelayError):
                await self._session.operations["remove_breakpoint"](bp.id)

    # Exceptions.

    async def set_rules(self, owner: Owner, wanted: list[Item]) -> list[Item]:
        """Filters, exceptions and condition of each; what became of them, in their order."""
        keys = [_key(item) for item in wanted]
        async with self._changing:
            for number, (rule, owners) in list(self._rules.items()):
                if owner in owners and rule.key not in keys:
                    await self._let_rule_go(owner, number)
            return [await self._set_rule(owner, item) for item in wanted]

    async def _set_rule(self, owner: Owner, item: Item) -> Item:
        known = self._session.debuggee.exceptions
        there = next((rule for rule in known.all() if rule.key == _key(item)), None)
        mine, owners = self._rules.get(there.number, (None, set())) if there else (None, set())
        if there is not None and (mine is not there or owners != {owner}):
            if mine is there:
                owners.add(owner)
            return {"verified": True}
        try:
            answer = await self._session.operations["set_exception_breakpoint"](**item)
        except RelayError as error:
            return {"verified": False, "message": error.message}
        rule = known.find(answer["exception_breakpoint_id"])
        self._rules[rule.number] = (rule, {owner})
        return {"verified": True}

    async def _let_rule_go(self, owner: Owner, number: int) -> None:
        rule, owners = self._rules[number]
        owners.discard(owner)
        if owners:
            return
        del self._rules[number]
        if self._session.debuggee.exceptions.by_number(number) is rule:
            with contextlib.suppress(RelayError):
                await self._session.operations["remove_exception_breakpoints"](rule.id)

    async def leave(self, owner: Owner) -> None:
        """Nothing of it stays that was its alone."""
        async with self._changing:
            for number in [number for number in self._owners if self._concerns(owner, number)]:
                await self._let_go(owner, number)
            for number in [number for number, (_, owners) in self._rules.items() if owner in owners]:
                await self._let_rule_go(owner, number)

    def _concerns(self, owner: Owner, number: int) -> bool:
        return self.is_owner(owner, number) or (number, owner) in self._waiting


def _how(wanted: Item) -> list[str | None]:
    return [wanted.get(name) or None for name in HOW]


def _is_same(bp: Breakpoint, item: Item) -> bool:
    return bp.enabled and _how(bp.to_dict()) == _how(item)


def _key(item: Item) -> Any:
    return ExceptionBreakpoint(tuple(item["filters"]), tuple(item.get("exceptions") or ())).key


def _refused(item: Item, error: RelayError) -> Item:
    return {"verified": False, "line": item.get("line"), "message": error.message}
