"""Breakpoints on exceptions: those that clients asked for, and those that the launch brought with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from ...answers import breakpoints as answers
from ...answers.documents import SavedExceptionBreakpoint
from ...debuggers.shapes import ExceptionRule
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.event_kinds import EventKind
from ...operations.states import LIVE
from .conditions import Checker, bad_condition

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter
    from ..lifecycle.debuggee import Debuggee

STOP_ON: dict[bool | str, tuple[str, ...]] = {
    **{name: (name,) for name in ("uncaught", "raised", "user_unhandled", "test_failure")},
    False: (),
    True: ("raised", "uncaught"),
}
"""Filters that each value of the launch option stop_on_exception stands for."""
CONTROL_FLOW = frozenset({"StopIteration", "StopAsyncIteration", "GeneratorExit"})


@dataclass
class ExceptionBreakpoint:
    filters: tuple[str, ...]
    exceptions: tuple[str, ...] = ()
    condition: str | None = None
    from_launch: bool = False
    number: int = 0
    hit_count: int = 0

    @property
    def id(self) -> str:
        return f"ex_{self.number}"

    @property
    def key(self) -> tuple[frozenset[str], frozenset[str], bool]:
        return frozenset(self.filters), frozenset(self.exceptions), self.from_launch

    def to_answer(self) -> answers.ExceptionBreakpoint:
        return msgspec.convert(self, answers.ExceptionBreakpoint, from_attributes=True)


class ExceptionBreakpointTable:
    def __init__(self) -> None:
        self._known: list[ExceptionBreakpoint] = []
        self._last = 0

    def all(self) -> list[ExceptionBreakpoint]:
        return list(self._known)

    def by_number(self, number: int) -> ExceptionBreakpoint | None:
        return next((known for known in self._known if known.number == number), None)

    def find_by_id(self, id: str) -> ExceptionBreakpoint:
        for known in self._known:
            if known.id == id:
                return known
        message = f"Exception breakpoint '{id}' not found"
        suggestion = advice("Use {/list_exception_breakpoints} to list exception breakpoints")
        raise RelayError("BREAKPOINT_NOT_FOUND", message, breakpoint_id=id, suggestion=suggestion)

    def add_or_replace(self, draft: ExceptionBreakpoint) -> str:
        """Add one, or replace the one for the same exceptions and filters; return which (new or changed)."""
        for index, known in enumerate(self._known):
            if known.key == draft.key:
                draft.number, draft.hit_count = known.number, known.hit_count
                self._known[index] = draft
                return "changed"
        self._last += 1
        draft.number = self._last
        self._known.append(draft)
        return "new"

    def remove_breakpoints(self, gone: list[ExceptionBreakpoint]) -> None:
        self._known = [known for known in self._known if known not in gone]

    def copy_from(self, other: ExceptionBreakpointTable) -> None:
        """Take the same breakpoints with the same ids, not hit yet."""
        self._known, self._last = [replace(known, hit_count=0) for known in other._known], other._last

    def use_launch_option(self, choice: bool | str | None) -> None:
        """Put in what the launch option stands for. Left out, it is "uncaught", unless a client has set some."""
        self.remove_breakpoints([known for known in self._known if known.from_launch])
        for known in self._known:
            known.hit_count = 0
        if choice is None:
            choice = False if self._known else "uncaught"
        if STOP_ON[choice]:
            self.add_or_replace(ExceptionBreakpoint(STOP_ON[choice], from_launch=True))

    def used_filters(self) -> list[str]:
        return sorted({filter for known in self._known for filter in known.filters})

    def for_debugger(self) -> list[ExceptionRule]:
        return [ExceptionRule(each.number, each.filters, each.exceptions, each.condition) for each in self._known]

    @contextlib.contextmanager
    def unchanged_on_failure(self) -> Iterator[None]:
        before = list(self._known)
        try:
            yield
        except BaseException:
            self._known = before
            raise


def make_exception_draft(item: SavedExceptionBreakpoint, check: Checker) -> ExceptionBreakpoint:
    """Return a draft that makes sense; raise for one that does not."""
    condition, exceptions = item.get("condition"), item.get("exceptions") or []
    if condition is not None and (problem := check(condition)) is not None:
        raise bad_condition(condition, problem.message, offset=problem.offset)
    for name in exceptions:
        if name.split(".")[-1] in CONTROL_FLOW:
            message = f"The debugger cannot stop on {name}: Python raises it to end loops, not to report a problem"
            suggestion = "Set a breakpoint on the line that raises it"
            raise RelayError("NOT_SUPPORTED", message, exception=name, suggestion=suggestion)
    return ExceptionBreakpoint(tuple(item["filters"]), tuple(exceptions), condition)


@contextlib.asynccontextmanager
async def all_or_nothing(
    unchanged: contextlib.AbstractContextManager[None], send: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Leave a table, and as far as it can be told the debugger, as they were if something fails."""
    try:
        with unchanged:
            yield
    except BaseException:
        with contextlib.suppress(RelayError):
            await send()
        raise


