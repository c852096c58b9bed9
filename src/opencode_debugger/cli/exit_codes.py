"""Exit codes of the commands that ask a relay."""

from __future__ import annotations

from typing import Any

DONE = 0
FAILED = 1
WRONG_USAGE = 2
ENDED = 10
RUNNING = 11
INTERRUPTED = 130

MEANINGS = {
    DONE: "done; of commands that move the program: it is paused, or the session stands in the past",
    FAILED: "an error; stderr says which, and what to do; of print and look: the expression raised",
    WRONG_USAGE: "the command line was not understood",
    ENDED: "the program has ended",
    RUNNING: "the program still runs: the wait is over, or it waits for input",
    INTERRUPTED: "Ctrl-C ended the wait; the program goes on",
}
BY_STATUS = {"terminated": ENDED, "failed": ENDED, "running": RUNNING, "launching": RUNNING}


def code_of_answer(data: Any) -> int:
    """Return the exit code of an answer that is no refusal: an expression that raised is a failure to a shell."""
    return FAILED if isinstance(data, dict) and data.get("error") else DONE


def code_for(status: str | None, data: Any = None) -> int:
    """Return the exit code that says what the program does; in the past it stands still, whatever it does now."""
    is_past = isinstance(data, dict) and "past" in data
    return DONE if is_past else BY_STATUS.get(status or "", DONE)
