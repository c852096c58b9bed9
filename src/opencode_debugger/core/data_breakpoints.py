"""Breakpoints on data: the program stops when a value is changed, or read. They live as long as the program."""

from __future__ import annotations

from typing import Any

from ..adapters.base import Bound
from ..errors import RelayError
from . import conditions
from .debuggee import Debuggee
from .inspection import in_frame


class DataPlacement:
    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self._table = debuggee.data

    async def put(
        self, expression: str, access: str = "write", frame_id: int = 0, thread_id: int | None = None, **wishes: Any
    ) -> dict[str, Any]:
        if wishes.get("hit_condition"):
            conditions.parse_hit_condition(wishes["hit_condition"])
        async with in_frame(self._debuggee, "set_data_breakpoint", frame_id, thread_id) as (adapter, frame):
            draft = self._table.new(expression=expression, access=access, **wishes)
            wanted = [*self._table.known.values(), draft]
            bound: list[Bound] = await adapter.set_data_breakpoints(frame, [each.for_debugger() for each in wanted])
        if not bound[-1].verified:
            raise RelayError(
                "BREAKPOINT_INVALID_CONDITION",
                f"{expression[:200]!r} cannot be watched: {bound[-1].message}",
                expression=expression[:1000],
                suggestion="Watch a variable or a part of one that is in memory; remove another data breakpoint if "
                "there are too many",
            )
        draft.message = bound[-1].message
        self._table.add(draft)
        return draft.to_dict()

    def listed(self) -> dict[str, Any]:
        known = [each.to_dict() for each in self._table.known.values()]
        return {"data_breakpoints": known, "total": len(known)}

    async def remove(self, data_breakpoint_id: str | None = None) -> dict[str, Any]:
        """One of them, or all."""
        gone = [each for each in self._table.known.values() if data_breakpoint_id in (None, each.id)]
        if data_breakpoint_id is not None and not gone:
            raise RelayError(
                "BREAKPOINT_NOT_FOUND",
                f"Data breakpoint '{data_breakpoint_id[:100]}' not found",
                suggestion="GET /sessions/{id}/data-breakpoints lists them; they end with what they watch",
            )
        kept = [each for each in self._table.known.values() if each not in gone]
        if gone:
            adapter = self._debuggee.require_adapter()
            await adapter.set_data_breakpoints(None, [each.for_debugger() for each in kept])
        for each in gone:
            self._table.gone(each.number, "removed on request")
        return {"removed": [each.to_dict() for each in gone], "total": len(self._table.known)}
