"""An index of recorded calls: small columns for all of them, and rows that are read again when they are asked for."""

from __future__ import annotations

import gc
import os
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..breakpoints.source_files import read_lines
from .call_columns import TYPECODES, CallColumns
from .call_tree import CallTree, Positions, find_positions
from .damage import MALFORMED, Damaged
from .files.exported_file import ExportedRecording, read_sources
from .files.recording_file import Chunk, ChunkPlace, RecordingFolder
from .packed_column import PackedColumn, packed_length, unpack_pieces
from .recorded_values import Recorded, error_text, pairs_of, value_text

RUNS, RETURNED, RAISED, UNSEEN = range(4)
FINISHED = (RETURNED, RAISED)
RECEIVERS = ("self", "cls")
"""arguments that every method has"""
ABOUT_CALLS = ("result", "error", "duration_ms", "thread", "call")
"""names that conditions know of every call, besides its arguments"""
ABOUT_ORDER = ("positions", "order", "parents", "tree")
"""properties that follow from the numbers of calls and their callers alone"""
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
    flags: int
    """of its code; 0 where they are not known"""
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
        return duration_ms(self.start, self.end, self.how)

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
        return caught_in(self.extra)

    @property
    def locals(self) -> list[tuple[str, Recorded]]:
        """Return its variables where it raised."""
        return list(pairs_of(self.extra.get("locals", ())))


class OpenRow(NamedTuple):
    """A call that has not ended, as it was written."""

    file: str
    row: list[Any]


class ChunkRange(NamedTuple):
    """The calls of one chunk: the positions of the first, and after the last."""

    chunk: int
    first: int
    end: int


class PackedPiece(NamedTuple):
    """What was packed of consecutive calls: the positions of the first, and after the last."""

    first: int
    end: int
    packed: bytes


