"""Machine code, instruction by instruction."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

from .values import Json

gdb: Any = importlib.import_module("gdb")


def instructions(address: int, count: int) -> list[Json]:
    """As DAP describes them, as far as there is memory to read; each knows its function."""
    rows: list[Json] = []
    inferior = gdb.selected_inferior()
    architecture = inferior.architecture()
    while len(rows) < count:
        try:
            (found,) = architecture.disassemble(address, count=1)
            data = inferior.read_memory(address, found["length"])
        except gdb.MemoryError:
            break
        made = {"address": hex(address), "instruction": found["asm"], "instructionBytes": bytes(data).hex()}
        rows.append({**made, "symbol": symbol_at(address), **_source(address)})
        address += found["length"]
    return rows


def symbol_at(address: int) -> str | None:
    """The function that the address is in."""
    said = str(gdb.execute(f"info symbol {address}", to_string=True))
    name = re.split(r" \+ \d+ in section| in section", said)[0].strip()
    return None if name.startswith("No symbol matches") else name


def _source(address: int) -> Json:
    place = gdb.find_pc_line(address)
    if place.symtab is None or not place.line:
        return {}
    path = place.symtab.fullname()
    return {"location": {"path": path}, "line": place.line} if os.path.isabs(path) else {}
