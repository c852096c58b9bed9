"""The program under a native debugger: where it comes from, whether it runs, and how far it has come."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass
from enum import Enum

from ...errors import RelayError
from ...operations.advice import advice
from ..optional_features import refusal
from ..process.program_process import Pipes

FROM_CORE = "A core file shows a program that has crashed: it can be looked at, but not run"


class Origin(Enum):
    """The way by which the debugger came to the program."""

    NOTHING = "nothing"
    """there is none yet, or attaching to it came to nothing"""
    LAUNCHED = "launched"
    ATTACHED = "attached"
    CHILD = "child"
    """another program that is debugged has started it"""
    CORE = "core"
    """it has crashed, and its memory is looked at"""


class Motion(Enum):
    RUNNING = "running"
    HALTED = "halted"
    """all of its threads stand still: whether anybody is told may still have to be decided"""


ALLOWED = {"inspect": frozenset({Motion.HALTED}), "interrupt": frozenset({Motion.RUNNING})}
"""Things that are done with a program only in some motions."""


@dataclass(eq=False)
class NativeProgram:
    """The program, as far as all parts of an adapter know it.

    The adapter says where it comes from, the stop machine whether it moves, the shutdown how it ends."""

    kind: str
    """gdb or lldb"""
    marker: str
    """carried by everything that the session of the program starts"""

    def __post_init__(self) -> None:
        self.debugger = self.kind
        """that, or the debug server that runs the program"""
        self.reset()

    def reset(self) -> None:
        self.pid: int | None = None
        self.pipes: Pipes | None = None
        """its streams, if we started it"""
        self.origin = Origin.NOTHING
        self.motion = Motion.RUNNING
        self.is_rust = self.is_detached = False
        self.is_joined = False
        """a child that has run under its debugger, so that breakpoints may be in it"""
        self.is_ending = self.is_over = self.debugs_children = False
        self.startup_problem: str | None = None
        loop = asyncio.get_running_loop()
        self.initialized: asyncio.Future[None] = loop.create_future()
        """the debugger takes breakpoints"""
        self.started: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    @property
    def is_core(self) -> bool:
        return self.origin is Origin.CORE

    @property
    def is_attached(self) -> bool:
        return self.origin is Origin.ATTACHED

    @property
    def is_running(self) -> bool:
        return self.motion is Motion.RUNNING

    @property
    def is_held(self) -> bool:
        """It is still there, and all of its threads are halted."""
        return not (self.is_over or self.is_running)

    def allows(self, action: str) -> bool:
        return self.motion in ALLOWED[action]

    def require_halted(self) -> None:
        """Refuse to look into a program that runs."""
        if not self.allows("inspect"):
            raise self.not_halted()

    def not_halted(self) -> RelayError:
        said = f"{self.kind} looks at a program only while all of its threads are halted, and one is running"
        instead = advice("Pause it with {pause}, or wait for its next stop")
        return RelayError("INVALID_SESSION_STATE", said, suggestion=instead)

    def refusal(self, capability: str) -> RelayError:
        return refusal(self.debugger, capability)

    def send_signal(self, number: int) -> None:
        """Send it to the program, and to its whole process group if it leads one."""
        if self.pid is None or self.is_core:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            (os.killpg if os.getpgid(self.pid) == self.pid else os.kill)(self.pid, number)


def set_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
