"""Questions are answered by columns and whole parts of a recording: the same as call by call, and value by value."""

from __future__ import annotations

import asyncio
import marshal
import random
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from opencode_debugger.debuggers.python.inside.recording.call_columns import (
    NUMBER_CODES,
    VALUES_VERSION,
    marshalled_columns,
    pack_columns,
)
from opencode_debugger.debuggers.python.inside.recording.open_calls import MOST_CAUGHT, PIECE, OpenCalls
from opencode_debugger.debuggers.python.inside.recording.recording_file import HEADER
from opencode_debugger.session.recording import packed_column, recorded_errors
from opencode_debugger.session.recording.call_columns import TYPECODES, CallColumns
from opencode_debugger.session.recording.call_selection import ORDERS, matching_positions, sorted_positions
from opencode_debugger.session.recording.comparison import common_parts
from opencode_debugger.session.recording.comparison.recording_difference import RunComparison
from opencode_debugger.session.recording.damage import Damaged
from opencode_debugger.session.recording.files.known_recordings import KnownRecordings, RecordingPlace
from opencode_debugger.session.recording.files.recording_export import ExportFolder
from opencode_debugger.session.recording.files.recording_file import Chunk, ChunkPlace, RecordingFolder
from opencode_debugger.session.recording.recorded_calls import RAISED, RETURNED, RecordedCalls
from opencode_debugger.session.recording.recorded_run import RecordedRun
from opencode_debugger.session.recording.recorded_values import error_text, holds_value, pairs_of
from opencode_debugger.session.recording.value_filter import RecordedExpression
from opencode_debugger.session.recording.value_origin import (
    GIVEN,
    LOCAL,
    RETURNED_BY,
    changes_of_name,
    sightings_of_value,
)
from opencode_debugger.text.view import View

ARGUMENTS = {1: ("number",), 2: ("self", "item"), 3: ("number", "rate"), 4: ()}
PLAIN = (None, True, 1, 1.0, 0, -0.0, 0.0, "pen", "1", 70_000, float("nan"))
CHUNK_CALLS = 7
SEEDS = range(4)


class MadeUpRecording:
    """A recording as the folder of one, written by chance: files of a few chunks, of which the oldest may go."""

    is_foreign = False
    name = "made-up"

    def __init__(self, seed: int, odd: tuple[int, ...] = (), plain: tuple[Any, ...] = PLAIN) -> None:
        self._chance, self._ids, self._number = random.Random(seed), random.Random(len(odd)), 0
        self._odd, self._plain, self._left = odd, plain, 150
        self.ended: list[list[Any]] = []
        root = self._begin(4, 0)
        while self._left:
            self._call(root[0], 0)
        self.open = [root]
        rows = [fresh(self.ended[first : first + CHUNK_CALLS]) for first in range(0, len(self.ended), CHUNK_CALLS)]
        self.chunks = [(ChunkPlace(f"{index // 4}.ocr", index, 1), Chunk(CallColumns.of_rows(calls), [], self.open, {}))
                       for index, calls in enumerate(rows)]
        self.names: list[tuple[str, Any]] = [("F", [
            (id, "shop.py", f"f{id}", id * 10, names, None, [(0, 100, id * 10 + 1)], False)
            for id, names in ARGUMENTS.items()])]
        self._read, self.lost = 0, set[str]()

    def _begin(self, function: int, caller: int) -> list[Any]:
        self._number += 1
        given = [self._value() for _ in ARGUMENTS[function]]
        return [self._number, function, caller, 2, 0, float(self._number), given, 0, 0.0, 0, None, None]

    def _call(self, caller: int, depth: int) -> None:
        self._left -= 1
        call = self._begin(self._chance.choice((1, 2, 3)), caller)
        while self._left and depth < 6 and self._chance.random() < 0.45:
            self._call(call[0], depth + 1)
        if len(self.ended) in self._odd:  # where this run differs from others of the same seed
            self._number += 2
            self.ended.append([self._number - 1, 1, call[0], 2, 0, 0.0, [5], self._number, 0.5, RETURNED, 5, None])
            call[6] = ["odd"] * len(call[6])
        self._number += 1
        raised = self._chance.random() < 0.1
        value = ("X", "ValueError", [self._value()], self._ids.random()) if raised else self._value()
        extra = {"line": 3, "locals": ["number", self._value()]} if raised else None
        if self._chance.random() < 0.1:
            extra = {**(extra or {}), "caught": [[5, ("X", "KeyError", ["x"], 1)]]}
        call[7:] = [self._number, self._number + 0.5, RAISED if raised else RETURNED, value, extra]
        self.ended.append(call)

    def _value(self, depth: int = 0) -> Any:
        kind = self._chance.random()
        if kind < 0.6 or depth > 1:
            return self._chance.choice(self._plain)
        if kind < 0.8:
            fields = ["price", self._value(depth + 1), "name", "pen"] if depth < 1 else []
            return ("O", "Item", self._ids.randrange(1 << 40), fields)
        return ("L", 2, [self._value(depth + 1), self._value(depth + 1)])

    # As RecordedCalls reads it.

    def take_lost(self) -> set[str]:
        lost, self.lost = self.lost, set()
        return lost

    def new_names(self) -> Iterator[tuple[str, Any]]:
        yield from self.names if self._read == 0 else ()

    def new_places(self) -> Iterator[ChunkPlace]:
        for place, _ in self.chunks[self._read :]:
            self._read += 1
            yield place

    def read_chunk(self, place: ChunkPlace) -> Chunk:
        return next(chunk for known, chunk in self.chunks if known == place)


