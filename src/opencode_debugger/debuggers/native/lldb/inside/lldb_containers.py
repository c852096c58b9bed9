"""Runs inside lldb, on its own Python: containers of libstdc++ that lldb takes for empty, or goes through for minutes.

Maps, sets and lists are gone through once, from node to node in memory, and only as far as somebody looks. A variable
that has no value yet can have any size, and lead anywhere: it is shown as it is in memory.
"""

from __future__ import annotations

import importlib
import struct
import time
from collections.abc import Iterator
from typing import Any

lldb: Any = importlib.import_module("lldb")
_known: Any = importlib.import_module("lldb.formatters.cpp.gnu_libstdcpp")

SECONDS = 5.0
"""for which one look goes through a container; the next one goes on from there"""
MOST_BELIEVED = 1 << 32
"""elements of a container, as lldb counts them"""
TREE_NODE = struct.Struct("<QQQQ")
"""colour, parent, left and right"""


class _Nodes:
    """What the containers below have in common: each element is at a fixed place in a node."""

    valobj: Any
    data_type: Any
    size: int | None
    """none if it cannot be a container"""
    _header = 0
    """bytes of a node before its element"""

    def update(self) -> bool:
        super().update()  # type: ignore[misc]
        self._process = self.valobj.GetProcess()
        self._found: list[int] = []
        self._rest = self._node_addresses()
        count = self._element_count()
        first = next(self._node_addresses(), 0) if count else 0
        error = lldb.SBError()
        is_there = bool(first and self._process.ReadMemory(first, 1, error) and error.Success())
        is_container = not count or (count < MOST_BELIEVED - 1 and is_there)
        self.size = count if is_container else None
        return False

    def _element_count(self) -> int:
        return int(super().num_children())  # type: ignore[misc]

    def num_children(self) -> int:
        return int(self.valobj.GetNumChildren()) if self.size is None else self.size

    def get_child_index(self, name: str) -> int:
        if self.size is None:
            return int(self.valobj.GetIndexOfChildWithName(name))
        return int(super().get_child_index(name))  # type: ignore[misc]

    def _node_addresses(self) -> Iterator[int]:
        """Yield where the nodes are, in their order."""
        raise NotImplementedError

    def _read_bytes(self, address: int, size: int) -> bytes:
        """Zeros, if it cannot be read."""
        error = lldb.SBError()
        data = self._process.ReadMemory(address, size, error) if address else b""
        return data if error.Success() and data is not None and len(data) == size else bytes(size)

    def _read_pointer(self, address: int) -> int:
        return int.from_bytes(self._read_bytes(address, 8), "little")

    def get_child_at_index(self, index: int) -> Any:
        if self.size is None:
            return self.valobj.GetChildAtIndex(index)
        if not 0 <= index < self.size:
            return None
        deadline = time.monotonic() + SECONDS
        while len(self._found) <= index:
            address = next(self._rest, 0)
            if not address:  # what is before it leads nowhere, and so does this
                return self._element_at(index, 0)
            if time.monotonic() > deadline:
                return None
            self._found.append(address)
        return self._element_at(index, self._found[index])

    def _element_at(self, index: int, node: int) -> Any:
        return self.valobj.CreateValueFromAddress(f"[{index}]", node + self._header, self.data_type)


class HashTable(_Nodes, _known.StdUnorderedMapSynthProvider):  # type: ignore[misc]
    _header = 8

    def extract_type(self) -> Any:
        """Return the type of what is kept in it: lldb asks the allocator, of which gcc says nothing."""
        return self.head.GetType().GetTemplateArgumentType(1)

    def _node_addresses(self) -> Iterator[int]:
        address = self.next.GetValueAsUnsigned(0)
        while address:
            yield address
            address = self._read_pointer(address)


class Tree(_Nodes, _known.StdMapLikeSynthProvider):  # type: ignore[misc]
    _header = TREE_NODE.size

    def _node_addresses(self) -> Iterator[int]:
        waiting: list[tuple[int, int]] = []
        address = self.Mroot.GetValueAsUnsigned(0) if self.Mheader.IsValid() else 0
        while address or waiting:
            while address:
                _, _, left, right = TREE_NODE.unpack(self._read_bytes(address, TREE_NODE.size))
                waiting.append((address, right))
                address = left
            found, address = waiting.pop()
            yield found


class List(_Nodes, _known.StdListSynthProvider):  # type: ignore[misc]
    _header = 16

    def _element_count(self) -> int:
        """lldb goes through all of it to see whether it goes round, and counts no more than 256."""
        return int(self.node.GetChildMemberWithName("_M_size").GetValueAsUnsigned(0)) if self.node.IsValid() else 0

    def _node_addresses(self) -> Iterator[int]:
        address = self.next.GetValueAsUnsigned(0)
        while address and address != self.node_address:
            yield address
            address = self._read_pointer(address)


def _summary_of(kind: type[_Nodes]) -> Any:
    def summary(value: Any, _: Any) -> str:
        shown = kind(value.GetNonSyntheticValue(), None)  # type: ignore[call-arg]
        shown.update()
        return "" if shown.size is None else f"size={shown.size}"

    return summary


show_hashtable, show_tree, show_list = _summary_of(HashTable), _summary_of(Tree), _summary_of(List)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    kinds = {"unordered_(multi)?(map|set)": HashTable, "(multi)?(map|set)": Tree, "(__cxx11::)?list": List}
    for names, kind in kinds.items():
        which = f'-w default -x "^std::{names}<.+> >$"'
        debugger.HandleCommand(f"type synthetic add {which} --python-class {__name__}.{kind.__name__}")
        show = f"{__name__}.show_{kind.__name__.lower()}"
        debugger.HandleCommand(f"type summary add {which} --expand --python-function {show}")
