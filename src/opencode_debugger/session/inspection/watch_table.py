"""Watches: expressions of a session whose values every stop report has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...answers import inspection as answers
from ...answers.inspection import WatchesRemoved, WatchList, WatchValue
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.states import State
from ..execution.stops import Stop
from ..lifecycle.debuggee import Debuggee
from ..shared_control.attention import is_remembered
from .paused_program import in_frame

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter
    from ...debuggers.rows import WatchRow

MOST_WATCHES = 50
REMEMBERED_THREADS = 100
"""Threads whose last report is remembered, here and for stop reports."""
LIST_BUDGET = 50_000


class LastReport(NamedTuple):
    """The last report of a thread: its stop and the value that it showed."""

    stop: Stop
    said: str
    before: str | None
    """the value in the report of the stop before that"""


@dataclass
class Watch:
    id: str
    expression: str
    name: str
    has_side_effects: bool
    seen: dict[int, LastReport] = field(default_factory=dict)
    """the last report of each thread"""

    def to_answer(self) -> answers.Watch:
        """Describe the watch with what its expression may do, since it is evaluated at each stop."""
        effects = self.has_side_effects
        return answers.Watch(watch_id=self.id, expression=self.expression, name=self.name, has_side_effects=effects)

    def with_value(self, row: WatchRow) -> WatchValue:
        return self._value_of(row, has_side_effects=self.has_side_effects)

    def report_row(self, stop: Stop, row: WatchRow) -> WatchValue:
        """Return the row of a report, marked when it says something else than at the last stop.

        A row for somebody who may only read says less, and is not what the next report is compared with."""
        effects = {"has_side_effects": True} if self.has_side_effects else {}
        if not is_remembered():
            return self._value_of(row, **effects)
        said = row["value"] if "value" in row else row["error"]
        last = self.seen.pop(stop.thread_id, None)
        while len(self.seen) >= REMEMBERED_THREADS:
            del self.seen[next(iter(self.seen))]
        before = None if last is None else last.before if last.stop is stop else last.said
        self.seen[stop.thread_id] = LastReport(stop, said, before)
        if before is not None and before != said:
            return self._value_of(row, **effects, changed=True, old=before)
        return self._value_of(row, **effects)

    def _value_of(self, row: WatchRow, **more: Any) -> WatchValue:
        named = {"watch_id": self.id, "name": self.name, "expression": self.expression}
        return msgspec.convert({**row, **named, **more}, WatchValue)


@dataclass(eq=False)
class Watches:
    """The watches of a session, not of a run of its program: a restart keeps them."""

    _debuggee: Debuggee
    _adapter: Adapter
    _watches: dict[str, Watch] = field(default_factory=dict)
    _made: int = 0

    @property
    def expressions(self) -> list[str]:
        return [watch.expression for watch in self._watches.values()]

    def export_watches(self, place: Callable[[str], str]) -> list[dict[str, str]]:
        return [{"expression": watch.expression, "name": watch.name} for watch in self._watches.values()]

    async def take_over(self, exported: list[dict[str, str]]) -> list[str]:
        for item in exported:
            self._add_or_rename(item["expression"], item.get("name"))
        return []

    async def add_watch(self, expression: str, name: str | None = None) -> WatchValue:
        """Add a watch; the same expression again is the same watch. While the program is paused its value comes with
        it."""
        watch = self._add_or_rename(expression, name)
        try:
            return (await self._evaluate_watches([watch], 0, None))[0]
        except RelayError as error:  # it has been added all the same
            return watch.with_value({"error": error.message} if self._is_paused else {})

    @property
    def _is_paused(self) -> bool:
        return self._debuggee.state is State.PAUSED

    def _add_or_rename(self, expression: str, name: str | None) -> Watch:
        expression = expression.strip()
        problem = self._adapter.inspection.check_expression(expression)
        if problem is not None:
            hint = "Correct the expression and send it again: a watch takes expressions, no statements"
            bare = problem.message.removeprefix("SyntaxError: ")
            wrong: dict[str, Any] = {"expression": expression[:1000], "error_message": bare, "offset": problem.offset}
            raise RelayError("EVALUATE_ERROR", problem.message, **wrong, suggestion=hint)
        known = next((watch for watch in self._watches.values() if watch.expression == expression), None)
        if known is not None:
            known.name = name or known.name
            return known
        if len(self._watches) >= MOST_WATCHES:
            hint = advice("Remove one with {remove_watch watch_id=?}")
            raise RelayError("INVALID_REQUEST", f"A session has at most {MOST_WATCHES} watches", suggestion=hint)
        self._made += 1
        effects = self._adapter.inspection.has_side_effects(expression)
        watch = Watch(f"w_{self._made}", expression, name or expression[:100], effects)
        self._watches[watch.id] = watch
        return watch

    async def list_watches(self, frame_id: int | None = None, thread_id: int | None = None) -> WatchList:
        """List them, with their values in a frame if the program is paused."""
        watches = list(self._watches.values())
        shown = [watch.with_value({}) for watch in watches]
        if watches and self._is_paused:
            try:
                shown = await self._evaluate_watches(watches, frame_id, thread_id)
            except RelayError:
                if self._is_paused:
                    raise  # else another client has resumed it: they have no values now
        return WatchList(watches=shown, total=len(shown), session_status=str(self._debuggee.state))

    def list_with(self, evaluate: Callable[[str], WatchRow]) -> WatchList:
        """List them with the values that somebody else finds."""
        shown = [watch.with_value(evaluate(watch.expression)) for watch in self._watches.values()]
        return WatchList(watches=shown, total=len(shown), session_status=str(self._debuggee.state))

    async def _evaluate_watches(
        self, watches: list[Watch], frame_id: int | None, thread_id: int | None
    ) -> list[WatchValue]:
        async with in_frame(self._debuggee, "evaluate", frame_id, thread_id) as (adapter, frame):
            rows = await adapter.inspection.watch(frame, [watch.expression for watch in watches], LIST_BUDGET)
        return [watch.with_value(row) for watch, row in zip(watches, rows, strict=True)]

    def remove_watch(self, watch_id: str) -> WatchesRemoved:
        watch = self._watches.pop(watch_id, None)
        if watch is None:
            raise RelayError("WATCH_NOT_FOUND", f"Watch '{watch_id[:100]}' does not exist", watch_id=watch_id[:100])
        return WatchesRemoved(removed=[watch.to_answer()], total=len(self._watches))

    def clear_watches(self) -> WatchesRemoved:
        removed = [watch.to_answer() for watch in self._watches.values()]
        self._watches.clear()
        return WatchesRemoved(removed=removed, total=0)

    def report_rows(self, stop: Stop, asked: list[str], rows: list[WatchRow]) -> list[WatchValue]:
        """Return the rows of a report from answers to what was asked, without watches that were removed meanwhile."""
        answers = dict(zip(asked, rows, strict=True))
        there = [watch for watch in self._watches.values() if watch.expression in answers]
        return [watch.report_row(stop, answers[watch.expression]) for watch in there]
