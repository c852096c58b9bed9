"""Watches: expressions of a session whose values every stop report has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..adapters.base import Adapter
from ..adapters.permission import may_run
from ..errors import RelayError
from .debuggee import Debuggee
from .inspection import in_frame
from .state import State
from .stops import Stop

MOST = 50
THREADS = 100
"""of which it is known what the last report said, here and in report"""
LIST_BUDGET = 50_000
SHOWN = ("value", "type", "variables_reference", "named_variables", "indexed_variables", "length", "truncated", "error")


class Seen(NamedTuple):
    """What the last report of a thread said."""

    stop: Stop
    said: str
    before: str | None
    """what the report of the stop before that said"""


@dataclass
class Watch:
    id: str
    expression: str
    name: str
    has_side_effects: bool
    seen: dict[int, Seen] = field(default_factory=dict)
    """by thread"""

    def to_dict(self) -> dict[str, Any]:
        """What the expression may do is told with it: it is evaluated at each stop."""
        return {
            "watch_id": self.id,
            "expression": self.expression,
            "name": self.name,
            "has_side_effects": self.has_side_effects,
        }

    def look(self, stop: Stop, row: dict[str, Any]) -> dict[str, Any]:
        """The row of a report: marked when it says something else than at the last stop.

        What is shown to somebody who may only read says less, and is not what the next report is held against."""
        if not may_run.get():
            return self.row(row)
        said = row["value"] if "value" in row else row["error"]
        last = self.seen.pop(stop.thread_id, None)
        while len(self.seen) >= THREADS:
            del self.seen[next(iter(self.seen))]
        before = None if last is None else last.before if last.stop is stop else last.said
        self.seen[stop.thread_id] = Seen(stop, said, before)
        if before is not None and before != said:
            return {**self.row(row), "changed": True, "old": before}
        return self.row(row)

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        shown = {name: row[name] for name in SHOWN if name in row}
        more = {"has_side_effects": True} if self.has_side_effects else {}
        return {"watch_id": self.id, "name": self.name, "expression": self.expression, **shown, **more}


class Watches:
    """They belong to the session, not to a run of its program: a restart keeps them."""

    def __init__(self, debuggee: Debuggee, adapter: Adapter) -> None:
        self._debuggee = debuggee
        self._adapter = adapter
        self._watches: dict[str, Watch] = {}
        self._made = 0

    @property
    def expressions(self) -> list[str]:
        return [watch.expression for watch in self._watches.values()]

    def exported(self, place: Callable[[str], str]) -> list[dict[str, str]]:
        return [{"expression": watch.expression, "name": watch.name} for watch in self._watches.values()]

    async def take_over(self, exported: list[dict[str, str]]) -> list[str]:
        for item in exported:
            self._put(item["expression"], item.get("name"))
        return []

    async def add(self, expression: str, name: str | None = None) -> dict[str, Any]:
        """The same expression again is the same watch. While the program is paused its value comes with it."""
        watch = self._put(expression, name)
        try:
            return {**watch.to_dict(), **(await self._values([watch], 0, None))[0]}
        except RelayError as error:  # it has been added all the same
            return {**watch.to_dict(), **({"error": error.message} if self._is_paused else {})}

    @property
    def _is_paused(self) -> bool:
        return self._debuggee.state is State.PAUSED

    def _put(self, expression: str, name: str | None) -> Watch:
        expression = expression.strip()
        problem = self._adapter.check_expression(expression)
        if problem is not None:
            raise RelayError(
                "EVALUATE_ERROR",
                problem.message,
                expression=expression[:1000],
                error_message=problem.message.removeprefix("SyntaxError: "),
                offset=problem.offset,
                suggestion="Correct the expression and send it again: a watch takes expressions, no statements",
            )
        known = next((watch for watch in self._watches.values() if watch.expression == expression), None)
        if known is not None:
            known.name = name or known.name
            return known
        if len(self._watches) >= MOST:
            raise RelayError(
                "INVALID_REQUEST",
                f"A session has at most {MOST} watches",
                suggestion="Remove one with DELETE /sessions/{id}/watch/{watch_id}",
            )
        self._made += 1
        effects = self._adapter.has_side_effects(expression)
        watch = Watch(f"w_{self._made}", expression, name or expression[:100], effects)
        self._watches[watch.id] = watch
        return watch

    async def listed(self, frame_id: int | None = None, thread_id: int | None = None) -> dict[str, Any]:
        """With their values in a frame, if the program is paused."""
        watches = list(self._watches.values())
        shown = [watch.to_dict() for watch in watches]
        if watches and self._is_paused:
            try:
                values = await self._values(watches, frame_id, thread_id)
                shown = [{**one, **value} for one, value in zip(shown, values, strict=True)]
            except RelayError:
                if self._is_paused:
                    raise  # else another client has resumed it: they have no values now
        return {"watches": shown, "total": len(shown), "session_status": str(self._debuggee.state)}

    async def _values(self, watches: list[Watch], frame_id: int | None, thread_id: int | None) -> list[dict[str, Any]]:
        async with in_frame(self._debuggee, "evaluate", frame_id, thread_id) as (adapter, frame):
            rows = await adapter.watch(frame, [watch.expression for watch in watches], LIST_BUDGET)
        return [watch.row(row) for watch, row in zip(watches, rows, strict=True)]

    def remove(self, watch_id: str) -> dict[str, Any]:
        watch = self._watches.pop(watch_id, None)
        if watch is None:
            raise RelayError("WATCH_NOT_FOUND", f"Watch '{watch_id[:100]}' does not exist", watch_id=watch_id[:100])
        return {"removed": [watch.to_dict()], "total": len(self._watches)}

    def clear(self) -> dict[str, Any]:
        removed = [watch.to_dict() for watch in self._watches.values()]
        self._watches.clear()
        return {"removed": removed, "total": 0}

    def look(self, stop: Stop, asked: list[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """For a report: what was asked has been answered; a watch that was removed meanwhile is left out."""
        answers = dict(zip(asked, rows, strict=True))
        there = [watch for watch in self._watches.values() if watch.expression in answers]
        return [watch.look(stop, answers[watch.expression]) for watch in there]
