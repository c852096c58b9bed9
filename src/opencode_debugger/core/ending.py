"""Parting from the program while the session stays: letting it go, or ending it."""

from __future__ import annotations

from typing import Any

from ..adapters.base import Adapter
from .debuggee import Debuggee
from .state import LIVE
from .stops import DETACHED, End

GRACE = 2.0
"""Seconds for a program that is asked to end."""


class Ending:
    def __init__(self, session_id: str, debuggee: Debuggee, adapter: Adapter) -> None:
        self._session_id = session_id
        self._debuggee = debuggee
        self._adapter = adapter

    async def detach(self) -> dict[str, Any]:
        """The program runs on without breakpoints; what it prints is still recorded if it was launched here."""
        self._debuggee.require("detach")
        pid = self._adapter.pid
        await self._adapter.detach()
        if self._debuggee.state in LIVE:
            self._debuggee.finish(End(None, DETACHED))
        return self._answer(pid) | {"detached": self._reason() == DETACHED}

    async def terminate(self, force: bool = False) -> dict[str, Any]:
        """Output, events and breakpoints stay readable."""
        self._debuggee.require("terminate")
        pid = self._adapter.pid
        self._debuggee.ending = "terminated"
        try:
            await self._adapter.terminate(0 if force else GRACE)
        finally:
            self._debuggee.ending = None
        if self._debuggee.state in LIVE:
            self._debuggee.finish(End(None, "terminated"))
        return self._answer(pid) | {"terminated": True}

    def _reason(self) -> str | None:
        return self._debuggee.end.reason if self._debuggee.end else None

    def _answer(self, pid: int | None) -> dict[str, Any]:
        end = self._debuggee.end
        ending = end.summary() if end else {}
        return {"session_id": self._session_id, "status": str(self._debuggee.state), "pid": pid, **ending}
