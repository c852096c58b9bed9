"""Parts of two recorded runs in which the same functions call each other in the same order: compared as a whole.

Most of two runs is such a part, so that hardly any call of a million is looked at by itself."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from operator import sub
from typing import Any, NamedTuple

from ..packed_column import PackedColumn, are_alike, unpack_pieces
from ..recorded_calls import PackedPiece, RecordedCalls, caught_in
from ..recorded_values import error_text
from .same_values import differing_lists, differing_values

AT_ONCE = 4096
"""calls whose values are compared at once"""
LEAST_PACKED = 1024
"""calls of a part in which it is looked for what was packed of the same calls in both runs"""


class CommonPart(NamedTuple):
    """Calls of both runs that belong together: so many from these positions on."""

    a: int
    b: int
    length: int

    def joined(self, other: CommonPart) -> CommonPart | None:
        """Return both as one if the other one comes next in both runs."""
        is_next = (other.a, other.b) == (self.a + self.length, self.b + self.length)
        return CommonPart(self.a, self.b, self.length + other.length) if is_next else None


class DifferingCalls(NamedTuple):
    a: int
    b: int
    has_same_arguments: bool
    has_same_outcome: bool


def find_common_part(
    a: RecordedCalls, b: RecordedCalls, keys_a: array[int], keys_b: array[int], root_a: int, root_b: int
) -> CommonPart | None:
    """Return two calls and all that is in them, if both have the same; `keys` tell functions of both runs.

    Calls are numbered as they begin, and positions are in the order of their ends: if both orders are the same, and
    numbers of callers as well, then so is the tree."""
    size = a.tree.sizes[root_a]
    if size != b.tree.sizes[root_b]:
        return None
    part = CommonPart(root_a - size + 1, root_b - size + 1, size)
    if size == 1:
        return part
    if part.a < 0 or part.b < 0 or keys_a[part.a : root_a] != keys_b[part.b : root_b]:
        return None
    parents = a.parents[part.a : root_a]
    if min(parents) < part.a or max(parents) > root_a:
        return None  # calls of other threads are among them, or one of theirs is elsewhere
    shift = a.numbers[root_a] - b.numbers[root_b]
    has_same_order = _are_shifted(a.numbers[part.a : root_a], b.numbers[part.b : root_b], shift)
    is_same_tree = has_same_order and _are_shifted(a.callers[part.a : root_a], b.callers[part.b : root_b], shift)
    return part if is_same_tree else None


def _are_shifted(numbers: array[int], others: array[int], shift: int) -> bool:
    return set(map(sub, numbers, others)) == {shift} if shift else numbers == others


def differing_calls(a: RecordedCalls, b: RecordedCalls, part: CommonPart) -> Iterator[DifferingCalls]:
    """Return the calls of a part whose arguments or outcomes differ."""
    end_a, end_b = part.a + part.length, part.b + part.length
    given, outcomes = set[int](), set[int]()
    for first, lists, more in _unlike_values(a, b, part, a.arguments, b.arguments):
        given.update(first + place for place in differing_lists(lists, more))
    for first, values, others in _unlike_values(a, b, part, a.values, b.values):
        outcomes.update(first + place for place in differing_values(values, others))
    hows_a, hows_b = a.hows[part.a : end_a], b.hows[part.b : end_b]
    if hows_a != hows_b:
        outcomes.update(index for index, (how, other) in enumerate(zip(hows_a, hows_b, strict=True)) if how != other)
    catching = {*_catching_in(a, part.a, part.length), *_catching_in(b, part.b, part.length)}
    outcomes.update(index for index in catching
        if caught_errors(a, part.a + index) != caught_errors(b, part.b + index))
    for index in sorted(given | outcomes):
        yield DifferingCalls(part.a + index, part.b + index, index not in given, index not in outcomes)


def _unlike_values(
    a: RecordedCalls, b: RecordedCalls, part: CommonPart, column_a: PackedColumn, column_b: PackedColumn
) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """Return the values of both runs that may differ, some at once, with the index of the first in the part. Those that
    were packed of the same calls are left out if they are alike already as they are packed."""

    def unpacked(first: int, end: int) -> Iterator[tuple[int, list[Any], list[Any]]]:
        for start in range(first, end, AT_ONCE):
            stop = min(start + AT_ONCE, end)
            yield (start, a.column_part(column_a, slice(part.a + start, part.a + stop)),
                b.column_part(column_b, slice(part.b + start, part.b + stop)))

    first = 0
    for piece, other in _pieces_of_same_calls(a, b, part, column_a, column_b):
        yield from unpacked(first, piece.first - part.a)
        if not are_alike(piece.packed, other.packed):
            yield piece.first - part.a, unpack_pieces((piece.packed,)), unpack_pieces((other.packed,))
        first = piece.end - part.a
    yield from unpacked(first, part.length)


def _pieces_of_same_calls(
    a: RecordedCalls, b: RecordedCalls, part: CommonPart, column_a: PackedColumn, column_b: PackedColumn
) -> Iterator[tuple[PackedPiece, PackedPiece]]:
    if part.length < LEAST_PACKED:
        return
    shift = part.b - part.a
    others = {each.first - shift: each for each in b.packed_pieces(column_b, slice(part.b, part.b + part.length))}
    for piece in a.packed_pieces(column_a, slice(part.a, part.a + part.length)):
        other = others.get(piece.first)
        if other is not None and other.end - shift == piece.end:
            yield piece, other


def _catching_in(calls: RecordedCalls, first: int, length: int) -> Iterator[int]:
    """Return which calls of a part have handled an exception: there may be many parts, and many such calls."""
    catching = calls.catching
    return (each - first for each in catching[bisect_left(catching, first) : bisect_left(catching, first + length)])


def caught_errors(calls: RecordedCalls, position: int) -> list[str]:
    """Return the exceptions that a call has handled."""
    return [error_text(error) for _, error in caught_in(calls.extra_at(position))]