def fresh(values: Any) -> Any:
    """Return values to which nobody else refers, as in the program: marshal writes others in another way."""
    return marshal.loads(marshal.dumps(values, 2))


def indexed(recording: MadeUpRecording) -> RecordedCalls:
    calls = RecordedCalls(cast(Any, recording))
    assert calls.read_more() and calls.damage is None
    return calls


def values_of(calls: RecordedCalls, position: int) -> dict[str, Any]:
    """Return what conditions can ask of a call, one by one."""
    call = calls.call_at(position)
    facts = {"result": None if call.how == RAISED else call.value, "duration_ms": call.duration_ms,
             "error": error_text(call.value) if call.how == RAISED else None, "call": call.number}
    return {**facts, **dict(call.named_arguments)}


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_that_were_written_column_by_column_are_read_as_they_were(seed: int) -> None:
    rows = MadeUpRecording(seed).ended
    pieces = [pack_columns(list(zip(*rows[first : first + CHUNK_CALLS], strict=True)))
              for first in range(0, len(rows), CHUNK_CALLS)]
    written = marshal.loads(b"".join(marshalled_columns(pieces)))
    assert repr(CallColumns.of_written(written).rows()) == repr(list(map(tuple, rows)))
    for place in range(len(written)):
        shorter = tuple(column[:-1] if at == place else column for at, column in enumerate(written))
        with pytest.raises(ValueError, match=r"equally long|multiple"):
            CallColumns.of_written(shorter)


ONE_CALL = [1, 1, 0, 0, 0, 1.0, [], 2, 2.0, 1, None, None]
NO_LISTS = {
    "empty": b"", "too short": b"[", "no list": b"i\1\0\0\0", "a dict": b"{i\1\0\0\0i\0\0\0\0",
    "more than calls": marshal.dumps([1, 2], 2),
}
CUT_OFF = b"[\1\0\0\0"


@pytest.mark.parametrize("column", [6, 10, 11], ids=["arguments", "value", "extra"])
@pytest.mark.parametrize("piece", NO_LISTS.values(), ids=NO_LISTS)
def test_what_is_no_list_of_values_is_damage_and_nothing_else(tmp_path: Path, column: int, piece: bytes) -> None:
    columns = written_columns(ONE_CALL)
    calls = recording_of(tmp_path, columns)
    assert calls.read_more() and calls.damage is None and calls.call_at(0).value is None
    columns[column] = (piece,)
    calls = recording_of(tmp_path, columns)
    assert not calls.read_more() and calls.damage


def test_values_that_are_cut_off_are_told_when_they_are_asked_for(tmp_path: Path) -> None:
    columns = written_columns(ONE_CALL)
    columns[6] = (CUT_OFF,)
    calls = recording_of(tmp_path, columns)
    assert calls.read_more()
    with pytest.raises(Damaged, match="values of another shape"):
        calls.call_at(0)


def test_an_open_call_that_is_none_is_damage(tmp_path: Path) -> None:
    calls = recording_of(tmp_path, written_columns(), [(1, 2)])
    assert not calls.read_more() and calls.damage


def written_columns(*rows: list[Any]) -> list[Any]:
    columns = list(zip(*rows, strict=True)) or [()] * len(TYPECODES)
    return list(marshal.loads(b"".join(marshalled_columns([pack_columns(columns)]))))


