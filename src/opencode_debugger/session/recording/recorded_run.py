"""Questions to the recording of a session's program, and their answers within a budget."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from ...answers import recordings as answers
from ...answers.shape import Answer
from ...errors import RelayError
from ...text.recording_lines import (
    call_words,
    change_line,
    difference_line,
    difference_lines,
    error_lines,
    life_line,
    sighting_line,
    slow_line,
)
from ...text.view import View
from ...wording import counted
from .call_life import CallLifeLines
from .call_rows import call_row, named_values
from .call_selection import ORDERS, check_names, matching_positions, outermost, siblings, sorted_positions
from .call_spans import SpanChart
from .comparison.difference_rows import comparison_answer
from .comparison.recording_difference import RunComparison
from .damage import MALFORMED, Damaged
from .files.known_recordings import KnownRecordings, RecordingPlace
from .files.recording_export import WRITERS, ExportFolder
from .folded_tree import FoldedTree
from .recorded_calls import RECEIVERS, Call, Function, RecordedCalls, no_collection
from .recorded_errors import error_groups, group_row
from .time_spent import milliseconds, slow_row, time_by_function
from .value_filter import read_condition
from .value_origin import (
    Seen,
    Wanted,
    change_row,
    changes_in_order,
    changes_of_name,
    sighting_row,
    sightings_of_value,
    way_to,
)

T = TypeVar("T")
Row = TypeVar("Row", bound=Answer)
NEAR_NAMES = 5
MOST_FUNCTIONS_NAMED = 8
EXPORT_AGAIN = "Give the path of a whole file that `ocdb export` or GET recording/export wrote, or export it again"


@dataclass(eq=False)
class RecordedRun:
    _recordings: KnownRecordings
    _view: View
    """as which texts are measured that a budget is for"""
    _exports: ExportFolder
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _reading_ahead: asyncio.Task[None] | None = None

    async def trace(
        self, recording: str | None = None, call: int | None = None, function: str | None = None,
        thread: str | None = None, first: int | None = None, last: int | None = None, depth: int = 1000,
        budget: int = 4000,
    ) -> answers.CallTrace:
        """Return the call tree of the run, below one call, or below each call of a function; or what a fold has."""

        def answer(calls: RecordedCalls) -> answers.CallTrace:
            if first is not None:
                only = {each.id for each in find_functions(calls, function)} if function is not None else None
                beside = siblings(calls, find_call(calls, first), last or first, only)
                return answers.CallTrace(**_facts(calls), rows=FoldedTree(calls, self._view, budget).unfolded(beside))
            if call is not None:
                roots = [calls.positions[find_call(calls, call).number]]
            elif function is not None:
                roots = outermost(calls, {each.id for each in find_functions(calls, function)})
            else:
                roots = calls.tree.roots
            if thread is not None:
                roots = [each for each in roots if thread in calls.lane_name(calls.lane_ids[each])]
            rows = FoldedTree(calls, self._view, budget, depth).rows(roots)
            return answers.CallTrace(**_facts(calls), rows=rows)

        return await self.ask(recording, answer)

    async def calls(
        self, function: str, where: str | None = None, order: str = "time", offset: int = 0, limit: int = 100,
        recording: str | None = None, budget: int = 4000,
    ) -> answers.CallTable:
        """Return the calls of a function that fulfil a condition."""
        condition = read_condition(where) if where else None

        def answer(calls: RecordedCalls) -> answers.CallTable:
            functions = find_functions(calls, function)
            if condition:
                check_names(condition, functions, where or "")
            ids = {each.id for each in functions}
            found = matching_positions(calls, ids, condition) if condition else sorted_positions(calls, ids)
            page = ORDERS[order](calls, found, offset + limit)[offset:]
            rows = _within(budget, (call_row(calls, each) for each in calls.calls_at(page)),
                lambda row: len(call_words(row, self._view)) + 1)
            return answers.CallTable(
                **_facts(calls), functions=[f"{each.name} {each.path}:{each.line}" for each in functions[:NEAR_NAMES]],
                total=sum(map(calls.function_ids.count, ids)), matching=len(found), offset=offset, calls=rows,
                has_more=offset + len(rows) < len(found),
            )

        return await self.ask(recording, answer)

    async def values(
        self, name: str, offset: int = 0, limit: int = 100, recording: str | None = None, budget: int = 4000
    ) -> answers.ValueHistory:
        """Return each value that what has a name was given, or came to have."""

        def answer(calls: RecordedCalls) -> answers.ValueHistory:
            found = [each for each in changes_in_order(calls, name.strip()) if each[2] in calls.positions]
            rows = _within(budget, (change_row(calls, Seen(*each)) for each in found[offset : offset + limit]),
                lambda row: len(change_line(row, self._view)) + 1)
            notes = () if found else (f"{name[:100]} is no name in the recording",)
            return answers.ValueHistory(
                **_facts(calls, *notes), name=name, total=len(found), offset=offset, changes=rows,
                has_more=offset + len(rows) < len(found),
            )

        return await self.ask(recording, answer)

    async def spans(
        self, start_ms: float | None = None, end_ms: float | None = None, parts: int = 500, depth: int = 100,
        thread: str | None = None, recording: str | None = None,
    ) -> answers.CallSpans:
        """Return the calls of a time, as a flame chart shows them."""

        def answer(calls: RecordedCalls) -> answers.CallSpans:
            began = calls.began
            first, last = milliseconds(min(calls.starts) - began), milliseconds(calls.until - began)
            start, end = first if start_ms is None else start_ms, last if end_ms is None else end_ms
            chart = SpanChart(calls, began + start / 1000, began + max(start, end) / 1000, parts, depth, thread)
            threads, total, part = chart.threads()
            return answers.CallSpans(
                **_facts(calls), first_ms=first, last_ms=last, start_ms=start, end_ms=max(start, end),
                part_ms=part * 1000, threads=threads, total=total)

        return await self.ask(recording, answer)

    async def errors(
        self, unhandled: bool = False, recording: str | None = None, budget: int = 4000
    ) -> answers.ErrorList:
        """Return every exception, those that were handled as well unless only others are asked for."""

        def answer(calls: RecordedCalls) -> answers.ErrorList:
            groups = [each for each in error_groups(calls) if each.is_unhandled or not unhandled]
            rows = _within(budget, (group_row(calls, each) for each in groups),
                lambda row: sum(len(line) + 1 for line in error_lines(row, self._view)))
            return answers.ErrorList(**_facts(calls), errors=rows, total=len(groups))

        return await self.ask(recording, answer)

    async def slow(self, recording: str | None = None, limit: int = 15, budget: int = 4000) -> answers.SlowList:
        """Return the functions with the most time of their own."""

        def answer(calls: RecordedCalls) -> answers.SlowList:
            spent = time_by_function(calls)
            ranked = sorted(spent, key=lambda id: -spent[id].own)
            rows = _within(budget, (slow_row(calls, id, spent[id]) for id in ranked[:limit] if id in calls.functions),
                lambda row: len(slow_line(row, self._view)) + 1)
            span = calls.until - min(calls.starts)
            return answers.SlowList(**_facts(calls), span_ms=milliseconds(span), functions=rows, total=len(spent))

        return await self.ask(recording, answer)

    async def life(self, call_id: int, recording: str | None = None, budget: int = 4000) -> answers.CallLife:
        """Return one call: the lines that it took, what each changed and called."""

        def answer(calls: RecordedCalls) -> answers.CallLife:
            call = find_call(calls, call_id)
            lines = CallLifeLines(calls, call).rows()
            shown = _within(budget, lines, lambda row: len(life_line(row, self._view)) + 1)
            made = [] if lines else calls.tree.children_of(calls.positions[call.number])
            rows = _within(budget, (call_row(calls, each) for each in calls.calls_at(made)),
                lambda row: len(call_words(row, self._view)) + 1)
            return answers.CallLife(
                **_facts(calls, *_life_notes(call, len(lines) - len(shown), bool(lines))), call=call_row(calls, call),
                lines_recorded=bool(lines), lines=shown, calls=rows, more_calls=len(made) - len(rows),
                locals=named_values((name, value) for name, value in call.locals if name not in RECEIVERS),
            )

        return await self.ask(recording, answer)

    async def origin(self, value: str, recording: str | None = None, budget: int = 4000) -> answers.ValueOrigin:
        """Return where a value was seen first, or by whom what has a name was changed."""
        wanted = Wanted.read(value.strip())

        def answer(calls: RecordedCalls) -> answers.ValueOrigin:
            kind = "name" if wanted.name else "value"
            sites = changes_of_name(calls, wanted.name) if wanted.name else sightings_of_value(calls, wanted.value)
            if not sites and wanted.name:  # it may be meant as a text
                kind, sites = "value", sightings_of_value(calls, wanted.name)
            rows = _within(budget, (sighting_row(calls, site) for site in sites),
                lambda row: len(sighting_line(row, self._view)) + 1)
            notes = () if sites else (f"{value[:100]} is not in the recording: values are kept in short",)
            return answers.ValueOrigin(
                **_facts(calls, *notes), asked=value, kind=kind, total=sum(site.count for site in sites),
                places=len(sites), sightings=rows, way=way_to(calls, rows[0].call.call) if rows else [],
            )

        return await self.ask(recording, answer)

    async def diff(
        self, other: dict[str, Any], recording: str | None = None, budget: int = 4000
    ) -> answers.RunComparison:
        """Return where this run and another one part first, and what else differs."""
        wanted = msgspec.convert(other, OtherRecording)
        place = wanted.place() or self._recordings.choose(wanted.recording, "other")

        def answer(calls: RecordedCalls) -> answers.RunComparison:
            with_calls = self._recordings.index(place)
            comparison = RunComparison.of(calls, with_calls)
            return comparison_answer(
                comparison, _facts(calls, *(f"other: {each}" for each in _notes(with_calls))),
                wanted.name or with_calls.folder.name, budget,
                lambda row: sum(len(line) + 1 for line in difference_lines(row, self._view)),
                lambda row: len(difference_line(row, self._view)) + 1)

        return await self.ask(recording, answer)

    async def locate(self, recording: str | None = None) -> OtherRecording:
        """Return where a recording is, for the session that compares it with another."""
        await self._recordings.flush()
        place = self._recordings.choose(recording)
        return OtherRecording(path=place.path, is_file=place.is_file, name=os.path.basename(place.path))

    async def open_file(self, path: str) -> answers.OpenedRecording:
        """Take an exported recording for one of this session, which has no program then."""

        def answer() -> answers.OpenedRecording:
            calls = self._recordings.open_file(path)
            facts = _facts(calls)
            return answers.OpenedRecording(**facts, file=path, functions=len(calls.functions))

        async with self._turn:
            return await asyncio.to_thread(self._carefully, answer)

    async def export(self, recording: str | None = None, format: str = "recording") -> answers.ExportedRecording:
        """Write a recording to one file in the session's folder, which whoever sends it on removes."""

        def answer(calls: RecordedCalls) -> answers.ExportedRecording:
            path = self._exports.write(WRITERS[format], calls)
            return answers.ExportedRecording(**_facts(calls), path=path, bytes=os.path.getsize(path))

        return await self.ask(recording, answer)

    @property
    def has_recordings(self) -> bool:
        return bool(self._recordings.places())

    def read_ahead(self) -> None:
        """Begin to read what the program has written, so that the next question finds it read."""
        is_reading = self._reading_ahead is not None and not self._reading_ahead.done()
        if not is_reading and not self._turn.locked() and self._recordings.has_own:
            self._reading_ahead = asyncio.get_running_loop().create_task(self._read_ahead())

    async def _read_ahead(self) -> None:
        async with self._turn:
            with contextlib.suppress(RelayError):  # whoever asks is told
                await asyncio.to_thread(self._carefully, self._recordings.read_ahead)

    async def ask(self, recording: str | None, answer: Callable[[RecordedCalls], T]) -> T:
        """Return the answer to a question; it is looked for aside, for a large recording takes a second."""
        await self._recordings.flush()
        async with self._turn:
            return await asyncio.to_thread(self._answer, self._recordings.choose(recording), answer)

    def _answer(self, place: RecordingPlace, answer: Callable[[RecordedCalls], T]) -> T:
        return self._carefully(lambda: answer(self._recordings.index(place)))

    def _carefully(self, answer: Callable[[], T]) -> T:
        """Return the answer, or tell why a recording cannot be read."""
        try:
            with no_collection():
                return answer()
        except Damaged as error:  # a file fell out, or was changed, meanwhile; or it is no recording
            reason, is_foreign = str(error), self._recordings.has_foreign
        except MALFORMED as error:
            if not self._recordings.has_foreign:
                raise
            reason, is_foreign = f"it has values of another shape ({type(error).__name__})", True
        self._recordings.forget()
        advised: dict[str, Any] = {"suggestion": EXPORT_AGAIN} if is_foreign else {}
        raise RelayError("RECORDING_NOT_FOUND", f"The recording cannot be read: {reason}", **advised)


