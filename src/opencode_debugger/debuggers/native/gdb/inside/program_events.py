"""The beginning of the program, processes that it starts, and other programs that it becomes.

Children that are to be debugged are held: such a child jumps on the spot until its own debugger has come. A SIGSTOP
would be told to its parent, and gdb takes signals away from a child that it lets go.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import gdb

from . import frames_and_scopes, gdb_breakpoints
from .gdb_breakpoints import tell_relay

if TYPE_CHECKING:
    from .row_types import HoldRow

ON_THE_SPOT = {"x86_64": b"\xeb\xfe", "aarch64": b"\x00\x00\x00\x14"}
"""By machine: the instruction that jumps to itself."""
FORKED = "ocdb_forked"

_held: list[int] = []
"""descriptors that were for the program, which has its own of them when it runs"""
_holds = False
_is_begun = False


def begin(held: list[int]) -> None:
    """From now on the beginning of the program itself is told: what starts it is done then."""
    _held[:] = held
    gdb.events.cont.connect(_on_begun)
    gdb.events.stop.connect(_on_begun)


def _on_begun(event: Any) -> None:
    global _is_begun
    _is_begun = True
    gdb.events.cont.disconnect(_on_begun)
    gdb.events.stop.disconnect(_on_begun)
    while _held:
        os.close(_held.pop())
    tell_relay("begun")


class Forked(gdb.Function):  # type: ignore[misc]
    """Tells of a fork. It never stops, so that steps go on over it."""

    def invoke(self, number: Any) -> bool:
        said = gdb.execute(f"info breakpoints {int(number)}", to_string=True)
        found = re.search(r"process (\d+)", said)
        if found is not None:
            child, parent = int(found[1]), gdb.selected_inferior().pid
            tell_relay("forked", pid=child, ppid=parent, shares="vfork" in said, **_hold_child(child))
        return False


def _hold_child(child: int) -> HoldRow:
    trap = ON_THE_SPOT.get(os.uname().machine)
    if not _holds:
        return {}
    if frames_and_scopes.evaluating:
        return {"why_not": "an expression started it"}
    if trap is None:
        return {"why_not": "this is not offered on this kind of processor"}
    try:
        if os.stat(f"/proc/{child}").st_uid != os.geteuid():
            return {"why_not": "it runs as another user"}
        address = int(gdb.newest_frame().pc())  # it goes on where its parent does
        with open(f"/proc/{child}/mem", "r+b", buffering=0) as memory:
            code = os.pread(memory.fileno(), len(trap), address)
            os.pwrite(memory.fileno(), trap, address)
    except (OSError, gdb.error) as error:
        return {"why_not": str(error)}
    return {"address": address, "code": code.hex()}


def follow(hold: bool) -> None:
    """From now on forks are told; `hold` is for children that are to be debugged."""
    global _holds
    _holds = hold
    for kind in ("fork", "vfork"):
        gdb.execute(f"catch {kind}", to_string=True)
        number = int(gdb.parse_and_eval("$bpnum"))
        gdb.execute(f"condition {number} ${FORKED}({number})", to_string=True)


def release(address: int, code: str) -> None:
    """The program is a child that was held: it can go on."""
    gdb.selected_inferior().write_memory(address, bytes.fromhex(code))


def _on_exec(event: Any) -> None:
    if _is_begun:  # before that it is what gdb was told to load
        tell_relay("exec")
        gdb.post_event(gdb_breakpoints.enable_all)  # not now: gdb is about to look for their places


def install() -> None:
    Forked(FORKED)
    if hasattr(gdb.events, "executable_changed"):
        gdb.events.executable_changed.connect(_on_exec)
