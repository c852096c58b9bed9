"""An index of recorded calls: small columns for all of them, and rows that are read again when they are asked for."""

from __future__ import annotations

import gc
import os
from array import array
from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..breakpoints.source_files import read_lines
from .exported_file import ExportedRecording, read_sources
from .recorded_values import Recorded, error_text, pairs_of, value_text
from .recording_file import MALFORMED, Chunk, ChunkPlace, Damaged, RecordingFolder

RUNS, RETURNED, RAISED, UNSEEN = range(4)
FINISHED = (RETURNED, RAISED)
CHUNKS_KEPT = 32
"""chunks whose rows stay in memory: the last ones that were asked for"""
RECEIVERS = ("self", "cls")
"""arguments that every method has"""
NOWHERE = -1
"""the position of a call that is not there"""
ABOUT_CALLS = ("result", "error", "duration_ms", "thread", "call")
"""names that conditions know of every call, besides its arguments"""
LINE, LAST_LINE, NO_MORE_LINES = "L", "E", "O"
"""kinds of steps"""
LINES = (LINE, NO_MORE_LINES)
STEPS = (LINE, LAST_LINE, NO_MORE_LINES)


class Function(NamedTuple):
    id: int
    path: str
    name: str
    line: int
    arguments: tuple[str, ...]
    lines: tuple[tuple[int, int, int], ...]
    """ranges of its instructions with their lines"""
    has_lines: bool
    """whether the lines that it takes are recorded"""

    @property
    def module(self) -> str:
        return os.path.splitext(os.path.basename(self.path))[0]

    def line_at(self, offset: int) -> int | None:
        return next((line for first, end, line in self.lines if first <= offset < end and line), None)


class Call(NamedTuple):
    number: int
    function: Function
    caller: int
    """number of the call that made it, 0 for none"""
    offset: int
    """of the instruction that made it"""
    lane: int
    """number of the thread or task"""
    start: float
    arguments: tuple[Recorded, ...]
    last: int
    """number of its end, 0 while it runs"""
    end: float
    how: int
    value: Recorded
    extra: dict[str, Any]
    """`line` and `locals` where it raised, `caught` exceptions, `yields`, `waits`"""

    @property
    def duration_ms(self) -> float | None:
        return round((self.end - self.start) * 1000, 3) if self.how in FINISHED else None

    @property
    def result(self) -> str | None:
        """Return the text of what it returned, or of the exception that left it."""
        if self.how == RETURNED:
            return value_text(self.value)
        return error_text(self.value) if self.how == RAISED else None

    @property
    def named_arguments(self) -> Iterator[tuple[str, Recorded]]:
        return zip(self.function.arguments, self.arguments, strict=False)

    @property
    def caught(self) -> list[tuple[int, Recorded]]:
        """Return the exceptions that it handled, each with the line."""
        return [(line, error) for line, error in self.extra.get("caught", ())]

    @property
    def locals(self) -> list[tuple[str, Recorded]]:
        """Return its variables where it raised."""
        return list(pairs_of(self.extra.get("locals", ())))


class Step(NamedTuple):
    """A line that a call took, or what it changed last."""

    kind: str
    number: int
    call: int
    line: int
    changes: list[Any]
    """names and values in turn, of what the line before has changed"""


@dataclass
class CallTree:
    """Who called whom, by positions in the columns."""

    children: dict[int, list[int]]
    """by caller, in the order of their beginning; those of NOWHERE are the roots"""
    parents: list[int]
    sizes: list[int]
    """how many calls there are in each, itself included"""

    def ancestors(self, position: int) -> Iterator[int]:
        while (position := self.parents[position]) != NOWHERE:
            yield position


