"""Two recorded runs compared, call by call: where they part first, and what else differs.

Calls are matched by function and call path, for each thread and task: the children of two calls that were matched are
matched in their turn. Values are the same if their texts are: addresses and identities differ in every run."""

from __future__ import annotations

import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from ..call_tree import NOWHERE
from ..recorded_calls import LINE, Function, RecordedCalls, Step
from ..recorded_values import pairs_of
from .common_parts import CommonPart, DifferingCalls, caught_errors, differing_calls, find_common_part
from .same_values import are_same, comparable_text, differing_pairs, is_same

ARGUMENTS, OUTCOME, CHANGES, ONLY_A, ONLY_B = "arguments", "outcome", "line", "only_a", "only_b"
"""kinds of differences"""
MOST_MATCHED = 300_000
"""pairs of calls in two lists among which those that fit best are looked for; in longer lists only at the beginnings"""

Pair = tuple[int | None, int | None]
"""positions of matched calls; None where the other side has none"""


class LineDifference(NamedTuple):
    """The first line of two calls after which they differ: the lines that were taken, and what each changed."""

    a: int | None
    b: int | None
    changes: list[tuple[str, str | None, str | None]]


class Difference(NamedTuple):
    at: float
    """when it was, as the first run counts"""
    kind: str
    a: int | None
    b: int | None
    is_parting: bool = False
    """whether from here on they go other ways: one calls what the other does not, or raises"""
    line: LineDifference | None = None
    has_same_arguments: bool = False
    """of an outcome: so that the function itself is what differs, or something that it looks at"""


@dataclass
class DifferenceGroup:
    """Differences of one kind in calls of one function."""

    first: Difference
    count: int = 0


class TakenLine(NamedTuple):
    number: int
    line: int
    from_start: int
    """lines from the beginning of the function"""
    changes: list[tuple[str, str]]


@dataclass
class RunSide:
    """One of the two runs, with what is asked of it often."""

    calls: RecordedCalls
    keys: dict[int, int] = field(default_factory=dict)
    """what functions are known by on both sides, by their ids"""
    with_lines: set[int] = field(init=False)
    """ids of functions whose lines were recorded"""
    _steps: dict[int, list[Step]] | None = None

    def __post_init__(self) -> None:
        self.with_lines = {id for id, each in self.calls.functions.items() if each.has_lines}

    @cached_property
    def keys_in_turn(self) -> array[int]:
        """The keys of all calls."""
        ids = self.calls.function_ids
        known = {id: self.keys.get(id, NOWHERE) for id in set(ids)}
        if all(id == key for id, key in known.items()):
            return ids
        return array("i", list(map(known.__getitem__, ids)))

    def key_at(self, position: int) -> int:
        return self.keys.get(self.calls.function_ids[position], NOWHERE)

    def children(self, position: int) -> list[int]:
        return self.calls.tree.children_of(position)

    def call_key(self, position: int) -> tuple[Any, ...]:
        """Return what a call has in common with one of the other run that is the same."""
        return (self.key_at(position), *map(comparable_text, self.calls.arguments_at(position)))

    def taken_lines(self, position: int) -> list[TakenLine]:
        """Return the lines that a call took, with what each changed."""
        if self._steps is None:
            self._steps = defaultdict(list)
            for step in self.calls.all_steps():
                self._steps[step.call].append(step)
        steps = sorted(self._steps.get(self.calls.numbers[position], ()), key=lambda step: step.number)
        function = self.calls.functions.get(self.calls.function_ids[position])
        start = function.line if function else 0
        return [
            TakenLine(after.number if after else step.number, step.line, step.line - start, _change_texts(after))
            for step, after in zip_longest(steps, steps[1:]) if step.kind == LINE
        ]