def recording_of(folder: Path, columns: list[Any], open_calls: list[Any] | None = None) -> RecordedCalls:
    """Return what is read of a segment of one chunk, whose checksum is right."""
    content = marshal.dumps((tuple(columns), [], open_calls or [], {}), 2)
    head = struct.pack("<II", len(content), zlib.crc32(content))
    (folder / "names.ocr").write_bytes(HEADER)
    (folder / "00000000.ocr").write_bytes(HEADER + head + content)
    return RecordedCalls(RecordingFolder(str(folder)))


def test_both_sides_of_a_recording_pack_values_alike() -> None:
    assert (TYPECODES, packed_column.VERSION) == (NUMBER_CODES, VALUES_VERSION)
    assert recorded_errors.MOST_CAUGHT == MOST_CAUGHT


def test_a_value_that_cannot_be_written_loses_only_its_call() -> None:
    calls = OpenCalls(cast(Any, None), cast(Any, None), 1)
    for row, value in zip(MadeUpRecording(1).ended, (1, object(), 2), strict=False):
        calls.ended += [*row[:10], value, None]
    (piece,) = calls.take_pieces()
    assert (piece.length, calls.failures) == (2, 1)


@pytest.mark.parametrize("condition", [
    "number > 0", "number == 1 or rate is None", "result is None and not error", "item.price in (1, None)",
    "len(item) == 2", "duration_ms > 2.5", "call % 3 == 1 and number != 'pen'", "error", "0 < number + 1 <= 70001",
])
def test_a_condition_on_columns_is_true_of_the_same_calls(condition: str) -> None:
    calls, wanted = indexed(MadeUpRecording(1)), RecordedExpression(condition)
    found = matching_positions(calls, {1, 2, 3}, wanted)
    assert found == [each for each in sorted_positions(calls, {1, 2, 3}) if wanted.holds(values_of(calls, each))]


@pytest.mark.parametrize("seed", SEEDS)
def test_outliers_and_slowest_calls_are_those_of_a_whole_sort(seed: int) -> None:
    calls = indexed(MadeUpRecording(seed, plain=PLAIN[:5]))
    found = sorted_positions(calls, {1, 2})
    assert ORDERS["slowest"](calls, found, 5) == sorted(
        found, key=lambda each: calls.starts[each] - calls.ends[each])[:5]
    outcomes = {each: (calls.hows[each], repr(calls.call_at(each).result)) for each in found}
    counts = Counter(outcomes.values())
    ranks = [(calls.hows[each] != RAISED, counts[outcomes[each]]) for each in ORDERS["outliers"](calls, found, 20)]
    assert ranks == sorted((calls.hows[each] != RAISED, counts[outcomes[each]]) for each in found)[:20]


@pytest.mark.parametrize("wanted", [*PLAIN[:-1], ("odd",)], ids=repr)
def test_a_value_is_found_wherever_a_call_has_it(wanted: Any) -> None:
    calls = indexed(MadeUpRecording(2))
    plain: Counter[tuple[int, str, str | None]] = Counter()
    for call in calls.calls_at(range(len(calls))):
        seen = [(GIVEN, name, value) for name, value in call.named_arguments]
        seen += [(RETURNED_BY, None, call.value)] if call.how == RETURNED else []
        seen += [(LOCAL, name, value) for name, value in pairs_of(call.extra.get("locals", ()))]
        plain.update((call.function.id, how, name) for how, name, value in seen if holds_value(value, wanted))
    sites = sightings_of_value(calls, wanted)
    places = [(calls.function_ids[calls.positions[site.first[2]]], *site.first[1:4:2]) for site in sites]
    assert Counter(dict(zip(places, (site.count for site in sites), strict=True))) == plain


def test_an_attribute_is_told_of_where_it_was_another_one() -> None:
    calls = indexed(MadeUpRecording(3))
    numbers = {site.first[0] for site in changes_of_name(calls, ".price")}
    having = [call.number for call in calls.calls_at(range(len(calls)))
              if any("'price'" in repr(each) for each in call.arguments)]
    assert having and min(having) in numbers


