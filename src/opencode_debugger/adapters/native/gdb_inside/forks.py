"""Processes that the program starts, and other programs that it becomes: told, and held where they are to be debugged.

A child that is held jumps on the spot until its own debugger has come. A SIGSTOP would be told to its parent, and gdb
takes signals away from a child that it lets go.
"""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

from . import looking, marks
from .marks import tell
from .values import Json

gdb: Any = importlib.import_module("gdb")

ON_THE_SPOT = {"x86_64": b"\xeb\xfe", "aarch64": b"\x00\x00\x00\x14"}
"""By machine: the instruction that jumps to itself."""
CHILD = re.compile(r"process (\d+)")
OTHER_USER = "it runs as another user"
OTHER_MACHINE = "this is not offered on this kind of processor"
EVALUATED = "an expression started it"

_holds = False
_is_begun = False


class Forked(gdb.Function):  # type: ignore[misc]
    """What gdb asks as the condition of a catchpoint. It never stops, so that steps go on over a fork."""

    name = "ocdb_forked"

    def __init__(self) -> None:
        super().__init__(self.name)

    def invoke(self, number: Any) -> bool:
        said = gdb.execute(f"info breakpoints {int(number)}", to_string=True)
        found = CHILD.search(said)
        if found is not None:
            child = int(found[1])
            tell("forked", pid=child, ppid=gdb.selected_inferior().pid, shares="vfork" in said, **_held(child))
        return False


def _held(child: int) -> Json:
    """Where it jumps on the spot, and what is to be put back there; or why it runs on."""
    trap = ON_THE_SPOT.get(os.uname().machine)
    if not _holds:
        return {}
    if looking.evaluating:
        return {"why_not": EVALUATED}
    if trap is None:
        return {"why_not": OTHER_MACHINE}
    try:
        if os.stat(f"/proc/{child}").st_uid != os.geteuid():
            return {"why_not": OTHER_USER}
        address = int(gdb.newest_frame().pc())  # it goes on where its parent does
        with open(f"/proc/{child}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            code = memory.read(len(trap))
            memory.seek(address)
            memory.write(trap)
    except (OSError, gdb.error) as error:
        return {"why_not": str(error)}
    return {"address": address, "code": code.hex()}


def follow(hold: bool) -> Json:
    """From now on forks are told; `hold` is for children that are to be debugged."""
    global _holds
    _holds = hold
    for kind in ("fork", "vfork"):
        gdb.execute(f"catch {kind}", to_string=True)
        number = int(gdb.parse_and_eval("$bpnum"))
        gdb.execute(f"condition {number} ${Forked.name}({number})", to_string=True)
    return {}


def release(address: int, code: str) -> Json:
    """The program is a child that was held: it can go on."""
    gdb.selected_inferior().write_memory(address, bytes.fromhex(code))
    return {}


def _executed(event: Any) -> None:
    if _is_begun:  # before that it is what gdb was told to load
        tell("exec")
        gdb.post_event(marks.enable_all)  # not now: gdb is about to look for their places


def _begun(event: Any) -> None:
    global _is_begun
    _is_begun = True


def install() -> None:
    Forked()
    if hasattr(gdb.events, "executable_changed"):
        gdb.events.executable_changed.connect(_executed)
        gdb.events.stop.connect(_begun)
        gdb.events.cont.connect(_begun)
