"""Machine code, instruction by instruction; and the way back in a recording."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from typing import Any

from . import going, looking
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


def watch_data(place: looking.Place, command: str) -> Json:
    """Has a value watched; what the processor has no more room for is refused, and does not keep the program from going
    on."""
    looking.select(place)
    before = {each.number for each in gdb.breakpoints()}
    try:
        with going.inserted_at_once():
            said = str(gdb.execute(command, to_string=True))
    except gdb.error as error:
        for each in gdb.breakpoints():
            if each.number not in before:
                each.delete()
        return {"error": going.plainly(error)}
    return {"said": said}


def turn_back() -> Json:
    """What goes on next goes back, until it stops."""
    gdb.execute("set exec-direction reverse")
    gdb.events.stop.connect(_stopped)
    return {}


def _stopped(event: Any) -> None:
    gdb.post_event(turn_forward)  # not now: gdb is about to restore what it was


def turn_forward() -> Json:
    with contextlib.suppress(ValueError):
        gdb.events.stop.disconnect(_stopped)
    gdb.execute("set exec-direction forward")
    return {}
