"""Breakpoints, throws and panics under gdb: decided inside it, where a step goes on past one that does not stop."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ....errors import RelayError
from ....operations.advice import advice
from ...shapes import Bound, DebuggerBreakpoint, ExceptionRule
from ..native_breakpoints import Answers, NativeBreakpoints
from ..native_exceptions import NativeExceptions, panic_rules


class GdbBreakpoints(NativeBreakpoints):
    def reset(self) -> None:
        super().reset()
        self.hit_numbers: set[int] = set()
        """those of which gdb has told that they are about to stop the program"""
        self.is_only_halted = False
        """the debug server takes breakpoints only while its program is halted"""

    def reached_numbers(self, ids: list[int]) -> list[int]:
        hit, self.hit_numbers = self.hit_numbers, set()
        return sorted(hit)

    def _define_rules(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> None:
        """Do nothing: nothing is decided here."""

    async def place_lines(self, path: str, wanted: list[DebuggerBreakpoint]) -> Answers:
        return await self._place_group(path, [{**asdict(bp), "path": path} for bp in wanted])

    async def place_functions(self, wanted: list[DebuggerBreakpoint]) -> Answers:
        return await self._place_group("functions", [asdict(bp) for bp in wanted])

    async def _place_group(self, group: str, wanted: list[dict[str, Any]]) -> Answers:
        return list(await self._conversation.call_inside("place_group", always=True, group=group, wanted=wanted))

    async def hits(self) -> dict[int, int]:
        counted = await self._conversation.call_inside("hits", always=True)
        return {int(number): hits for number, hits in counted.items()}

    def _require_halted(self) -> None:
        if self.is_only_halted and self._program.is_running and self._program.started.done():
            message = "This debug server takes breakpoints only while the program is halted"
            suggestion = advice("Pause it with {pause}, then set the breakpoint")
            raise RelayError("INVALID_SESSION_STATE", message, suggestion=suggestion)

    async def set_breakpoints(self, path: str, breakpoints: list[DebuggerBreakpoint]) -> list[Bound]:
        self._require_halted()
        return await super().set_breakpoints(path, breakpoints)

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        self._require_halted()
        await super().set_exceptions(rules)


class GdbExceptions(NativeExceptions):
    def __post_init__(self) -> None:
        super().__post_init__()
        self._throw_id: int | None = None
        """gdb's number of the breakpoint where C++ throws"""
        self._panic_ids: list[int] = []
        """and of those where Rust panics"""
        self.stopped_at_throw = self.stopped_at_panic = False

    @property
    def is_throwing(self) -> bool:
        return self.stopped_at_throw

    def is_panicking(self, thread_id: int) -> bool:
        return self.stopped_at_panic

    async def set_rules(self, rules: list[ExceptionRule]) -> None:
        self._check_rules(rules, conditions=True)
        thrown = [asdict(rule) for rule in rules if "raised" in rule.filters]
        panicked = [asdict(rule) for rule in panic_rules(rules)] if self._program.is_rust else []
        set_now = await self._conversation.call_inside("set_rules", always=True, rules=thrown, panics=panicked)
        self._throw_id, self._panic_ids = set_now

    def recognise_stop(self, ids: list[int]) -> bool:
        """Say if a stop at these breakpoints is a throw or a panic, and remember which."""
        self.stopped_at_throw = self._throw_id in ids
        self.stopped_at_panic = any(id in ids for id in self._panic_ids)
        return self.stopped_at_throw or self.stopped_at_panic
