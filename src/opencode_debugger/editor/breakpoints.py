"""Breakpoints of editors among those of everybody: a client replaces and takes away its own, and nobody else's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from ..core.breakpoints import Breakpoint
from ..core.exception_breakpoints import ExceptionBreakpoint
from ..core.session import Session
from ..errors import RelayError

HOW = ("condition", "hit_condition", "log_message")
Item = dict[str, Any]
"""a breakpoint as it is set: path and line, or function, and how"""
Owner = object


class Shared:
    """Which breakpoints of a session belong to which of its editors."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._table = session.debuggee.breakpoints
        self._owners: dict[int, tuple[Breakpoint, set[Owner]]] = {}
        self._rules: dict[int, tuple[ExceptionBreakpoint, set[Owner]]] = {}

    # Lines and functions.

    async def replace(self, owner: Owner, path: str, wanted: list[Item]) -> list[Item]:
        """Those of one file; of functions if there is no path. What became of each, in their order."""
        path = self._table.resolve(path, "source.path") if path else ""
        items = [{**item, "path": path} if path else item for item in wanted]
        await self._drop(owner, path, items)
        new = [item for item in items if self._may_place(owner, item)]
        problems = await self._place(owner, new)
        return [problems.get(id(item)) or self._outcome(owner, item) for item in items]

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
        """There is none, or one that is its own alone. One that is the same belongs to both from now on."""
        there = self._find(item)
        if there is None:
            return True
        owners = self._of(there.number)
        if owners and _is_same(there, item):
            owners.add(owner)
        return owners == {owner} and not _is_same(there, item)

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
            self._owners[bp.number] = (bp, {owner})

    def _outcome(self, owner: Owner, item: Item) -> Item:
        bp = self._find(item)
        if bp is None:
            return {"verified": False, "line": item.get("line"), "message": "It has just been removed by somebody else"}
        shown = bp.to_dict()
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
        owners = self._of(number)
        owners.discard(owner)
        if owners:
            return
        bp, _ = self._owners.pop(number)
        if self._table.by_number(number) is bp:
            with contextlib.suppress(RelayError):
                await self._session.operations["remove_breakpoint"](bp.id)

    # Exceptions.

    async def set_rules(self, owner: Owner, wanted: list[Item]) -> list[Item]:
        """Filters, exceptions and condition of each; what became of them, in their order."""
        keys = [_key(item) for item in wanted]
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
        steps: list[tuple[Callable[[Owner, int], Any], list[int]]] = [
            (self._let_go, [number for number in self._owners if self.is_owner(owner, number)]),
            (self._let_rule_go, [number for number, (_, owners) in self._rules.items() if owner in owners]),
        ]
        for let_go, numbers in steps:
            for number in numbers:
                await let_go(owner, number)


def _is_same(bp: Breakpoint, item: Item) -> bool:
    return bp.enabled and all((getattr(bp, name) or None) == (item.get(name) or None) for name in HOW)


def _key(item: Item) -> Any:
    return ExceptionBreakpoint(tuple(item["filters"]), tuple(item.get("exceptions") or ())).key


def _refused(item: Item, error: RelayError) -> Item:
    return {"verified": False, "line": item.get("line"), "message": error.message}