@dataclass
class ExceptionPlacement:
    """Sets, lists and removes them, and tells the debugger and the log about it."""

    _debuggee: Debuggee
    _adapter: Adapter
    _changing: asyncio.Lock

    @property
    def _table(self) -> ExceptionBreakpointTable:
        return self._debuggee.exception_breakpoints

    def make_draft(self, item: SavedExceptionBreakpoint) -> ExceptionBreakpoint:
        return make_exception_draft(item, self._adapter.inspection.check_expression)

    def export_breakpoints(self, place: Callable[[str], str]) -> list[SavedExceptionBreakpoint]:
        """Return those that clients asked for: what a launch brings is part of the launch."""
        return [
            {"filters": list(each.filters), "exceptions": list(each.exceptions), "condition": each.condition}
            for each in self._table.all() if not each.from_launch
        ]

    async def take_over(self, exported: list[SavedExceptionBreakpoint]) -> list[str]:
        for item in exported:
            self._table.add_or_replace(self.make_draft(item))
        return []

    async def set_exception_breakpoint(
        self, filters: list[str], exceptions: list[str] | None = None, condition: str | None = None
    ) -> answers.ExceptionBreakpointSet:
        draft = self.make_draft({"filters": filters, "exceptions": exceptions, "condition": condition})
        async with self._changing:
            with self._table.unchanged_on_failure():
                reason = self._table.add_or_replace(draft)
                await self.send_to_debugger()
        self.log_change(draft, reason)
        return answers.ExceptionBreakpointSet(
            exception_breakpoint_id=draft.id, exception_breakpoints=[draft.to_answer()],
            filters=self._table.used_filters(),
        )

    def list_exception_breakpoints(self) -> answers.ExceptionBreakpointList:
        known, filters = [each.to_answer() for each in self._table.all()], self._table.used_filters()
        return answers.ExceptionBreakpointList(exception_breakpoints=known, filters=filters, total=len(known))

    async def remove_exception_breakpoints(self, id: str | None = None) -> answers.ExceptionBreakpointsRemoved:
        async with self._changing:
            gone = self._table.all() if id is None else [self._table.find_by_id(id)]
            with self._table.unchanged_on_failure():
                self._table.remove_breakpoints(gone)
                await self.send_to_debugger()
        for each in gone:
            self.log_change(each, "removed")
        return answers.ExceptionBreakpointsRemoved(deleted=True, removed=[each.id for each in gone])

    def all_or_nothing(self) -> contextlib.AbstractAsyncContextManager[None]:
        return all_or_nothing(self._table.unchanged_on_failure(), self.send_to_debugger)

    async def send_to_debugger(self) -> None:
        if self._debuggee.state in LIVE:
            await self._adapter.breakpoints.set_exceptions(self._table.for_debugger())

    def log_change(self, each: ExceptionBreakpoint, reason: str) -> None:
        body = {"reason": reason, "exception_breakpoint": msgspec.to_builtins(each.to_answer())}
        self._debuggee.log.add(EventKind.EXCEPTION_BREAKPOINT, body)

    def begin_launch(self, choice: bool | str | None = None) -> list[ExceptionRule]:
        self._table.use_launch_option(choice)
        return self._table.for_debugger()
