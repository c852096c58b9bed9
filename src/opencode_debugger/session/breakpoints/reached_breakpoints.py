"""The breakpoints of a program as its debugger tells of them: where they are, which were hit, missed or failed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.machine import DataBreakpointItem
from ...debuggers.shapes import Bound, DataBreakpoint, DataHit, Frames, StopEvent
from ...operations.advice import advice
from ...operations.event_kinds import EventKind
from ..execution.stops import frame_path
from ..log.event_log import EventLog
from . import conditions
from .breakpoint_table import Breakpoint, BreakpointTable
from .exception_breakpoints import ExceptionBreakpointTable
from .source_files import FileChanges

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter
    from ...debuggers.rows import ExceptionRow

SHOWN = 3
NOT_DEBUGGED = ". Processes that it started were not debugged: launch with debug_subprocesses to stop in them too"
NOT_FOLLOWED = ". Python programs that are started with a PYTHONPATH of their own, or with -I, -E or -S, run freely"


@dataclass
class WatchedValue:
    """A value that is watched by the debugger."""

    number: int
    expression: str
    access: str
    condition: str | None = None
    hit_condition: str | None = None
    hit_count: int = 0
    message: str | None = None

    @property
    def id(self) -> str:
        return f"dbp_{self.number}"

    def for_debugger(self) -> DataBreakpoint:
        hit = conditions.parse_hit_condition(self.hit_condition) if self.hit_condition else None
        return DataBreakpoint(self.number, self.expression, self.access, self.condition, hit)

    def to_answer(self) -> DataBreakpointItem:
        return msgspec.convert(self, DataBreakpointItem, from_attributes=True)


class DataBreakpointTable:
    """Keeps the data breakpoints of a program."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.known: dict[int, WatchedValue] = {}
        self._last = 0

    def make_draft(self, **wishes: Any) -> WatchedValue:
        """Make one that is not in the table yet."""
        return WatchedValue(self._last + 1, **wishes)

    def add_breakpoint(self, draft: WatchedValue) -> None:
        self._last = draft.number
        self.known[draft.number] = draft
        self._log_change(draft, "new")

    def describe_hit(self, hit: DataHit) -> str:
        """Say what happened to the value."""
        watched = self.known.get(hit["number"])
        what = watched.expression if watched else "The value"
        if hit.get("said"):
            return str(hit["said"])
        if hit.get("old") is None:
            return f"{what} was read, or written without a change: {hit.get('new')}"  # processors do not tell which
        return f"{what} changed from {hit['old']} to {hit['new']}"

    def remove_breakpoint(self, number: int, why: str) -> None:
        if watched := self.known.pop(number, None):
            watched.message = why
            self._log_change(watched, "removed")

    def _log_change(self, watched: WatchedValue, reason: str) -> None:
        body = {"reason": reason, "data_breakpoint": msgspec.to_builtins(watched.to_answer())}
        self.log.add(EventKind.DATA_BREAKPOINT, body)


