"""Processes that a native program starts, before there is a session for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...errors import RelayError
from ..process.foreign_process import Watched
from ..process.proc_files import children_of
from ..process.program_process import tracer_of
from ..rows import ChildRow, ProgramRow
from .debugger_process import Helper

if TYPE_CHECKING:
    from .native_shutdown import Shutdown

TO_EXEC = Path(__file__).parent / "gdb/run_to_exec.py"
LETTING_GO = 5.0
"""Seconds for the debugger of its parent to let go of a new child, which it does after it has told of it."""
NEW_COMMAND = 0.25
"""Seconds for a new process to become the program that it was started for, so that it can be told by name."""
LOOK = 0.01
ONE_PROCESS = "lldb debugs one process, gdb follows its children too"
Tell = Callable[[dict[str, Any]], None]


@dataclass
class Hold:
    """A process that jumps on the spot: where, and what was there before."""

    pid: int
    address: int
    code: bytes
    sharer: int | None = None
    """the process with which it shares its memory, and which goes on at the same place when this one has ended"""

    def undo(self) -> None:
        """Let it go on. One that cannot be let go is ended: it would be busy for ever."""
        try:
            if not self._put_back(self.pid) and self.sharer is not None:
                self._put_back(self.sharer)
        except OSError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _put_back(self, pid: int) -> bool:
        """Write what was there, and return whether there was memory to write to: one that has ended has none."""
        try:
            with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
                memory.seek(self.address)
                return memory.write(self.code) == len(self.code)
        except (FileNotFoundError, ProcessLookupError):
            return False


class NativeArrival:
    """A child that is held until its own debugger has come."""

    def __init__(self, hold: Hold, ppid: int, elder: Shutdown) -> None:
        self.hold: Hold | None = hold
        self.pid, self.elder = hold.pid, elder
        self.known = {"pid": hold.pid, "ppid": ppid, "adapter": "gdb", "interpreter": None, "fork": True}

    async def introduce(self) -> ChildRow:
        for _ in range(round(LETTING_GO / LOOK)):
            if tracer_of(self.pid) is None:  # before that no other debugger gets it
                break
            await asyncio.sleep(LOOK)
        about = cast(ChildRow, {**self.known})
        if self.hold is not None and self.hold.sharer is not None:
            await self._reach_program(self.hold)
            about["fork"], about["command"] = False, command_of(self.pid)
        about["program"] = describe_process(self.pid)
        return about

    async def _reach_program(self, hold: Hold) -> None:
        command = [sys.executable, "-I", "-S", str(TO_EXEC), str(hold.pid), str(hold.address), hold.code.hex()]
        helper = Helper(command, {}, self.elder.marker, None, lambda: None)
        try:
            await asyncio.shield(helper.ended)
        finally:
            await helper.end()
            said = helper.said.split()
            if len(said) == 2 and said[0].isdigit():
                self.hold = Hold(hold.pid, int(said[0]), bytes.fromhex(said[1]))
        if self.hold is hold and helper.said:
            raise RelayError("ATTACH_FAILED", helper.said.strip())
        if self.hold is hold:
            self.hold = None
            raise RelayError("ATTACH_FAILED", "it ended before it became a program", is_gone=True)

    def let_go(self) -> None:
        hold, self.hold = self.hold, None
        if hold is not None:
            hold.undo()


def describe_process(pid: int) -> ProgramRow:
    """Return what a process runs, where that shows."""
    found: ProgramRow = {}
    with contextlib.suppress(OSError):
        found["program"] = os.readlink(f"/proc/{pid}/exe")
    if command := command_of(pid):
        found["args"] = command[1:]
    with contextlib.suppress(OSError):
        found["cwd"] = os.readlink(f"/proc/{pid}/cwd")
    return found


def command_of(pid: int | None) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [word.decode("utf-8", "backslashreplace") for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


async def watch_spawned(tell: Tell, program: Watched) -> None:
    """Tell of children for a debugger that says nothing of forks: those that live long enough to be seen."""
    known = set(children_of(program.pid))
    while program.is_alive:
        new = set(children_of(program.pid)) - known
        known |= new
        await asyncio.gather(*(tell_spawned(tell, pid, program.pid, ONE_PROCESS) for pid in new))
        await asyncio.wait([program.ended], timeout=0.1)


async def tell_spawned(tell: Tell, pid: int, ppid: int, why_not: str | None) -> None:
    """Tell what a child that is not debugged runs: it takes it a moment to become that program."""
    parents, command = command_of(ppid), command_of(pid)
    deadline = asyncio.get_running_loop().time() + NEW_COMMAND
    while command == parents and command and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(LOOK)
        command = command_of(pid)
    shown = " ".join(command)[:1000] if command and command != parents else f"fork of {ppid}"
    tell({"pid": pid, "command": shown, "comes": False, "why_not": why_not})
