"""Runs inside lldb, on its own Python: containers of libstdc++ that lldb takes for empty, or goes through for minutes.

Maps, sets and lists are gone through once, from node to node in memory, and only as far as somebody looks.
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
TREE_NODE = struct.Struct("<QQQQ")
"""colour, parent, left and right"""


class _Nodes:
    """What the containers below have in common: each element is at a fixed place in a node."""

    valobj: Any
    data_type: Any
    _header = 0
    """bytes of a node before its element"""

    def update(self) -> bool:
        super().update()  # type: ignore[misc]
        self._process = self.valobj.GetProcess()
        self._found: list[int] = []
        self._rest = self._addresses()
        return False

    def _addresses(self) -> Iterator[int]:
        """Where the nodes are, in their order."""
        raise NotImplementedError

    def _read(self, address: int, size: int) -> bytes:
        error = lldb.SBError()
        data = self._process.ReadMemory(address, size, error) if address else b""
        return data if error.Success() and data is not None and len(data) == size else bytes(size)

    def _pointer(self, address: int) -> int:
        return int.from_bytes(self._read(address, 8), "little")

    def get_child_at_index(self, index: int) -> Any:
        if not 0 <= index < self.num_children():  # type: ignore[attr-defined]
            return None
        deadline = time.monotonic() + SECONDS
        while len(self._found) <= index:
            address = next(self._rest, 0)
            if not address or time.monotonic() > deadline:
                return None
            self._found.append(address)
        return self.valobj.CreateValueFromAddress(f"[{index}]", self._found[index] + self._header, self.data_type)


class HashTable(_Nodes, _known.StdUnorderedMapSynthProvider):  # type: ignore[misc]
    _header = 8

    def extract_type(self) -> Any:
        """What is kept in it: lldb asks the allocator, of which gcc says nothing."""
        return self.head.GetType().GetTemplateArgumentType(1)

    def _addresses(self) -> Iterator[int]:
        address = self.next.GetValueAsUnsigned(0)
        while address:
            yield address
            address = self._pointer(address)


class Tree(_Nodes, _known.StdMapLikeSynthProvider):  # type: ignore[misc]
    _header = TREE_NODE.size

    def _addresses(self) -> Iterator[int]:
        waiting: list[tuple[int, int]] = []
        address = self.Mroot.GetValueAsUnsigned(0) if self.Mheader.IsValid() else 0
        while address or waiting:
            while address:
                _, _, left, right = TREE_NODE.unpack(self._read(address, TREE_NODE.size))
                waiting.append((address, right))
                address = left
            found, address = waiting.pop()
            yield found


class List(_Nodes, _known.StdListSynthProvider):  # type: ignore[misc]
    _header = 16

    def num_children(self) -> int:
        """lldb goes through all of it to see whether it goes round, and counts no more than 256."""
        return int(self.node.GetChildMemberWithName("_M_size").GetValueAsUnsigned(0)) if self.node.IsValid() else 0

    def _addresses(self) -> Iterator[int]:
        address = self.next.GetValueAsUnsigned(0)
        while address and address != self.node_address:
            yield address
            address = self._pointer(address)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    for names, kind in (
        ("unordered_(multi)?(map|set)", HashTable),
        ("(multi)?(map|set)", Tree),
        ("(__cxx11::)?list", List),
    ):
        add = f'type synthetic add -w default -x "^std::{names}<.+> >$"'
        debugger.HandleCommand(f"{add} --python-class {__name__}.{kind.__name__}")