class Step(NamedTuple):
    """A line that a call took, or what it changed last."""

    kind: str
    number: int
    call: int
    line: int
    changes: list[Any]
    """names and values in turn, of what the line before has changed"""


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
    function_ids: array[int] = field(default_factory=lambda: array("i"))
    callers: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("i"))
    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    hows: array[int] = field(default_factory=lambda: array("b"))
    lane_ids: array[int] = field(default_factory=lambda: array("i"))
    lasts: array[int] = field(default_factory=lambda: array("q"))
    """numbers of their ends, 0 while they run"""
    arguments: PackedColumn = field(default_factory=PackedColumn)
    """a list for each call, by chunk; as all that is packed"""
    values: PackedColumn = field(default_factory=PackedColumn)
    """results and exceptions"""
    extras: PackedColumn = field(default_factory=PackedColumn)
    """what else is known of some calls, by their places in the chunk"""
    catching: list[int] = field(default_factory=list)
    """positions of calls that have handled an exception"""
    waited: dict[int, float] = field(default_factory=dict)
    """seconds that calls were suspended, by position"""
    step_calls: array[int] = field(default_factory=lambda: array("q"))
    """the number of the call of each step"""
    step_numbers: array[int] = field(default_factory=lambda: array("q"))
    """the number of each step that is a line, 0 of others"""
    steps: PackedColumn = field(default_factory=PackedColumn)
    totals: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    """source files that an exported recording brings along"""
    damage: str | None = None
    """why the rest cannot be read"""
    _places: list[ChunkPlace] = field(default_factory=list)
    _first_calls: list[int] = field(default_factory=list)
    """the position of the first call of each chunk; the calls that have not ended come last, as one more chunk"""
    _first_steps: list[int] = field(default_factory=list)
    _open: dict[int, OpenRow] = field(default_factory=dict)
    """calls that have not ended, by number"""
    _split_sources: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def read_more(self) -> bool:
        """Read what was written since; return whether there was something."""
        if self.damage is not None:
            return False
        self._drop_open()
        has_news = self._forget_lost()
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
        self._add_calls(CallColumns.of_rows([each.row for each in self._open.values()]))
        if has_news:
            for name in (*ABOUT_ORDER, "raised", "steps_by_call"):
                self.__dict__.pop(name, None)
        return has_news

    def _take_names(self, kind: str, found: Any) -> None:
        if kind == "H":
            self.header = dict(found)
        elif kind == "F":
            for id, path, name, line, arguments, flags, lines, has_lines in found:
                ranges = tuple(map(tuple, lines))
                self.functions[id] = Function(id, path, name, line, tuple(arguments), flags or 0, ranges, has_lines)
        elif kind == "T":
            self.lanes.update((number, f"{what} {name}") for number, what, name in found)
        elif kind == "S":
            self.sources = found
        elif kind == "Z":
            self.ending = dict(found)

    def _take_chunk(self, place: ChunkPlace, chunk: Chunk) -> None:
        CallColumns.of_rows(chunk.open_calls)  # they are added last: what is no call is to be found here
        step_calls = array("q", [step[2] for step in chunk.steps])
        step_numbers = array("q", [step[1] if step[0] in LINES else 0 for step in chunk.steps])
        self._add_calls(chunk.calls)
        self._places.append(place)
        self._first_steps.append(len(self.step_calls))
        self.step_calls += step_calls
        self.step_numbers += step_numbers
        self.steps.add(chunk.steps)
        self.totals = chunk.about
        for number in self._open.keys() & set(chunk.calls.numbers):
            del self._open[number]
        self._open.update((row[0], OpenRow(place.file, row)) for row in chunk.open_calls)

    def _add_calls(self, added: CallColumns) -> None:
        """Add a chunk of calls to the columns."""
        found = {place: extra for place, extra in enumerate(unpack_pieces(added.extras)) if extra}
        before = len(self.numbers)
        self.waited.update((before + place, extra["waits"][1]) for place, extra in found.items() if "waits" in extra)
        self.catching += (before + place for place, extra in found.items() if "caught" in extra)
        for name, column in self._columns.items():
            column.extend(getattr(added, name))
        self.arguments.add_packed(added.arguments)
        self.values.add_packed(added.values)
        self.extras.add(found)
        self._first_calls.append(before)

    @property
    def _columns(self) -> dict[str, array[Any]]:
        return {name: getattr(self, name) for name, code in zip(CallColumns._fields, TYPECODES, strict=True) if code}

    def _drop_open(self) -> None:
        """Take calls that were open out of the columns: they are told of again, or have ended."""
        if len(self._first_calls) == len(self._places):
            return  # nothing was read so far
        self._keep_calls(slice(0, self._first_calls.pop()))
        for packed in (self.arguments, self.values, self.extras):
            packed.drop_last()

    def _forget_lost(self) -> bool:
        """Forget what was in files that have fallen out; return whether there are such."""
        lost = self.folder.take_lost()
        count = sum(place.file in lost for place in self._places)
        if not count:
            return False
        first_call = self._first_calls[count] if count < len(self._places) else len(self.numbers)
        first_step = self._first_steps[count] if count < len(self._places) else len(self.step_calls)
        self._keep_calls(slice(first_call, None))
        del self.step_calls[:first_step], self.step_numbers[:first_step], self._places[:count]
        self._first_calls = [first - first_call for first in self._first_calls[count:]]
        self._first_steps = [first - first_step for first in self._first_steps[count:]]
        for packed in (self.arguments, self.values, self.extras, self.steps):
            packed.drop_first(count)
        self._open = {number: each for number, each in self._open.items() if each.file not in lost}
        return True

    def _keep_calls(self, kept: slice) -> None:
        """Leave nothing but a part of the columns: their beginning, or their end."""
        first, end, _ = kept.indices(len(self.numbers))
        for column in self._columns.values():
            del column[end:], column[:first]
        self.catching = [position - first for position in self.catching if first <= position < end]
        self.waited = {
            position - first: seconds for position, seconds in self.waited.items() if first <= position < end}

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
    def positions(self) -> Positions:
        """Positions by number."""
        return find_positions(self.numbers)

    @cached_property
    def order(self) -> array[int]:
        """All positions, in the order in which the calls began."""
        return self.positions.in_order()

    @cached_property
    def parents(self) -> array[int]:
        """The position of each call's caller, or NOWHERE."""
        return self.positions.all_of(self.callers)

    @cached_property
    def tree(self) -> CallTree:
        return CallTree.of(self.parents, self.order)

    def share_order(self, other: RecordedCalls) -> None:
        """Take who called whom from another run if the numbers are the same, for it takes time to find out."""
        if self.numbers == other.numbers and self.callers == other.callers:
            self.__dict__.update((name, getattr(other, name)) for name in ABOUT_ORDER)

    @cached_property
    def raised(self) -> list[int]:
        """Positions of calls that an exception has left."""
        return [position for position, how in enumerate(self.hows) if how == RAISED]

    def find_call(self, number: int) -> Call | None:
        position = self.positions.get(number)
        return None if position is None else self.call_at(position)

    def function_at(self, position: int) -> Function:
        """Return the function that a call is of."""
        id = self.function_ids[position]
        return self.functions.get(id) or Function(id, "?", "?", 0, (), 0, (), False)

    def call_at(self, position: int) -> Call:
        return Call(
            self.numbers[position], self.function_at(position), self.callers[position], self.offsets[position],
            self.lane_ids[position], self.starts[position], tuple(self.arguments_at(position)), self.lasts[position],
            self.ends[position], self.hows[position], self.value_at(position), self.extra_at(position),
        )

    def calls_at(self, positions: Iterable[int]) -> Iterator[Call]:
        return map(self.call_at, positions)

    def arguments_at(self, position: int) -> Sequence[Recorded]:
        chunk = bisect_right(self._first_calls, position) - 1
        return self.arguments.at(chunk)[position - self._first_calls[chunk]]  # type: ignore[no-any-return]

    def value_at(self, position: int) -> Recorded:
        chunk = bisect_right(self._first_calls, position) - 1
        return self.values.at(chunk)[position - self._first_calls[chunk]]

    def extra_at(self, position: int) -> dict[str, Any]:
        chunk = bisect_right(self._first_calls, position) - 1
        return self.extras.at(chunk).get(position - self._first_calls[chunk]) or {}

    def column_part(self, column: PackedColumn, part: slice) -> list[Any]:
        """Return what a packed column has of calls at consecutive positions."""
        found: list[Any] = []
        position = part.start
        while position < part.stop:
            chunk = bisect_right(self._first_calls, position) - 1
            first = self._first_calls[chunk]
            found += column.at(chunk)[position - first : part.stop - first]
            position = part.start + len(found)
        return found

    def packed_pieces(self, column: PackedColumn, part: slice) -> Iterator[PackedPiece]:
        """Return what was packed of calls at consecutive positions and of no others."""
        chunk = max(0, bisect_right(self._first_calls, part.start) - 1)
        while chunk < len(self._first_calls) and self._first_calls[chunk] < part.stop:
            first = self._first_calls[chunk]
            for packed in column.pieces(chunk):
                end = first + packed_length(packed)
                if part.start <= first and end <= part.stop:
                    yield PackedPiece(first, end, packed)
                first = end
            chunk += 1

    def chunk_ranges(self, ids: set[int] | None = None) -> Iterator[ChunkRange]:
        """Return each chunk of calls, in the order in which they ended; only those with calls of some functions."""
        for chunk, (first, end) in enumerate(zip(self._first_calls, [*self._first_calls[1:], len(self)], strict=True)):
            if first < end and (ids is None or not ids.isdisjoint(self.function_ids[first:end])):
                yield ChunkRange(chunk, first, end)

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
        return Step(*self.steps.at(chunk)[position - self._first_steps[chunk]])

    def steps_of(self, number: int) -> list[Step]:
        """Return the lines that a call took, in order."""
        found = [self.step_at(position) for position in self.steps_by_call.get(number, ())]
        return sorted((step for step in found if step.kind in STEPS), key=lambda step: step.number)

    def all_steps(self) -> Iterator[Step]:
        """Return the lines that every call took, as they were written."""
        for chunk in range(len(self._places)):
            yield from (Step(*step) for step in self.steps.at(chunk) if step[0] in (LINE, LAST_LINE))

    def chunks(self) -> Iterator[Chunk]:
        """Return all that happened, as it was written; the calls that have not ended come last, once."""
        for place in self._places:
            yield self.folder.read_chunk(place)._replace(open_calls=[])
        yield Chunk(CallColumns.of_rows([]), [], [each.row for each in self._open.values()], self.totals)

    def source_texts(self) -> dict[str, str]:
        """Return the source files of functions whose lines were recorded, with their paths."""
        if self.folder.is_foreign:
            return self.sources
        return read_sources({each.path for each in self.functions.values() if each.has_lines})

    def source_line(self, path: str, line: int) -> str:
        """Return a line of a file as it is now, if it is there; of a recording from elsewhere, as it was there."""
        lines = self.foreign_lines(path) if self.folder.is_foreign else read_lines(path)
        return lines[line - 1].rstrip() if 0 < line <= len(lines) else ""

    def foreign_lines(self, path: str) -> list[str]:
        """Return a file as a recording from elsewhere brings it along."""
        if path not in self._split_sources:
            self._split_sources[path] = self.sources.get(path, "").splitlines()
        return self._split_sources[path]


def caught_in(extra: dict[str, Any]) -> list[tuple[int, Recorded]]:
    """Return the exceptions that a call handled, each with the line, by what else is known of it."""
    return [(line, error) for line, error in extra.get("caught", ())]


def duration_ms(start: float, end: float, how: int) -> float | None:
    """Return how long a call took, if it has ended."""
    return round((end - start) * 1000, 3) if how in FINISHED else None


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