class OtherRecording(msgspec.Struct):
    """The recording with which one is compared: where it is, or its name if it is of the same session."""

    path: str | None = None
    is_file: bool = False
    recording: str | None = None
    name: str = ""
    """for the answer"""

    def place(self) -> RecordingPlace | None:
        return None if self.path is None else RecordingPlace(self.path, self.is_file)


def find_call(calls: RecordedCalls, number: int) -> Call:
    found = calls.find_call(number)
    if found is None:
        message = f"The recording has no call {number}: it was never there, or has fallen out"
        raise RelayError("CALL_NOT_FOUND", message, call=number)
    return found


def find_functions(calls: RecordedCalls, name: str) -> list[Function]:
    """Return the functions that are meant, by their names, or the ends of them: `total`, `Cart.total`, `cart.total`,
    `cart.py:Cart.total`."""
    place, _, wanted = name.rpartition(":")
    called = set(calls.function_ids)
    known = [each for each in calls.functions.values() if each.id in called]
    found = [
        each for each in known
        if (not place or each.path.endswith(place)) and (
            each.name == wanted or each.name.endswith(f".{wanted}") or f".{_dotted(each)}".endswith(f".{wanted}"))
    ]
    if not found:
        raise _not_called(name, wanted, known)
    return found


def _dotted(function: Function) -> str:
    """Return the name with that of the module, and of the folders above."""
    stem = function.path.removesuffix(".py").removesuffix("/__init__").strip("/").replace("/", ".")
    return f"{stem}.{function.name}"


