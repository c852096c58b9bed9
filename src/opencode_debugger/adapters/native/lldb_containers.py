"""Runs inside lldb, on its own Python: hash tables of libstdc++, which lldb takes for empty if gcc compiled them."""

from __future__ import annotations

import importlib
from typing import Any

_known: Any = importlib.import_module("lldb.formatters.cpp.gnu_libstdcpp")


class HashTable(_known.StdUnorderedMapSynthProvider):  # type: ignore[misc]
    def extract_type(self) -> Any:
        """What is kept in it: lldb asks the allocator, of which gcc says nothing."""
        return self.head.GetType().GetTemplateArgumentType(1)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    names = "^std::unordered_(multi)?(map|set)<.+> >$"
    debugger.HandleCommand(f'type synthetic add -w default -x "{names}" --python-class {__name__}.HashTable')