@pytest.mark.parametrize("seed", SEEDS)
def test_two_runs_differ_alike_if_parts_are_compared_as_a_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (indexed(MadeUpRecording(seed, odd=odd)) for odd in ((), (30, 31, 100)))
    monkeypatch.setattr(common_parts, "LEAST_PACKED", 1)
    quick = [RunComparison.of(one, other), RunComparison.of(other, one), RunComparison.of(one, one)]
    monkeypatch.setattr(RunComparison, "_find_common_part", lambda *_: None)
    plain = [RunComparison.of(one, other), RunComparison.of(other, one), RunComparison.of(one, one)]
    assert [list(each.groups.items()) for each in quick] == [list(each.groups.items()) for each in plain]
    assert [each.matched for each in quick] == [each.matched for each in plain]
    assert quick[0].groups and not quick[2].groups


THING = ("O", "Thing", 1 << 46, ["number", 1])
NUMBER = 1 << 46


@pytest.mark.parametrize(("value", "other", "is_alike"), [
    (THING, (*THING[:2], 3 << 45, THING[3]), True),
    (THING, ("O", "Other", *THING[2:]), False),
    (THING, (*THING[:3], ["number", 2]), False),
    (THING, (*THING[:3], ["number", True]), False),
    (THING, (*THING[:2], 1, THING[3]), False),
    (NUMBER, NUMBER + 1, False),
    (("L", 2, [THING, NUMBER]), ("L", 2, [THING, NUMBER + 1]), False),
    (("X", "Thing", [], NUMBER), ("X", "Thing", [], NUMBER + 1), False),
], ids=["id", "class", "attribute", "kind of attribute", "short id", "number", "number after an object", "exception"])
def test_packed_values_are_alike_if_only_the_ids_of_objects_differ(value: Any, other: Any, is_alike: bool) -> None:
    one, two = (packed_column.pack(fresh([THING, each, THING, "end"])) for each in (value, other))
    assert packed_column.are_alike(one, one) and packed_column.are_alike(one, two) is is_alike


def test_pieces_of_calls_end_at_the_same_calls_however_early_some_are_written() -> None:
    calls = OpenCalls(cast(Any, SimpleNamespace(known={})), cast(Any, None), 1 << 20)
    written: list[int] = []
    for moment in range(3 * PIECE):
        calls.ended += [*ONE_CALL]
        if len(calls.ended) >= calls.full_piece:
            calls.pack_ended()
        if moment in (100, 110, 300):
            written += (each.length for each in calls.take_pieces())
    written += (each.length for each in calls.take_pieces())
    assert written == [101, 10, PIECE - 111, 301 - PIECE, 2 * PIECE - 301, PIECE]


def test_runs_with_the_same_calls_share_who_called_whom() -> None:
    one, other, longer = (indexed(MadeUpRecording(1, odd=odd)) for odd in ((), (), (30,)))
    RunComparison.of(one, other)
    RunComparison.of(one, longer)
    assert other.tree is one.tree and longer.tree is not one.tree
    assert longer.positions.get(longer.numbers[-1]) == len(longer) - 1


def test_what_falls_out_is_forgotten_without_reading_the_rest_again() -> None:
    recording = MadeUpRecording(5)
    calls = indexed(recording)
    whole = [calls.call_at(each) for each in calls.order]
    recording.lost = {"0.ocr", "1.ocr"}
    assert calls.read_more()
    fresh = MadeUpRecording(5)
    fresh.chunks = [each for each in fresh.chunks if each[0].file not in recording.lost | {"0.ocr", "1.ocr"}]
    expected = indexed(fresh)
    found = [calls.call_at(each) for each in calls.order]
    assert repr(found) == repr([expected.call_at(each) for each in expected.order])
    assert 0 < len(found) < len(whole)
    assert (calls.catching, calls.tree.sizes) == (expected.catching, expected.tree.sizes)


def test_a_recording_is_read_before_anybody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = MadeUpRecording(6)
    recording.names.append(("Z", {"rested": []}))
    monkeypatch.setattr(RecordingPlace, "open", lambda place: recording)
    monkeypatch.setattr(MadeUpRecording, "has_lost", lambda each: False, raising=False)

    async def flush() -> None:
        pass

    files = SimpleNamespace(folders=lambda: ["1-1"], flush=flush)
    run = RecordedRun(KnownRecordings(cast(Any, SimpleNamespace(recording=files))), View(), ExportFolder(None))

    async def ask() -> int:
        run.read_ahead()
        await asyncio.sleep(0)  # it begins
        monkeypatch.setattr(recording, "new_places", lambda: iter(()), raising=False)
        return (await run.slow()).recorded_calls

    assert asyncio.run(ask()) == len(recording.ended) + 1
