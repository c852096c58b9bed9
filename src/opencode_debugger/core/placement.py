"""Setting, listing and removing breakpoints, and telling the debugger and the log about it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any

from ..adapters.base import Adapter
from ..errors import RelayError
from .breakpoints import Breakpoint, BreakpointTable, examine
from .debuggee import Debuggee
from .state import LIVE

FILE_WATCH = 1.0
OWN = ("id", "verified", "hit_count", "message", "suggestion")
"""What a session knows of a breakpoint besides what was set."""


class Placement:
    def __init__(self, debuggee: Debuggee, adapter: Adapter, project_root: str | None) -> None:
        self._debuggee = debuggee
        self._adapter = adapter
        self._table: BreakpointTable = debuggee.breakpoints
        self._root = project_root or "/"
        self._watch: asyncio.Task[None] | None = None
        self.changing = asyncio.Lock()
        """held while the debugger is told of breakpoints, a launch included, so that none falls between"""

    async def restore(self, definitions: list[dict[str, Any]]) -> None:
        """Those that still make sense: a line that is gone is no reason to refuse a session."""
        for definition in definitions:
            with contextlib.suppress(RelayError, KeyError, TypeError):
                (draft,) = await self._table.check([_item(definition)], False, self._adapter)
                self._table.place(draft)
        self._watch_missing_files()

    def exported(self, place: Callable[[str], str]) -> list[dict[str, Any]]:
        """As they are set, without what this session knows of them."""
        shown = ({name: value for name, value in bp.to_dict().items() if name not in OWN} for bp in self._table.all())
        return [
            {**row, "source": {"path": place(row["source"]["path"])}} if row.get("source") else row for row in shown
        ]

    async def take_over(self, definitions: list[dict[str, Any]]) -> list[str]:
        """Those of another session; says of which nothing, or nothing yet, has come."""
        warnings = []
        for index, definition in enumerate(definitions):
            where = f"{(definition.get('source') or {}).get('path')}:{definition.get('line')}"
            try:
                (draft,) = await self._table.check([_item(definition)], False, self._adapter)
            except RelayError as error:
                if error.code != "BREAKPOINT_INVALID_LINE":
                    error.details["breakpoint"] = f"breakpoints[{index}]"
                    raise
                warnings.append(f"Breakpoint at {where} was left out: {error.message}")
                continue
            self._table.place(draft)
            if draft.is_pending:
                warnings.append(f"Breakpoint at {where} waits for its file, which does not exist")
        self._watch_missing_files()
        return warnings

    def use_root(self, project_root: str | None) -> None:
        self._root = project_root or "/"
        self._table.project_root = project_root

    async def judge_again(self) -> None:
        """Another interpreter may see other lines."""
        async with self.changing:
            for bp in self._table.all():
                with contextlib.suppress(RelayError):
                    await examine(bp, False, self._adapter)

    async def put(
        self, breakpoints: list[dict[str, Any]], strict: bool = False, single: bool = False
    ) -> dict[str, Any]:
        async with self.changing:
            drafts = await self._table.check(breakpoints, strict, self._adapter)
            with self._table.unchanged_on_failure():
                placed = [self._table.place(draft) for draft in drafts]
                await self._send({bp.path for bp, _ in placed})
        for bp, reason in placed:
            self._announce(bp, reason)
        self._watch_missing_files()
        answer: dict[str, Any] = {"breakpoints": [bp.to_dict() for bp, _ in placed]}
        if single:
            answer |= {"breakpoint_id": placed[0][0].id, "verified": placed[0][0].verified}
        return answer

    async def remove(self, breakpoint_id: str) -> dict[str, Any]:
        async with self.changing:
            bp = self._table.find(breakpoint_id)
            with self._table.unchanged_on_failure():
                self._table.remove(bp)
                await self._send({bp.path})
        self._announce(bp, "removed")
        return {"id": bp.id, "deleted": True, "source": {"path": bp.path}, "line": bp.line}

    async def listed(self, file: str | None = None, verified: bool | None = None) -> dict[str, Any]:
        if self._debuggee.state in LIVE:
            with contextlib.suppress(RelayError):
                self._debuggee.on_hits(await self._adapter.hits())
        real = os.path.realpath(os.path.join(self._root, file)) if file else None
        shown = [
            bp.to_dict()
            for bp in self._table.all()
            if (real is None or bp.key[0] == real) and verified in (None, bp.verified)
        ]
        return {"breakpoints": shown, "total": len(shown)}

    async def _send(self, paths: set[str]) -> None:
        if self._debuggee.state not in LIVE:
            return
        self._debuggee.on_hits(await self._adapter.hits())
        for path in paths:
            group = self._table.in_file(path)
            bound = await self._adapter.set_breakpoints(path, [bp.for_debugger() for bp in group])
            for bp, result in zip(group, bound, strict=True):
                bp.bind(result)

    def _announce(self, bp: Breakpoint, reason: str) -> None:
        self._debuggee.log.add("breakpoint", {"reason": reason, "breakpoint": bp.to_dict()})

    def _watch_missing_files(self) -> None:
        if self._watch is None and self._table.pending():
            self._watch = asyncio.get_running_loop().create_task(self._verify_when_files_appear())

    async def _verify_when_files_appear(self) -> None:
        while self._table.pending():
            await asyncio.sleep(FILE_WATCH)
            await self.verify_pending()
        self._watch = None

    async def verify_pending(self) -> None:
        for bp in self._table.pending():
            if os.path.isfile(bp.path):
                await self._verify(bp)

    async def _verify(self, bp: Breakpoint) -> None:
        async with self.changing:
            try:
                await examine(bp, False, self._adapter)
            except RelayError as error:
                bp.is_pending, bp.message = False, error.message
            with contextlib.suppress(RelayError):
                await self._send({bp.path})
        self._announce(bp, "changed")

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()


def _item(definition: dict[str, Any]) -> dict[str, Any]:
    """A breakpoint as it is kept, in the form in which it is set."""
    return {**definition, "path": (definition.get("source") or {}).get("path"), "function": None}