@dataclass(eq=False)
class RecordedCalls:
    folder: RecordingFolder | ExportedRecording
    header: dict[str, Any] = field(default_factory=dict)
    ending: dict[str, Any] | None = None
    """how the recording ended; None: it goes on, or the program was killed"""
    functions: dict[int, Function] = field(default_factory=dict)
    lanes: dict[int, str] = field(default_factory=dict)
    numbers: array[int] = field(default_factory=lambda: array("q"))
    """a column, as those below: an item for each call, in the order in which they ended"""
    function_ids: array[int] = field(default_factory=lambda: array("l"))
    callers: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("l"))
    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    hows: array[int] = field(default_factory=lambda: array("b"))
    lane_ids: array[int] = field(default_factory=lambda: array("l"))
    lasts: array[int] = field(default_factory=lambda: array("q"))
    """numbers of their ends, 0 while they run"""
    catching: list[int] = field(default_factory=list)
    """positions of calls that have handled an exception"""
    waited: dict[int, float] = field(default_factory=dict)
    """seconds that calls were suspended, by position"""
    step_calls: array[int] = field(default_factory=lambda: array("q"))
    """the number of the call of each step"""
    step_numbers: array[int] = field(default_factory=lambda: array("q"))
    """the number of each step that is a line, 0 of others"""
    totals: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    """source files that an exported recording brings along"""
    damage: str | None = None
    """why the rest cannot be read"""
    _places: list[ChunkPlace] = field(default_factory=list)
    _first_calls: list[int] = field(default_factory=list)
    """the position of the first call of each chunk"""
    _first_steps: list[int] = field(default_factory=list)
    _open: dict[int, list[Any]] = field(default_factory=dict)
    """calls that have not ended, by number; in the columns they come last"""
    _first_open: int = 0
    _rows: OrderedDict[int, Chunk] = field(default_factory=OrderedDict)
    _last_rows: tuple[int, list[list[Any]]] = (0, [])
    """the chunk of calls that was asked for last, and the position of its first"""
    _split_sources: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def read_more(self) -> bool:
        """Read what was written since; return whether there was something."""
        if self.damage is not None:
            return False
        has_news = False
        self._drop_open()
        try:
            for kind, found in self.folder.new_names():
                self._take_names(kind, found)
                has_news = True
            for place in self.folder.new_places():
                self._take_chunk(place, self.folder.read_chunk(place))
                has_news = True
        except Damaged as error:
            self.damage = str(error)
        except MALFORMED as error:
            self.damage = f"{self.folder.name} has rows of another shape: {error}"
        self._first_open = len(self.numbers)
        self._add_calls(list(self._open.values()))
        if has_news:
            for name in ("tree", "positions", "steps_by_call"):
                self.__dict__.pop(name, None)
        return has_news

    def _take_names(self, kind: str, found: Any) -> None:
        if kind == "H":
            self.header = dict(found)
        elif kind == "F":
            for id, path, name, line, arguments, _, lines, has_lines in found:
                ranges = tuple(map(tuple, lines))
                self.functions[id] = Function(id, path, name, line, tuple(arguments), ranges, has_lines)
        elif kind == "T":
            self.lanes.update((number, f"{what} {name}") for number, what, name in found)
        elif kind == "S":
            self.sources = found
        elif kind == "Z":
            self.ending = dict(found)

    def _take_chunk(self, place: ChunkPlace, chunk: Chunk) -> None:
        self._first_calls.append(len(self.numbers))
        self._first_steps.append(len(self.step_calls))
        self._places.append(place)
        self._add_calls(chunk.calls)
        self.step_calls.extend(step[2] for step in chunk.steps)
        self.step_numbers.extend(step[1] if step[0] in LINES else 0 for step in chunk.steps)
        self.totals = chunk.about
        for number in self._open.keys() & {row[0] for row in chunk.calls}:
            del self._open[number]
        self._open.update((row[0], row) for row in chunk.open_calls)

    def _add_calls(self, rows: list[list[Any]]) -> None:
        if not rows:
            return
        before = len(self.numbers)
        numbers, functions, callers, offsets, lanes, starts, _, lasts, ends, hows, _, extras = zip(*rows, strict=True)
        self.numbers.extend(numbers)
        self.function_ids.extend(functions)
        self.callers.extend(callers)
        self.offsets.extend(offsets)
        self.starts.extend(starts)
        self.ends.extend(ends)
        self.hows.extend(hows)
        self.lane_ids.extend(lanes)
        self.lasts.extend(lasts)
        for position, extra in enumerate(extras, before):
            if extra:
                if "caught" in extra:
                    self.catching.append(position)
                if "waits" in extra:
                    self.waited[position] = extra["waits"][1]

    def _drop_open(self) -> None:
        """Take calls that were open out of the columns: they are told of again, or have ended."""
        end = self._first_open
        for column in (
            self.numbers, self.function_ids, self.callers, self.offsets, self.starts, self.ends, self.hows,
            self.lane_ids, self.lasts,
        ):
            del column[end:]
        self.catching = [position for position in self.catching if position < end]
        self.waited = {position: seconds for position, seconds in self.waited.items() if position < end}

    # Times, on the clock of the recording.

    @property
    def began(self) -> float:
        return float(self.header.get("began") or min(self.starts))

    @property
    def until(self) -> float:
        """Return when something was recorded last."""
        return max(max(self.ends), max(self.starts))

    def ends_so_far(self) -> list[float]:
        """Return when each call ended; of one that has not, or whose end was not seen, the end of all."""
        until = self.until
        return [end if how in FINISHED else until for end, how in zip(self.ends, self.hows, strict=True)]

    # Calls by position and number.

    @cached_property
    def positions(self) -> dict[int, int]:
        """Positions by number."""
        return dict(zip(self.numbers, range(len(self.numbers)), strict=True))

    def find_call(self, number: int) -> Call | None:
        position = self.positions.get(number)
        return None if position is None else self.call_at(position)

    def call_at(self, position: int) -> Call:
        """Return a call; its row is read again."""
        return self.make_call(self.row_at(position))

    def row_at(self, position: int) -> list[Any]:
        """Return a call as it was written."""
        if position >= self._first_open:
            return self._open[self.numbers[position]]
        first, rows = self._last_rows
        if not 0 <= position - first < len(rows):
            chunk = bisect_right(self._first_calls, position) - 1
            first, rows = self._last_rows = self._first_calls[chunk], self._chunk(chunk).calls
        return rows[position - first]

    def calls_at(self, positions: Iterable[int]) -> Iterator[Call]:
        return map(self.call_at, positions)

    def rows_of(self, ids: set[int]) -> Iterator[tuple[int, list[Any]]]:
        """Return every call of functions as it was written, with its position, in the order in which they ended."""
        for index, first in enumerate(self._first_calls):
            end = self._first_calls[index + 1] if index + 1 < len(self._first_calls) else self._first_open
            if ids.isdisjoint(self.function_ids[first:end]):
                continue
            for position, row in enumerate(self._chunk(index).calls, first):
                if row[1] in ids:
                    yield position, row
        for position, row in enumerate(self._open.values(), self._first_open):
            if row[1] in ids:
                yield position, row

    def make_call(self, row: list[Any]) -> Call:
        number, function, caller, offset, lane, start, arguments, last, end, how, value, extra = row
        known = self.functions.get(function) or Function(function, "?", "?", 0, (), (), False)
        return Call(number, known, caller, offset, lane, start, tuple(arguments), last, end, how, value, extra or {})

    def _chunk(self, index: int) -> Chunk:
        if index in self._rows:
            self._rows.move_to_end(index)
            return self._rows[index]
        chunk = self._rows[index] = self.folder.read_chunk(self._places[index])
        if len(self._rows) > CHUNKS_KEPT:
            self._rows.popitem(last=False)
        return chunk

    def call_line(self, call: Call) -> int | None:
        """Return the line of the caller from which it was made."""
        position = self.positions.get(call.caller)
        caller = None if position is None else self.functions.get(self.function_ids[position])
        return caller.line_at(call.offset) if caller else None

    def lane_name(self, lane: int) -> str:
        return self.lanes.get(lane, "?")

    @cached_property
    def steps_by_call(self) -> dict[int, list[int]]:
        """Positions of the steps of each call whose lines are recorded, by its number."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for position, call in enumerate(self.step_calls):
            found[call].append(position)
        return dict(found)

    def step_at(self, position: int) -> Step:
        chunk = bisect_right(self._first_steps, position) - 1
        return Step(*self._chunk(chunk).steps[position - self._first_steps[chunk]])

    def steps_of(self, number: int) -> list[Step]:
        """Return the lines that a call took, in order."""
        found = [self.step_at(position) for position in self.steps_by_call.get(number, ())]
        return sorted((step for step in found if step.kind in STEPS), key=lambda step: step.number)

    def all_steps(self) -> Iterator[Step]:
        """Return the lines that every call took, as they were written."""
        for index in range(len(self._places)):
            yield from (Step(*step) for step in self._chunk(index).steps if step[0] in (LINE, LAST_LINE))

    def chunks(self) -> Iterator[Chunk]:
        """Return all that happened, as it was written; the calls that have not ended come last, once."""
        for index in range(len(self._places)):
            yield self._chunk(index)._replace(open_calls=[])
        yield Chunk([], [], list(self._open.values()), self.totals)

    def source_texts(self) -> dict[str, str]:
        """Return the source files of functions whose lines were recorded, with their paths."""
        if self.folder.is_foreign:
            return self.sources
        return read_sources({each.path for each in self.functions.values() if each.has_lines})

    def source_line(self, path: str, line: int) -> str:
        """Return a line of a file as it is now, if it is there; of a recording from elsewhere, as it was there."""
        lines = self._foreign_lines(path) if self.folder.is_foreign else read_lines(path)
        return lines[line - 1].rstrip() if 0 < line <= len(lines) else ""

    def _foreign_lines(self, path: str) -> list[str]:
        if path not in self._split_sources:
            self._split_sources[path] = self.sources.get(path, "").splitlines()
        return self._split_sources[path]

    @cached_property
    def tree(self) -> CallTree:
        numbers, find = self.numbers, self.positions.get
        parents = [find(caller, NOWHERE) for caller in self.callers]
        order = sorted(range(len(numbers)), key=list(numbers).__getitem__)
        children: defaultdict[int, list[int]] = defaultdict(list)
        for position in order:
            children[parents[position]].append(position)
        sizes = [1] * (len(numbers) + 1)  # the last one is that of NOWHERE
        for position in reversed(order):
            sizes[parents[position]] += sizes[position]
        return CallTree(dict(children), parents, sizes)


@contextmanager
def no_collection() -> Iterator[None]:
    """Make many rows without Python's looking for cycles among them, of which there are none: that takes longer."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
