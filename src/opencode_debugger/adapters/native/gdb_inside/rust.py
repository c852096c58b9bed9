"""Values of Rust, shown by the code that comes with rustc."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .values import Json

gdb: Any = importlib.import_module("gdb")

HASHED = ("std::collections::hash::map::HashMap<", "std::collections::hash::set::HashSet<")
MOST_BUCKETS = 1 << 20


class Registered:
    """Takes what rustc's code would register with a file of the program."""

    def __init__(self) -> None:
        self.pretty_printers: list[Any] = []


def load_printers(folder: str) -> Json:
    """From then on values are shown by it. What it cannot show, as of another version, stays as it is in memory."""
    sys.path.insert(0, folder)  # before any folder that the program's files could be in
    taken = Registered()
    importlib.import_module("gdb_lookup").register_printers(taken)

    def shown(value: Any) -> Any:
        try:
            if str(value.type.name).startswith(HASHED) and not _is_table(value):
                return None
            return next((printer for printer in (each(value) for each in taken.pretty_printers) if printer), None)
        except Exception:
            return None

    gdb.pretty_printers.append(shown)
    return {}


def _is_table(value: Any) -> bool:
    """Whether a variable has its value already: rustc's code goes through all the buckets that garbage tells of."""
    while value.type.code == gdb.TYPE_CODE_STRUCT and "bucket_mask" not in [each.name for each in value.type.fields()]:
        value = value[value.type.fields()[0]] if len(value.type.fields()) == 1 else value[_inner(value)]
    buckets = int(value["bucket_mask"]) + 1
    return buckets <= MOST_BUCKETS and not buckets & (buckets - 1) and int(value["items"]) < max(buckets, 1)


def _inner(value: Any) -> str:
    return str(next(each.name for each in value.type.fields() if each.name in ("base", "map", "table")))
