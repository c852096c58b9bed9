"""Keeps warnings away from the program while a call is made for which nothing may run: it may show them its own way."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from . import raw
from .interrupts import is_quiet


class _Quietly:
    """Stands for a pattern of module names, and fits whatever a quiet thread does."""

    def match(self, module: Any) -> bool:
        return is_quiet()


_FILTER = ("ignore", None, Warning, _Quietly(), 0)


@contextlib.contextmanager
def no_warnings() -> Iterator[None]:
    """Not by `catch_warnings`, which does it for all threads, and makes warnings appear again that were shown once."""
    filters: Any = (raw.module_dict("warnings") or {}).get("filters")
    if type(filters) is not list:
        yield
        return
    filters.insert(0, _FILTER)
    try:
        yield
    finally:
        for place, known in enumerate(filters):
            if known is _FILTER:
                del filters[place]
                break
