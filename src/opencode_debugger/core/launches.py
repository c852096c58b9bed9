"""The launch that a session remembers: what was launched last, or what came with its configuration."""

from __future__ import annotations

from typing import Any

from ..errors import RelayError
from .debuggee import Debuggee
from .execution import Wait
from .starting import Starting
from .state import State

PROGRAMS = ("script", "program", "module", "code")
ONE_OF = "Provide exactly one of script, program, module and code"
EITHER = {"python_path": "venv", "venv": "python_path"}
"""One of them takes the place of the other."""


class Launches:
    def __init__(self, debuggee: Debuggee, starting: Starting, remembered: dict[str, Any] | None) -> None:
        self._debuggee = debuggee
        self._starting = starting
        self.remembered = remembered

    async def launch(
        self, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None, **wishes: Any
    ) -> dict[str, Any]:
        """Without a program: the remembered launch, with what is given here instead of what it had."""
        self._debuggee.require("launch")
        before, self.remembered = self.remembered, self._complete(wishes)
        end = self._debuggee.end
        try:
            return await self._starting.launch(wait=wait, fields=fields, budget=budget, **self.remembered)
        except BaseException:
            came_to_nothing = self._debuggee.state is State.CREATED or (end and self._debuggee.end is end)
            if came_to_nothing:
                self.remembered = before
            raise

    async def restart(
        self, wait: Wait = None, fields: list[str] | None = None, budget: int | None = None
    ) -> dict[str, Any]:
        return await self._starting.restart(self.remembered, wait, fields, budget)

    def _complete(self, wishes: dict[str, Any]) -> dict[str, Any]:
        if any(name in wishes for name in PROGRAMS):
            return wishes
        if self.remembered is None:
            raise RelayError(
                "INVALID_REQUEST",
                "Request validation failed",
                errors=[{"field": "", "message": ONE_OF, "value": None}],
                suggestion="Name what to launch: this session has not launched anything that it could launch again",
            )
        replaced = {EITHER.get(name) for name in wishes}
        return {name: value for name, value in self.remembered.items() if name not in replaced} | wishes
