"""Breakpoints on data: the program stops when a value is changed, or read. They live as long as the program."""

from __future__ import annotations

from typing import Any

from ...answers.machine import DataBreakpointItem, DataBreakpointList, DataBreakpointsRemoved
from ...debuggers.shapes import Bound
from ...errors import RelayError
from ...operations.advice import advice
from ..inspection.paused_program import in_frame
from ..lifecycle.debuggee import Debuggee
from . import conditions

CANNOT_WATCH = (
    "Watch a variable or a part of one that is in memory; remove another data breakpoint if there are too many"
)


class DataBreakpoints:
    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self._table = debuggee.data_breakpoints

    async def set_data_breakpoint(
        self, expression: str, access: str = "write", frame_id: int = 0, thread_id: int | None = None, **wishes: Any
    ) -> DataBreakpointItem:
        if wishes.get("hit_condition"):
            conditions.parse_hit_condition(wishes["hit_condition"])
        async with in_frame(self._debuggee, "set_data_breakpoint", frame_id, thread_id) as (adapter, frame):
            draft = self._table.make_draft(expression=expression, access=access, **wishes)
            wanted = [each.for_debugger() for each in (*self._table.known.values(), draft)]
            bound: list[Bound] = await adapter.memory.set_data_breakpoints(frame, wanted)
        if not bound[-1].verified:
            message = f"{expression[:200]!r} cannot be watched: {bound[-1].message}"
            code, shown = "BREAKPOINT_INVALID_CONDITION", expression[:1000]
            raise RelayError(code, message, expression=shown, suggestion=CANNOT_WATCH)
        draft.message = bound[-1].message
        self._table.add_breakpoint(draft)
        return draft.to_answer()

    def list_data_breakpoints(self) -> DataBreakpointList:
        known = [each.to_answer() for each in self._table.known.values()]
        return DataBreakpointList(data_breakpoints=known, total=len(known))

    async def remove_data_breakpoints(self, data_breakpoint_id: str | None = None) -> DataBreakpointsRemoved:
        """Remove one of them, or all."""
        gone = [each for each in self._table.known.values() if data_breakpoint_id in (None, each.id)]
        if data_breakpoint_id is not None and not gone:
            message = f"Data breakpoint '{data_breakpoint_id[:100]}' not found"
            suggestion = advice("{list_data_breakpoints} lists them; they end with what they watch")
            raise RelayError("BREAKPOINT_NOT_FOUND", message, suggestion=suggestion)
        kept = [each for each in self._table.known.values() if each not in gone]
        if gone:
            adapter = self._debuggee.require_adapter()
            await adapter.memory.set_data_breakpoints(None, [each.for_debugger() for each in kept])
        for each in gone:
            self._table.remove_breakpoint(each.number, "removed on request")
        return DataBreakpointsRemoved(removed=[each.to_answer() for each in gone], total=len(self._table.known))