def _not_called(name: str, wanted: str, known: list[Function]) -> RelayError:
    last = wanted.rpartition(".")[2]
    names = {each.name for each in known}
    near = [each for each in sorted(names) if last and last.lower() in each.lower()][:NEAR_NAMES]
    near = near or get_close_matches(wanted, names, NEAR_NAMES)
    some = Counter(each.name for each in known).most_common(MOST_FUNCTIONS_NAMED)
    said = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(each for each, _ in some)}"
    message = f"No call of {name[:100]!r} was recorded"
    return RelayError("CALL_NOT_FOUND", message, function=name[:200], suggestion=said)


def _within(budget: int, rows: Iterable[Row], size: Callable[[Row], int]) -> list[Row]:
    """Return the rows whose texts together have room; always the first."""
    found: list[Row] = []
    for row in rows:
        budget -= size(row)
        if budget < 0 and found:
            break
        found.append(row)
    return found


def _facts(calls: RecordedCalls, *notes: str) -> dict[str, Any]:
    return {"recording": calls.folder.name, "recorded_calls": len(calls), "notes": [*notes, *_notes(calls)]}


def _life_notes(call: Call, left_out: int, has_lines: bool) -> Iterator[str]:
    if left_out:
        yield f"{counted(left_out, 'more line')}: ask with a larger budget"
    if not has_lines:
        name = call.function.name
        yield f'the lines of {name} were not recorded: record with "lines": ["{name}"] to have them'


def _notes(calls: RecordedCalls) -> Iterator[str]:
    """Return what one should know who reads an answer."""
    if dropped := calls.totals.get("dropped_calls", 0):
        yield f"the oldest {counted(dropped, 'call')} fell out: record again with a larger limit_mb to have them"
    if calls.damage:
        yield f"the rest cannot be read: {calls.damage}"
    rested = (calls.ending or {}).get("rested") or ()
    names = [calls.functions[id].name for id, _ in rested if id in calls.functions]
    if names:
        yield f"called too often to record all calls: {', '.join(names[:NEAR_NAMES])}"
