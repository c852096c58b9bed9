"""Tells when the interpreter begins to take modules apart: after the program, its threads and what atexit runs.

From then on our functions find the names that they use gone, one after the other. What the program still runs, such as
`__del__` methods, must not lead to them any more.
"""

from __future__ import annotations

import sys
import types
from typing import Callable

NAME = "_ocdb_end"


class FirstToGo(types.ModuleType):
    """A module to which only sys.modules refers: such modules go before those are cleared that are in use."""

    def __init__(self, at_end: Callable[[], None]) -> None:
        super().__init__(NAME)
        self._at_end = at_end
        self._is_finalizing = sys.is_finalizing

    def __del__(self) -> None:
        if self._is_finalizing():  # else the program has removed it from sys.modules
            self._at_end()


def call_at_end(at_end: Callable[[], None]) -> None:
    sys.modules[NAME] = FirstToGo(at_end)
