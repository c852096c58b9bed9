"""The numbers by which a client knows frames and values: good while their thread stays where it is."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from ..core.debuggee import Debuggee
from ..core.threads import runs
from ..errors import RelayError

MOST = 50_000
"""Handles that are kept; a client that asks for ever at one stop loses the oldest."""


@dataclass(frozen=True)
class Place:
    """A frame, and the stack that it was seen in."""

    thread_id: int
    index: int
    frames: list[dict[str, Any]] | None
    """nothing: it was seen while its thread ran"""

    @property
    def params(self) -> dict[str, int]:
        """As operations take them."""
        return {"frame_id": self.index, "thread_id": self.thread_id}


@dataclass(frozen=True)
class Value:
    place: Place
    reference: int
    expression: str | None
    """what to write to get it in that frame; of a scope, nothing"""

    def named(self, name: str, index: int | None = None) -> str | None:
        """What to write to get something in it, where that is plain: a name, an attribute, an item."""
        if self.expression is None:
            return name if name.isidentifier() else None
        if name.isidentifier():
            return f"{self.expression}.{name}"
        if index is not None:
            return f"{self.expression}[{index}]"
        return f"{self.expression}[{name}]" if name[:1] in ("'", '"') else None


class Handles:
    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self._numbers = itertools.count(1)
        self._kept: dict[int, Place | Value] = {}
        self._known: dict[tuple[int | str, ...], int] = {}
        self._changes = -1

    def of_frame(self, thread_id: int, index: int) -> int:
        place = Place(thread_id, index, self._debuggee.stacks.get(thread_id))
        return self._number((thread_id, index), place)

    def address(self, thread_id: int, index: int) -> str | None:
        """Of a frame of a native program: where its code is."""
        frames = self._debuggee.stacks.get(thread_id) or []
        found: str | None = frames[index].get("address") if index < len(frames) else None
        return found

    def of_value(self, place: Place, reference: int, expression: str | None) -> int:
        """0 stays 0: there is nothing inside."""
        if not reference:
            return 0
        return self._number((place.thread_id, place.index, reference), Value(place, reference, expression))

    def of_expression(self, place: Place, expression: str) -> int:
        return self._number((place.thread_id, place.index, expression), Value(place, 0, expression))

    def _number(self, key: tuple[int | str, ...], what: Place | Value) -> int:
        self._forget()
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = next(self._numbers)
        self._kept[number] = what
        return number

    def _forget(self) -> None:
        """What its thread has left, and the oldest of too many."""
        if self._changes != self._debuggee.changes:
            self._changes = self._debuggee.changes
            self._kept = {number: what for number, what in self._kept.items() if self._is_good(what)}
            self._known = {key: number for key, number in self._known.items() if number in self._kept}
        elif len(self._kept) > MOST:
            gone = set(list(self._kept)[: MOST // 2])
            self._kept = {number: what for number, what in self._kept.items() if number not in gone}
            self._known = {key: number for key, number in self._known.items() if number not in gone}

    def _is_good(self, what: Place | Value) -> bool:
        place = what.place if isinstance(what, Value) else what
        return place.frames is not None and self._debuggee.is_at(place.thread_id, place.frames)

    def frame(self, number: int | None) -> Place:
        """Without a number, the top frame of the thread that is looked at."""
        if number is None:
            stop = self._debuggee.require_stop("evaluate")
            return Place(stop.thread_id, 0, self._debuggee.stacks.get(stop.thread_id))
        found = self._kept.get(number)
        if isinstance(found, Place) and found.frames is None:
            raise runs(found.thread_id)
        if not isinstance(found, Place) or not self._is_good(found):
            raise RelayError("FRAME_NOT_FOUND", f"Frame {number} is gone: the program has moved on")
        return found

    def value(self, number: int) -> Value:
        found = self._kept.get(number)
        if not isinstance(found, Value) or not self._is_good(found):
            raise RelayError("VARIABLE_NOT_FOUND", f"Reference {number} is gone: the program has moved on")
        return found
