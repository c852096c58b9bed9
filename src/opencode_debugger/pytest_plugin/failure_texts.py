"""Shows a failure as text, within a budget of characters."""

from __future__ import annotations

import os
import shlex

import msgspec

from ..answers.stop_reports import StopReport
from ..debuggers.python.inside.rpc.interrupts import nothing_runs
from ..operations.advice import spelling
from ..text.render import render_answer
from .failure_stops import FailedTest, failure_stops

_PAUSED = "paused"
"""with this a stop begins; a test that failed is not paused any more"""


def failure_text(error: BaseException, test_path: str, node_id: str, base: str, budget: int) -> str:
    """Return the stop, and as many of the frames that led to it as the budget affords; nothing if none is own code.

    No code of the program runs for it, not even a `__repr__`."""
    test = FailedTest(error, test_path, _command(test_path, node_id, base))
    texts: list[str] = []
    left = budget
    # There is no session to ask. Who wants the other locals has to stop there.
    token = spelling.set(lambda operation, *_: test.how_to_stop if operation.name == "frame_variables" else None)
    try:
        with nothing_runs():
            for report in failure_stops(test, budget):
                text = _render(report, base, left)
                if texts and len(text) > left:
                    break
                texts.append(text if len(text) <= left else text[: left - 1] + "…")
                left -= len(texts[-1]) + 1
    finally:
        spelling.reset(token)
    return "\n".join(texts)


def _command(test_path: str, node_id: str, base: str) -> str:
    """Return the command that stops a debugger at the failure; ids of tests begin at pytest's root folder."""
    _, separator, name = node_id.partition("::")
    return f"ocdb test {shlex.quote(os.path.relpath(test_path, base) + separator + name)}"


def _render(report: StopReport, base: str, budget: int) -> str:
    text = render_answer("report", msgspec.json.encode(report), base, budget=budget)
    return text.removeprefix(_PAUSED).lstrip(": ")
