"""On which exceptions a session stops: what clients asked for, and what the launch brought with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..adapters.base import Adapter, ExceptionRule
from ..errors import RelayError
from .conditions import Checker
from .state import LIVE, State

STOP_ON: dict[bool | str, tuple[str, ...]] = {
    False: (),
    "uncaught": ("uncaught",),
    "raised": ("raised",),
    "user_unhandled": ("user_unhandled",),
    "test_failure": ("test_failure",),
    True: ("raised", "uncaught"),
}
"""what the launch option stop_on_exception stands for"""
CONTROL_FLOW = frozenset({"StopIteration", "StopAsyncIteration", "GeneratorExit"})


@dataclass
class ExceptionBreakpoint:
    filters: tuple[str, ...]
    exceptions: tuple[str, ...] = ()
    condition: str | None = None
    from_launch: bool = False
    number: int = 0
    hits: int = 0

    @property
    def id(self) -> str:
        return f"ex_{self.number}"

    @property
    def key(self) -> Any:
        return frozenset(self.filters), frozenset(self.exceptions), self.from_launch

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "filters": list(self.filters),
            "exceptions": list(self.exceptions),
            "condition": self.condition,
            "from_launch": self.from_launch,
            "hit_count": self.hits,
        }

    def for_debugger(self) -> ExceptionRule:
        return ExceptionRule(self.number, self.filters, self.exceptions, self.condition)


class ExceptionTable:
    def __init__(self) -> None:
        self._known: list[ExceptionBreakpoint] = []
        self._last = 0

    def all(self) -> list[ExceptionBreakpoint]:
        return list(self._known)

    def by_number(self, number: int) -> ExceptionBreakpoint | None:
        return next((known for known in self._known if known.number == number), None)

    def find(self, id: str) -> ExceptionBreakpoint:
        for known in self._known:
            if known.id == id:
                return known
        raise RelayError(
            "BREAKPOINT_NOT_FOUND",
            f"Exception breakpoint '{id}' not found",
            breakpoint_id=id,
            suggestion="Use GET /api/v1/sessions/{id}/exception-breakpoints to list exception breakpoints",
        )

    def place(self, draft: ExceptionBreakpoint) -> str:
        """Adds it, or replaces the one for the same exceptions and filters; says which (new or changed)."""
        for index, known in enumerate(self._known):
            if known.key == draft.key:
                draft.number, draft.hits = known.number, known.hits
                self._known[index] = draft
                return "changed"
        self._last += 1
        draft.number = self._last
        self._known.append(draft)
        return "new"

    def remove(self, gone: list[ExceptionBreakpoint]) -> None:
        self._known = [known for known in self._known if known not in gone]

    def copy_from(self, other: ExceptionTable) -> None:
        """The same, with the same ids, and none of its hits."""
        self._known, self._last = [replace(known, hits=0) for known in other._known], other._last

    def use_launch_option(self, choice: bool | str | None) -> None:
        """Left out, it is "uncaught", unless a client has said on which exceptions to stop."""
        self.remove([known for known in self._known if known.from_launch])
        for known in self._known:
            known.hits = 0
        if choice is None:
            choice = False if self._known else "uncaught"
        if STOP_ON[choice]:
            self.place(ExceptionBreakpoint(STOP_ON[choice], from_launch=True))

    def for_debugger(self) -> list[ExceptionRule]:
        return [known.for_debugger() for known in self._known]

    @contextlib.contextmanager
    def unchanged_on_failure(self) -> Iterator[None]:
        before = list(self._known)
        try:
            yield
        except BaseException:
            self._known = before
            raise


def draft_of(item: dict[str, Any], check: Checker) -> ExceptionBreakpoint:
    """One that makes sense; raises for one that does not."""
    condition = item.get("condition")
    if condition is not None:
        problem = check(condition)
        if problem is not None:
            raise RelayError(
                "BREAKPOINT_INVALID_CONDITION",
                f"Condition {condition[:200]!r}: {problem.message}",
                condition=condition[:1000],
                error_message=problem.message,
                offset=problem.offset,
            )
    for name in item.get("exceptions") or []:
        if name.split(".")[-1] in CONTROL_FLOW:
            raise RelayError(
                "NOT_SUPPORTED",
                f"The debugger cannot stop on {name}: Python raises it to end loops, not to report a problem",
                exception=name,
                suggestion="Set a breakpoint on the line that raises it",
            )
    return ExceptionBreakpoint(tuple(item["filters"]), tuple(item.get("exceptions") or ()), condition)


class ExceptionPlacement:
    """Setting, listing and removing them, and telling the debugger and the log about it."""

    def __init__(self, debuggee: Any, adapter: Adapter, changing: asyncio.Lock) -> None:
        self._debuggee = debuggee
        self._adapter = adapter
        self._changing = changing
        self._table: ExceptionTable = debuggee.exceptions

    def exported(self, place: Callable[[str], str]) -> list[dict[str, Any]]:
        """Those that clients asked for: what a launch brings is part of the launch."""
        asked = [known for known in self._table.all() if not known.from_launch]
        return [{name: known.to_dict()[name] for name in ("filters", "exceptions", "condition")} for known in asked]

    async def take_over(self, exported: list[dict[str, Any]]) -> list[str]:
        for item in exported:
            self._table.place(draft_of(item, self._adapter.check_expression))
        return []

    async def put(self, filters: list[str], **wishes: Any) -> dict[str, Any]:
        draft = draft_of({"filters": filters, **wishes}, self._adapter.check_expression)
        async with self._changing:
            with self._table.unchanged_on_failure():
                reason = self._table.place(draft)
                await self.send()
        self.announce(draft, reason)
        return {"exception_breakpoint_id": draft.id, **self._listed([draft])}

    def listed(self) -> dict[str, Any]:
        known = self._table.all()
        return {**self._listed(known), "total": len(known)}

    def _listed(self, shown: list[ExceptionBreakpoint]) -> dict[str, Any]:
        active = {filter for known in self._table.all() for filter in known.filters}
        return {"exception_breakpoints": [each.to_dict() for each in shown], "filters": sorted(active)}

    async def remove(self, id: str | None = None) -> dict[str, Any]:
        async with self._changing:
            gone = self._table.all() if id is None else [self._table.find(id)]
            with self._table.unchanged_on_failure():
                self._table.remove(gone)
                await self.send()
        for each in gone:
            self.announce(each, "removed")
        return {"deleted": True, "removed": [each.id for each in gone]}

    async def send(self) -> None:
        if self._debuggee.state in LIVE:
            await self._adapter.set_exceptions(self._table.for_debugger())

    def announce(self, each: ExceptionBreakpoint, reason: str) -> None:
        self._debuggee.log.add("exception_breakpoint", {"reason": reason, "exception_breakpoint": each.to_dict()})

    def for_launch(self, choice: bool | str | None = None) -> list[ExceptionRule]:
        self._table.use_launch_option(choice)
        return self._table.for_debugger()

    def forget_launch(self) -> None:
        """It came to nothing."""
        if self._debuggee.state is State.CREATED:
            self._table.use_launch_option(False)
