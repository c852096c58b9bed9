"""What is different when lldb looks into a program: expressions that run code, assignments, memory."""

from __future__ import annotations

import re

from .looking import Looking

RESULT = re.compile(r"^\((.+?)\) (\$\d+) = ", re.MULTILINE)
DIAGNOSTIC = re.compile(r"^error: (?:<user expression \d+>:(\d+):(\d+): )?(.*)", re.MULTILINE)
SYNTAX = re.compile(r"^(expected|extraneous|unterminated|missing|invalid (digit|suffix|preprocessing)|unexpected)\b")
CUT_SHORT = "Execution was interrupted"
NO_RESULT = "unknown error"
"""What lldb-dap makes of an expression without a value."""


class LldbLooking(Looking):
    _described: dict[int, str]

    async def _line(self, command: str) -> str:
        """What a command of lldb's own prints."""
        body = await self._request("evaluate", {"expression": command, "context": "repl"})
        return without_echo(str(body["result"]))