class ReachedBreakpoints:
    def __init__(self, log: EventLog, on_lines: BreakpointTable) -> None:
        self._log = log
        self._on_lines = on_lines
        self.on_exceptions = ExceptionBreakpointTable()
        self.on_data = DataBreakpointTable(log)
        self.file_changes = FileChanges()
        self._condition_errors: dict[str, str] = {}
        """errors of conditions at the stop that is about to be told, by breakpoint"""
        self._told_errors: set[tuple[str, str]] = set()

    def forget_progress(self) -> None:
        """Begin to count: a program that starts has reached no breakpoint, and no file has changed since."""
        for bp in self._on_lines.all():
            bp.hits, bp.source_changed = 0, False
        self._condition_errors.clear()
        self._told_errors.clear()
        self.file_changes.begin_program({bp.path for bp in self._on_lines.all() if bp.path})

    def log_breakpoint(self, bp: Breakpoint, reason: str) -> None:
        self._log.add(EventKind.BREAKPOINT, {"reason": reason, "breakpoint": msgspec.to_builtins(bp.to_answer())})

    def take_binding(self, number: int, bound: Bound, is_news: bool) -> None:
        """Take what the debugger made of a breakpoint; it is news if code was loaded in which there is one."""
        bp = self._on_lines.by_number(number)
        if bp is not None:
            bp.apply_binding(bound)
            if is_news:
                self.log_breakpoint(bp, "changed")
        if bound.bad_condition is not None and not is_news:
            self.take_condition_error(number, bound.bad_condition, False)

    def take_condition_error(self, number: int, error: str, of_exception: bool) -> None:
        """Tell each error of a condition once; the program stops there each time."""
        bp = self.on_exceptions.by_number(number) if of_exception else self._on_lines.by_number(number)
        if bp is None:
            return
        self._condition_errors[bp.id] = error
        if (bp.id, error) not in self._told_errors:
            self._told_errors.add((bp.id, error))
            kind = EventKind.EXCEPTION_BREAKPOINT if of_exception else EventKind.BREAKPOINT
            shown = msgspec.to_builtins(bp.to_answer())
            self._log.add(kind, {"reason": "condition_error", kind.value: shown, "error": error})

    def count_hits(self, event: StopEvent, frames: Frames, exception: ExceptionRow | None) -> list[str]:
        """Count a stop for the breakpoints that it is at. Return their ids."""
        hit = [bp for number in event.hit_numbers if (bp := self._on_lines.by_number(number))]
        path = _top_path(frames)
        if not hit and event.reason == "breakpoint" and path:
            here = self._on_lines.at_line(path, frames[0]["line"])
            hit = [here] if here else []
        for bp in hit:
            if not bp.is_counted_inside:
                bp.hits += 1
        numbers = exception.get("rules", []) if exception else []
        rules = [rule for number in numbers if (rule := self.on_exceptions.by_number(number))]
        for rule in rules:
            rule.hit_count += 1
        ids = [bp.id for bp in hit]
        if event.data_hit and (watched := self.on_data.known.get(event.data_hit["number"])):
            watched.hit_count += 1
            ids.append(watched.id)
        return ids + [rule.id for rule in rules if not rule.from_launch]

    def hit_notes(self, hit_ids: list[str], event: StopEvent) -> list[str]:
        """Say which condition raised at a stop, and what happened to data."""
        errors = [self._condition_errors.pop(id, None) for id in hit_ids]
        notes = [f"Condition raised {error}" for error in errors if error][:1]
        return [*notes, self.on_data.describe_hit(event.data_hit)] if event.data_hit else notes

    async def has_changed(self, frames: Frames, adapter: Adapter) -> bool:
        """Tell whether the file it stopped in has changed since it was loaded; its breakpoints say so from now on."""
        path = _top_path(frames)
        if not path or not await self.file_changes.find_changed({path}, adapter):
            return False
        real = os.path.realpath(path)
        await self.mark_changed([bp for bp in self._on_lines.all() if bp.key[0] == real], adapter)
        return True

    async def mark_changed(self, breakpoints: list[Breakpoint], adapter: Adapter) -> None:
        paths = {path for bp in breakpoints for path in bp.paths}
        changed = await self.file_changes.find_changed(paths, adapter)
        for bp in breakpoints:
            before, bp.source_changed = bp.source_changed, not changed.keys().isdisjoint(bp.paths)
            if bp.source_changed and not before:
                self.log_breakpoint(bp, "changed")


def _top_path(frames: Frames) -> str | None:
    return frame_path(frames[0]) if frames else None


def explain_missed(breakpoints: list[Breakpoint], about_children: str) -> str | None:
    """Say which breakpoints were not reached, but nothing of those that nobody in this session has set."""
    waiting = [bp for bp in breakpoints if bp.enabled and not bp.log_message and not bp.is_restored]
    if any(bp.hits for bp in waiting):
        waiting = [bp for bp in waiting if bp.function and not bp.verified]  # which no run will ever reach
    if not waiting:
        return None
    told = []
    for bp in waiting[:SHOWN]:
        what = bp.function or f"{bp.path}:{bp.line}"
        limit = "condition" if bp.condition else "hit condition" if bp.hit_condition else None
        doubt = f", or its {limit} was never true" if limit else ""
        told.append(f"{bp.id} ({what}) was not reached{doubt}" if bp.verified else f"{bp.id}: {bp.message}")
    if len(waiting) > SHOWN:
        told.append(advice("{count} more, see {list_breakpoints}", count=len(waiting) - SHOWN))
    these = "This breakpoint" if len(waiting) == 1 else "These breakpoints"
    return f"{these} did not stop the program: {'; '.join(told)}{about_children}"
