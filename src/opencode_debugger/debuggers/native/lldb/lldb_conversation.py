"""The conversation with lldb-dap, mostly about commands of lldb's own, and what lldb has against expressions."""

from __future__ import annotations

import asyncio
import re

from ....operations.advice import advice
from ...shapes import Asked
from ..dap_inspection import ERROR_LIMIT, RUNS_CODE, Evaluation
from ..native_conversation import GRACE, NativeConversation

DIAGNOSTIC = re.compile(r"^(?:error: )?(?:warning: )?(?:<user expression \d+>:(\d+):(\d+): )?(.*)")
SYNTAX = re.compile(r"(expected|extraneous|unterminated|missing|unexpected|invalid (digit|suffix|preprocessing))\b")
WORDY = re.compile(r"^(supposed to interpret, but failed: |Couldn't apply expression side effects : )")
NOT_INTERPRETED = "Can't evaluate the expression without a running target"
NOT_THERE = "Couldn't look up symbols:"
CRYPTIC = {
    "Couldn't dematerialize a result variable: couldn't read its memory": "Cannot access the memory that it reads",
    "Interpreter couldn't read from memory": "Cannot access the memory that it reads",
    "Execution was interrupted, reason: internal c++ exception breakpoint(-2)..": "It threw an exception of C++, past "
    "which lldb does not go",
}


class LldbConversation(NativeConversation):
    async def run_command(self, text: str) -> str:
        return without_echo(await super().run_command(text))

    async def _interrupt(self, seq: int, sent: Asked) -> None:
        """Wait: expressions have a time limit of their own here, and lldb-dap does not know `cancel`."""
        await asyncio.wait([sent], timeout=GRACE)

    async def close(self) -> None:
        """End lldb-dap, not by its own choice: it crashes when it ends, which takes longer and leaves a core file."""
        helper, self.debugger = self.debugger, None
        if helper is not None:
            await helper.end()
        await super().close()


def without_echo(text: str) -> str:
    """Cut off the command that lldb-dap repeats before what it prints."""
    return text.partition("\n")[2] if text.startswith("(lldb) ") else text


def quoted(text: str) -> str:
    """Make one word of lldb's command line."""
    return "'" + text.replace("\n", " ").replace("'", "'\"'\"'") + "'"


def explain_problem(said: str, text: str) -> Evaluation:
    """Tell what lldb has against an expression, in words that do not need its source code to be understood."""
    lines = said.strip().splitlines() or [""]
    # Warnings come first, and the lines below each show its place.
    first = DIAGNOSTIC.match(next((line for line in lines if line.startswith("error: ")), lines[0]))
    assert first is not None
    message = WORDY.sub("", first[3])
    if first[3].startswith(NOT_THERE):
        names = ", ".join(line.strip() for line in said.partition(NOT_THERE)[2].splitlines() if line.startswith("  "))
        message = f"The program has no code of its own for what this calls ({names}): it is inlined, or never used"
    elif NOT_INTERPRETED in message:
        message = advice(RUNS_CODE)
    message = CRYPTIC.get(message, message)[:ERROR_LIMIT]
    if not first[1] or not SYNTAX.match(message):
        return Evaluation(error=message)
    lines = text.splitlines() or [""]
    line, offset = int(first[1]), int(first[2])
    if line > len(lines):  # behind its end
        line, offset = len(lines), len(lines[-1]) + 1
    return Evaluation(syntax_error={"message": message, "line": line, "offset": offset, "text": text[:500]})
