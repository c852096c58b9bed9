"""References to objects of the program: numbers that live exactly as long as the reply that announced them."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional
from weakref import WeakValueDictionary

LOCALS, GLOBALS, VALUE = "locals", "globals", "value"


@dataclass(eq=False)
class Handle:
    """One object that a reply announced, and the objects it was reached through."""

    reference: int
    name: str
    obj: Any
    parent: Optional[Handle]
    kind: str


class Handles:
    """References by number; no number is ever given twice."""

    def __init__(self, base: int = 1000) -> None:
        self._numbers: Iterator[int] = itertools.count(base)
        self._known: WeakValueDictionary[int, Handle] = WeakValueDictionary()

    def start_at(self, base: int) -> None:
        """Continue from `base`, never below a number already given."""
        self._numbers = itertools.count(max(base, next(self._numbers)))

    def add_object(self, name: str, obj: Any, parent: Optional[Handle] = None, kind: str = VALUE) -> Handle:
        handle = Handle(next(self._numbers), name, obj, parent, kind)
        self._known[handle.reference] = handle
        return handle

    def get(self, reference: int) -> Optional[Handle]:
        return self._known.get(reference)


HANDLES = Handles()


class Reply:
    """The JSON text sent, and what keeps its references alive: drop it and they are gone."""

    __slots__ = ("handles", "text")

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.handles: List[Handle] = []

    def __repr__(self) -> str:
        return self.text

    def finish(self, data: Any) -> Reply:
        self.text = json.dumps(data, separators=(",", ":"))
        return self

    def keep_handle(self, handle: Handle) -> int:
        self.handles.append(handle)
        return handle.reference
