"""Pages of containers of any size, as gdb's printers list what is in them."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

gdb: Any = importlib.import_module("gdb")

Child = tuple[Any, Any]
"""the name that a printer gives it, or of a map its key; and the value"""

VECTOR = re.compile(r"std::(__\w+::)?(vector|deque)<")
DEQUE_BLOCK = 512
"""bytes that libstdc++ allocates at once for elements of a deque"""
SECONDS = 5.0
"""for which a request walks through a container that has no shorter way"""


class TooFar(Exception):
    """A page was not reached in time. The next request goes on from here."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Walk:
    """Through what a printer lists, one after the other. It stays where it was, so that the next page begins there."""

    def __init__(self) -> None:
        self._children: Iterator[Child] = iter(())
        self._position = -1
        self.shown: list[Child] = []
        """the page that was asked for last"""
        self._first = 0

    def page(self, value: Any, printer: Any, start: int, count: int, total: int) -> list[Child]:
        at = _direct(value)
        if at is not None:
            return [(f"[{index}]", at(index)) for index in range(start, min(start + count, total))]
        if self._first <= start and start + count <= self._first + len(self.shown):
            return self.shown[start - self._first :][:count]
        if not 0 <= self._position <= start:
            self._children, self._position = _children(printer), 0
        self._first, self.shown = start, []
        try:
            self._walk(start, count)
        except TooFar:
            raise
        except Exception:
            self._position = -1  # it cannot go on from there
            if not self.shown:
                raise
        return self.shown

    def _walk(self, start: int, count: int) -> None:
        deadline = time.monotonic() + SECONDS
        for child in self._children:
            self._position += 1
            if self._position > start:
                self.shown.append(child)
            if len(self.shown) == count:
                break
            if not self.shown and time.monotonic() > deadline:
                raise TooFar(self._position)


def _children(printer: Any) -> Iterator[Child]:
    children: Iterator[Child] = iter(printer.children())
    if not hasattr(printer, "display_hint") or printer.display_hint() != "map":
        return children
    pairs = zip(children, children)
    return ((key if isinstance(key, gdb.Value) else gdb.Value(key), item) for (_, key), (_, item) in pairs)


def _direct(value: Any) -> Callable[[int], Any] | None:
    """The way to an element of what has its elements side by side in memory."""
    found = VECTOR.match(str(value.type.strip_typedefs().unqualified()))
    try:
        start = value["_M_impl"]["_M_start"] if found else None
    except gdb.error:
        return None  # of another C++ library
    if found is None or start is None:
        return None
    if found[2] == "deque":
        return lambda index: _of_deque(start, index)
    if start.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return lambda index: (start + index).dereference()
    return lambda index: _of_bits(start["_M_p"], index)


def _of_deque(start: Any, index: int) -> Any:
    room = max(1, DEQUE_BLOCK // start["_M_cur"].dereference().type.sizeof)
    block, rest = divmod(int(start["_M_cur"] - start["_M_first"]) + index, room)
    return ((start["_M_node"] + block).dereference() + rest).dereference()


def _of_bits(words: Any, index: int) -> bool:
    word, bit = divmod(index, 8 * words.dereference().type.sizeof)
    return bool((words + word).dereference() & (1 << bit))
