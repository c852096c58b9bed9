"""What not every debugger offers: refused with what to do instead, unless an adapter has its own way."""

from __future__ import annotations

from typing import Any

from ..errors import RelayError
from .base import Bound, DataBreakpoint, Frames, Go, StackPage

METHODS = {
    "tasks": "tasks",
    "locks": "locks",
    "step_targets": "step_targets",
    "memory": "read_memory",
    "write_memory": "write_memory",
    "disassembly": "disassemble",
    "data_breakpoints": "set_data_breakpoints",
    "reverse": "reverse",
}
"""By capability, the method that an adapter has which offers it."""

CANNOT = {
    "tasks": "list tasks",
    "locks": "tell who holds which lock",
    "step_targets": "step into a chosen call",
    "memory": "show memory",
    "write_memory": "write memory",
    "disassembly": "show machine code",
    "data_breakpoints": "watch values",
    "instruction_steps": "step by instructions",
    "reverse": "go back",
}
"""By capability, what a debugger without it does not do."""

INSTEAD = {
    "tasks": "Tasks are Python's: GET /sessions/{id}/threads shows what a native program runs",
    "locks": "Python's locks are explained: GET /sessions/{id}/threads shows where the threads of a native program are",
    "step_targets": "Use step-into: it enters the first call of the line, and again after step-out the next",
    "memory": "Look at values with POST /sessions/{id}/evaluate; memory is shown of native programs",
    "write_memory": "Change values with POST /sessions/{id}/set-expression; memory is written in native programs",
    "disassembly": "Only native programs have machine code to show: launch with `program`",
    "data_breakpoints": "Use POST /sessions/{id}/step-until with an expression, or a conditional breakpoint",
    "instruction_steps": "Step by lines: only native programs have instructions to step by",
    "reverse": "Set a breakpoint earlier and POST /sessions/{id}/restart; going back needs a native program and gdb",
}


class Offered:
    """Base of adapters: each overrides what its debugger can do."""

    name = ""
    is_undebugged = False
    busy = "The debugger has not halted the program yet: one of them is busy. It pauses as soon as it can."
    """why a pause may take its time"""
    more: frozenset[str] = frozenset()
    """what it offers besides, by other means than a method of its own"""

    def held_by_another(self) -> str | None:
        return None

    @property
    def capabilities(self) -> frozenset[str]:
        own = {what for what, method in METHODS.items() if getattr(type(self), method) is not getattr(Offered, method)}
        return self.more | own

    def refusal(self, capability: str) -> RelayError:
        return RelayError(
            "NOT_SUPPORTED",
            f"The debugger of this session ({self.name}) cannot {CANNOT[capability]}",
            capability=capability,
            suggestion=INSTEAD[capability],
        )

    async def stack_page(self, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
        """Nothing is left out."""
        return StackPage(frames[start : start + levels], len(frames), True)

    async def speak_for_blocked(self, thread_id: int | None) -> None:
        """Nothing to do: it halts threads wherever they are."""

    async def tasks(self, start: int, count: int) -> dict[str, Any]:
        raise self.refusal("tasks")

    async def task_stack(self, task_id: int) -> tuple[int | None, Frames]:
        raise self.refusal("tasks")

    async def locks(self) -> dict[str, Any]:
        raise self.refusal("locks")

    async def step_targets(self, frame: int) -> dict[str, Any]:
        raise self.refusal("step_targets")

    async def read_memory(self, address: str, offset: int, count: int) -> dict[str, Any]:
        raise self.refusal("memory")

    async def write_memory(self, address: str, offset: int, data: bytes | bytearray) -> dict[str, Any]:
        raise self.refusal("write_memory")

    async def disassemble(self, address: str, offset: int, count: int) -> list[dict[str, Any]]:
        raise self.refusal("disassembly")

    async def set_data_breakpoints(self, frame: int | None, wanted: list[DataBreakpoint]) -> list[Bound]:
        raise self.refusal("data_breakpoints")

    async def address_of(self, frame: int, expression: str) -> str:
        raise self.refusal("memory")

    async def instruction(self, frame: int) -> str:
        raise self.refusal("disassembly")

    async def record(self, enabled: bool) -> dict[str, Any]:
        raise self.refusal("reverse")

    async def reverse(self, kind: str, thread_id: int, go: Go | None = None) -> None:
        raise self.refusal("reverse")