@dataclass
class RunComparison:
    a: RunSide
    b: RunSide
    groups: dict[tuple[str, bool, bool, int], DifferenceGroup] = field(default_factory=dict)
    matched: int = 0
    """pairs of calls that were compared"""
    _at: float = 0.0
    _common: CommonPart | None = None
    """where both do the same, and what is to be compared yet"""

    @classmethod
    def of(cls, a: RecordedCalls, b: RecordedCalls) -> RunComparison:
        b.share_order(a)
        comparison = cls(*_sides(a, b))
        for pairs in comparison._lanes():
            comparison._at = 0.0
            comparison._compare(pairs)
        return comparison

    def _lanes(self) -> Iterator[list[Pair]]:
        """Return the outermost calls of each thread and task, matched."""
        roots_a, roots_b = _roots_by_lane(self.a), _roots_by_lane(self.b)
        for name in [each for each in roots_a if each in roots_b]:
            yield self._match(roots_a.pop(name), roots_b.pop(name))
        for positions in roots_a.values():  # their names differ: those that begin with the same function are the same
            begins = self.a.key_at(positions[0])
            other = next((name for name, each in roots_b.items() if self.b.key_at(each[0]) == begins), None)
            yield self._match(positions, roots_b.pop(other) if other is not None else [])
        for positions in roots_b.values():
            yield self._match([], positions)

    def _compare(self, pairs: list[Pair]) -> None:
        """Compare calls and all that is below them, in the order in which the first run has it."""
        waiting: list[tuple[str, int | None, int | None, LineDifference | None]] = []
        waiting += ((ARGUMENTS, a, b, None) for a, b in reversed(pairs))
        while waiting:
            kind, a, b, line = waiting.pop()
            if kind == ARGUMENTS and a is not None and b is not None and (part := self._find_common_part(a, b)):
                self._wait_with(part)
                continue
            self._compare_common()
            if a is None or b is None:
                self._note_single(a, b)
            elif kind == OUTCOME:
                self._compare_outcomes(a, b)
            elif kind == CHANGES:
                self._note(Difference(self._at, CHANGES, a, b, line=line))
            else:
                self._compare_arguments(a, b)
                if self.a.calls.tree.has_children(a) or self.b.calls.tree.has_children(b) or self._has_lines(a, b):
                    waiting.append((OUTCOME, a, b, None))
                    waiting += reversed(list(self._inside(a, b)))
                else:
                    self._compare_outcomes(a, b)
        self._compare_common()

    def _inside(self, a: int, b: int) -> Iterator[tuple[str, int | None, int | None, LineDifference | None]]:
        """Return the calls inside of two, matched, and where among them the lines begin to differ."""
        found = self._line_difference(a, b)
        until, line = found if found else (0, None)
        for inner in self._match(self.a.children(a), self.b.children(b)):
            if line is not None and inner[0] is not None and self.a.calls.numbers[inner[0]] > until:
                yield CHANGES, a, b, line
                line = None
            yield ARGUMENTS, *inner, None
        if line is not None:
            yield CHANGES, a, b, line

    def _compare_arguments(self, a: int, b: int) -> None:
        self.matched += 1
        self._at = self.a.calls.numbers[a]
        if not self._have_same_arguments(a, b):
            self._note(Difference(self._at, ARGUMENTS, a, b))

    def _compare_outcomes(self, a: int, b: int) -> None:
        calls_a, calls_b = self.a.calls, self.b.calls
        self._at = max(self._at, calls_a.lasts[a])
        if calls_a.hows[a] != calls_b.hows[b] or not is_same(calls_a.value_at(a), calls_b.value_at(b)) or (
                caught_errors(calls_a, a) != caught_errors(calls_b, b)):
            self._note_outcome(self._at, a, b, self._have_same_arguments(a, b))

    def _note_outcome(self, at: float, a: int, b: int, has_same_arguments: bool) -> None:
        is_parting = self.a.calls.hows[a] != self.b.calls.hows[b]
        self._note(Difference(at, OUTCOME, a, b, is_parting, has_same_arguments=has_same_arguments))

    def _have_same_arguments(self, a: int, b: int) -> bool:
        return are_same(self.a.calls.arguments_at(a), self.b.calls.arguments_at(b))

    # Where both do the same, calls are compared all at once.

    def _find_common_part(self, a: int, b: int) -> CommonPart | None:
        part = find_common_part(self.a.calls, self.b.calls, self.a.keys_in_turn, self.b.keys_in_turn, a, b)
        return part if part and not self._has_lines_in(part) else None

    def _has_lines_in(self, part: CommonPart) -> bool:
        """Tell whether the lines of calls in it were recorded in both runs: these are compared one by one."""
        with_lines = self.a.with_lines if self.b.with_lines else set()
        return bool(with_lines) and not with_lines.isdisjoint(self.a.calls.function_ids[part.a : part.a + part.length])

    def _wait_with(self, part: CommonPart) -> None:
        """Compare a part later, with those that come right after it."""
        joined = self._common.joined(part) if self._common else part
        if joined is None:
            self._compare_common()
        self._common = joined or part

    def _compare_common(self) -> None:
        """Compare what waits, and note differences in the order in which the first run has them."""
        part, self._common = self._common, None
        if part is None:
            return
        found: list[tuple[int, bool, DifferingCalls]] = []
        for each in differing_calls(self.a.calls, self.b.calls, part):
            if not each.has_same_arguments:
                found.append((self.a.calls.numbers[each.a], False, each))
            if not each.has_same_outcome:
                found.append((self._end_of(each.a), True, each))
        for at, is_outcome, each in sorted(found):
            if is_outcome:
                self._note_outcome(at, each.a, each.b, each.has_same_arguments)
            else:
                self._note(Difference(at, ARGUMENTS, each.a, each.b))
        self.matched += part.length
        self._at = self._end_of(part.a + part.length - 1)

    def _end_of(self, a: int) -> int:
        """Return when a call and all that it called last had ended, as the first run counts."""
        calls = self.a.calls
        last = calls.lasts[a]
        while calls.tree.has_children(a):
            a = calls.tree.children_of(a)[-1]
            last = max(last, calls.lasts[a])
        return max(last, calls.numbers[a])

    def _line_difference(self, a: int, b: int) -> tuple[int, LineDifference] | None:
        """Return the first line after which two calls differ, with its number in the first run."""
        if not self._has_lines(a, b):
            return None
        taken_a, taken_b = self.a.taken_lines(a), self.b.taken_lines(b)
        for one, other in zip_longest(taken_a, taken_b):
            if one is None or other is None or one[2:] != other[2:]:
                number = one.number if one else taken_a[-1].number if taken_a else 0
                changes = differing_pairs(one.changes if one else [], other.changes if other else [])
                return number, LineDifference(one and one.line, other and other.line, changes)
        return None

    def _has_lines(self, a: int, b: int) -> bool:
        """Tell whether the lines that both calls took were recorded."""
        return self.a.calls.function_ids[a] in self.a.with_lines and self.b.calls.function_ids[b] in self.b.with_lines

    def _note_single(self, a: int | None, b: int | None) -> None:
        if a is not None:
            self._at = self.a.calls.numbers[a]
        self._note(Difference(self._at, ONLY_B if a is None else ONLY_A, a, b, is_parting=True))

    def _note(self, found: Difference) -> None:
        function = self.a.key_at(found.a) if found.a is not None else self.b.key_at(found.b or 0)
        key = (found.kind, found.is_parting, found.has_same_arguments, function)
        group = self.groups.setdefault(key, DifferenceGroup(found))
        group.count += 1
        if found.at < group.first.at:  # of another thread
            group.first = found

    # Lists of calls are matched.

    def _match(self, of_a: list[int], of_b: list[int]) -> list[Pair]:
        """Match calls in turn: if the functions are not the same, those first that have the same arguments."""
        functions_a, functions_b = list(map(self.a.key_at, of_a)), list(map(self.b.key_at, of_b))
        if functions_a == functions_b:
            return list(zip(of_a, of_b, strict=True))
        keys_a, keys_b = list(map(self.a.call_key, of_a)), list(map(self.b.call_key, of_b))
        begin = _common_length(keys_a, keys_b)
        end = _common_length(keys_a[begin:][::-1], keys_b[begin:][::-1])
        inner_a, inner_b = slice(begin, len(of_a) - end), slice(begin, len(of_b) - end)
        pairs: list[Pair] = list(zip(of_a[:begin], of_b[:begin], strict=True))
        for alike, one, other in _blocks(keys_a[inner_a], keys_b[inner_b]):
            block_a, block_b = of_a[inner_a][one], of_b[inner_b][other]
            pairs += zip(block_a, block_b, strict=True) if alike else self._match_functions(block_a, block_b)
        return pairs + list(zip(of_a[inner_a.stop :], of_b[inner_b.stop :], strict=True))

    def _match_functions(self, of_a: list[int], of_b: list[int]) -> Iterator[Pair]:
        for alike, one, other in _blocks(list(map(self.a.key_at, of_a)), list(map(self.b.key_at, of_b))):
            if alike:
                yield from zip(of_a[one], of_b[other], strict=True)
            else:
                yield from ((each, None) for each in of_a[one])
                yield from ((None, each) for each in of_b[other])


