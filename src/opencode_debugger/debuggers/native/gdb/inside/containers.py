"""Pages of containers of any size, as gdb's printers list what is in them; and the printers that come with rustc."""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import gdb

if TYPE_CHECKING:
    Child = tuple[Any, Any]
    """the name that a printer gives it, or of a map its key; and the value"""

VECTOR = re.compile(r"std::(__\w+::)?(vector|deque)<")
DEQUE_BLOCK = 512
"""bytes that libstdc++ allocates at once for elements of a deque"""
SECONDS = 5.0
"""for which a request walks through a container that has no shorter way"""
HASHED = ("std::collections::hash::map::HashMap<", "std::collections::hash::set::HashSet<")
MOST_BUCKETS = 1 << 20


class TooFar(Exception):
    """A page was not reached in time. The next request goes on from `position`."""

    @property
    def position(self) -> int:
        return int(self.args[0])


class Walk:
    """Through what a printer lists, one after the other. It stays where it was, so that the next page begins there."""

    def __init__(self) -> None:
        self._children: Iterator[Child] = iter(())
        self._position = -1
        self.shown: list[Child] = []
        """the page that was asked for last"""
        self._first = 0

    def page(self, value: Any, printer: Any, start: int, count: int, total: int) -> list[Child]:
        at = _direct_access(value)
        if at is not None:
            return [(f"[{index}]", at(index)) for index in range(start, min(start + count, total))]
        if self._first <= start and start + count <= self._first + len(self.shown):
            return self.shown[start - self._first :][:count]
        if not 0 <= self._position <= start:
            self._children, self._position = _printed_children(printer), 0
        self._first, self.shown = start, []
        try:
            self._walk_to(start, count)
        except TooFar:
            raise
        except Exception:
            self._position = -1  # it cannot go on from there
            if not self.shown:
                raise
        return self.shown

    def _walk_to(self, start: int, count: int) -> None:
        deadline = time.monotonic() + SECONDS
        for child in self._children:
            self._position += 1
            if self._position > start:
                self.shown.append(child)
            if len(self.shown) == count:
                break
            if not self.shown and time.monotonic() > deadline:
                raise TooFar(self._position)


def _printed_children(printer: Any) -> Iterator[Child]:
    children: Iterator[Child] = iter(printer.children())
    if not hasattr(printer, "display_hint") or printer.display_hint() != "map":
        return children
    pairs = zip(children, children)
    return ((key if isinstance(key, gdb.Value) else gdb.Value(key), item) for (_, key), (_, item) in pairs)


def _direct_access(value: Any) -> Callable[[int], Any] | None:
    """The way to an element of what has its elements side by side in memory."""
    found = VECTOR.match(str(value.type.strip_typedefs().unqualified()))
    try:
        start = value["_M_impl"]["_M_start"] if found else None
    except gdb.error:
        return None  # of another C++ library
    if found is None or start is None:
        return None
    if found[2] == "deque":
        return lambda index: _of_deque(start, index).dereference()
    if start.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return lambda index: (start + index).dereference()
    words = start["_M_p"]
    bits = 8 * words.dereference().type.sizeof
    return lambda index: bool((words + index // bits).dereference() & (1 << index % bits))


def _of_deque(start: Any, index: int) -> Any:
    """Return the address of an element."""
    room = max(1, DEQUE_BLOCK // start["_M_cur"].dereference().type.sizeof)
    block, rest = divmod(int(start["_M_cur"] - start["_M_first"]) + index, room)
    return (start["_M_node"] + block).dereference() + rest


def load_printers(folder: str) -> None:
    """Have rustc's code show values of Rust. What it cannot show, as of another version, stays as it is in memory."""
    sys.path.insert(0, folder)  # before any folder that the program's files could be in
    taken = SimpleNamespace(pretty_printers=[])  # in the place of a file of the program
    importlib.import_module("gdb_lookup").register_printers(taken)

    def shown(value: Any) -> Any:
        try:
            if str(value.type.name).startswith(HASHED) and not _is_table(value):
                return None
            return next((printer for printer in (each(value) for each in taken.pretty_printers) if printer), None)
        except Exception:
            return None

    gdb.pretty_printers.append(shown)


def _is_table(value: Any) -> bool:
    """Say if a variable has its value already: rustc's code goes through all the buckets that garbage tells of."""
    while value.type.code == gdb.TYPE_CODE_STRUCT and "bucket_mask" not in [each.name for each in value.type.fields()]:
        fields = value.type.fields()
        inner = fields if len(fields) == 1 else [each for each in fields if each.name in ("base", "map", "table")]
        value = value[inner[0]]
    buckets = int(value["bucket_mask"]) + 1
    return buckets <= MOST_BUCKETS and not buckets & (buckets - 1) and int(value["items"]) < max(buckets, 1)
