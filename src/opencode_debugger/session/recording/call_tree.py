"""Who called whom, and where calls are, by their numbers: in arrays, for there may be millions."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

NOWHERE = -1
"""the position of a call that is not there"""
MOST_SPARSE = 32
"""numbers for each call up to which an array takes less room than a dict"""


class Positions(Protocol):
    """Finds positions of calls by their numbers."""

    def get(self, number: int, /) -> int | None: ...
    def __getitem__(self, number: int, /) -> int: ...
    def __contains__(self, number: int, /) -> bool: ...
    def in_order(self) -> array[int]:
        """Return all of them, in the order of the numbers."""

    def all_of(self, numbers: Iterable[int]) -> array[int]:
        """Return the positions of calls, NOWHERE for each that is not there."""


def find_positions(numbers: array[int]) -> Positions:
    lowest, highest = min(numbers, default=0), max(numbers, default=0)
    if highest - lowest > MOST_SPARSE * len(numbers):
        return SparsePositions(zip(numbers, range(len(numbers)), strict=True))
    return DensePositions(numbers, lowest, highest)


class SparsePositions(dict[int, int]):
    """Of calls of which most have fallen out, but not the outermost; or of numbers that somebody made up."""

    def in_order(self) -> array[int]:
        return array("i", [self[number] for number in sorted(self)])

    def all_of(self, numbers: Iterable[int]) -> array[int]:
        return array("i", [self.get(number, NOWHERE) for number in numbers])


class DensePositions:
    def __init__(self, numbers: array[int], lowest: int, highest: int) -> None:
        self._lowest = lowest
        self._places = places = array("i", [NOWHERE]) * (highest - lowest + 1)
        for position, number in enumerate(numbers):
            places[number - lowest] = position

    def get(self, number: int, /) -> int | None:
        index = number - self._lowest
        found = self._places[index] if 0 <= index < len(self._places) else NOWHERE
        return None if found == NOWHERE else found

    def __getitem__(self, number: int, /) -> int:
        found = self.get(number)
        if found is None:
            raise KeyError(number)
        return found

    def __contains__(self, number: int, /) -> bool:
        return self.get(number) is not None

    def in_order(self) -> array[int]:
        return array("i", [position for position in self._places if position >= 0])

    def all_of(self, numbers: Iterable[int]) -> array[int]:
        places, lowest, end = self._places, self._lowest, self._lowest + len(self._places)
        return array("i", [places[each - lowest] if lowest <= each < end else NOWHERE for each in numbers])


@dataclass
class CallTree:
    """Who called whom, by positions."""

    parents: array[int]
    sizes: array[int]
    """how many calls there are in each, itself included; the last one is that of NOWHERE"""
    _first: array[int]
    """the first call that each made; the last one is that of NOWHERE"""
    _next: array[int]
    """the call that the same caller made next"""

    @classmethod
    def of(cls, parents: array[int], order: array[int]) -> CallTree:
        """Return the tree of calls whose positions are given in the order in which they began."""
        sizes, first, following = [1] * (len(parents) + 1), [NOWHERE] * (len(parents) + 1), [NOWHERE] * len(parents)
        for position in reversed(order):
            parent = parents[position]
            following[position] = first[parent]
            first[parent] = position
            sizes[parent] += sizes[position]
        return cls(parents, array("i", sizes), array("i", first), array("i", following))

    @property
    def roots(self) -> list[int]:
        """Return the outermost calls, in the order of their beginning."""
        return self.children_of(NOWHERE)

    def children_of(self, position: int) -> list[int]:
        """Return the calls that a call made, in the order of their beginning."""
        return list(self._siblings_from(self._first[position]))

    def has_children(self, position: int) -> bool:
        return self._first[position] != NOWHERE

    def _siblings_from(self, position: int) -> Iterator[int]:
        following = self._next
        while position != NOWHERE:
            yield position
            position = following[position]

    def ancestors(self, position: int) -> Iterator[int]:
        while (position := self.parents[position]) != NOWHERE:
            yield position