def _blocks(a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[bool, slice, slice]]:
    """Return parts of two lists in turn, and whether they are the same."""
    if not a or not b:
        yield False, slice(len(a)), slice(len(b))
    elif len(a) * len(b) > MOST_MATCHED:
        same = _common_length(a, b)
        yield True, slice(same), slice(same)
        yield False, slice(same, len(a)), slice(same, len(b))
    else:
        for tag, first_a, end_a, first_b, end_b in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            yield tag == "equal", slice(first_a, end_a), slice(first_b, end_b)


def _common_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return how many items two lists have in common at their beginning."""
    shorter = min(len(a), len(b))
    return next((index for index in range(shorter) if a[index] != b[index]), shorter)


def _sides(a: RecordedCalls, b: RecordedCalls) -> tuple[RunSide, RunSide]:
    """Return both runs with keys for their functions: a file that only one has is known by its name alone, for the
    same program may have been run from another folder. They count as ids do, so that ids mostly are keys already."""
    shared = {each.path for each in a.functions.values()} & {each.path for each in b.functions.values()}
    numbers: dict[tuple[str, str], int] = {}

    def key(function: Function) -> int:
        path = function.path if function.path in shared else os.path.basename(function.path)
        return numbers.setdefault((path, function.name), len(numbers) + 1)

    one, other = ({id: key(each) for id, each in calls.functions.items()} for calls in (a, b))
    return RunSide(a, one), RunSide(b, other)


def _roots_by_lane(side: RunSide) -> dict[str, list[int]]:
    lanes: dict[str, list[int]] = {}
    for position in side.children(NOWHERE):
        lanes.setdefault(side.calls.lane_name(side.calls.lane_ids[position]), []).append(position)
    return lanes


def functions_of_one(side: RunSide, other: RunSide) -> list[tuple[Function, int]]:
    """Return the functions that only this run has called, with how often, the most frequent first."""
    called = set(map(other.keys.get, set(other.calls.function_ids)))
    counts = Counter(side.calls.function_ids).most_common()
    return [(side.calls.functions[id], count) for id, count in counts if side.keys.get(id, NOWHERE) not in called]


def _change_texts(step: Step | None) -> list[tuple[str, str]]:
    return [(str(name), comparable_text(value)) for name, value in pairs_of(step.changes)] if step else []
