"""Gives numbers to what a debugger shows at a stop: they die when the program goes on, and are not used again."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

What = TypeVar("What")


class Handles(Generic[What]):
    def __init__(self, first: int) -> None:
        self._numbers = itertools.count(first)
        self._known: dict[int, What] = {}

    def add(self, what: What) -> int:
        number = next(self._numbers)
        self._known[number] = what
        return number

    def get(self, number: int) -> What | None:
        return self._known.get(number)

    def clear(self) -> None:
        self._known.clear()
