"""The moment at which the program itself runs: what starts it is done."""

from __future__ import annotations

import importlib
import os
from typing import Any

from .marks import tell

gdb: Any = importlib.import_module("gdb")

_held: list[int] = []
"""descriptors that were for the program, which has its own of them now"""


def begin(held: list[int]) -> dict[str, Any]:
    _held[:] = held
    gdb.events.cont.connect(_begun)
    gdb.events.stop.connect(_begun)
    return {}


def _begun(event: Any) -> None:
    gdb.events.cont.disconnect(_begun)
    gdb.events.stop.disconnect(_begun)
    while _held:
        os.close(_held.pop())
    tell("begun")
