"""Recorded calls as answers have them."""

from __future__ import annotations

from collections.abc import Iterable

from ...answers.recordings import CaughtError, NamedValue, RecordedCall
from ...answers.shape import UNSET
from .recorded_calls import RAISED, RECEIVERS, RETURNED, RUNS, UNSEEN, Call, RecordedCalls
from .recorded_values import MOST_CHARACTERS, Recorded, error_text, value_text

OUTCOMES = {RUNS: "running", RETURNED: "returned", RAISED: "raised", UNSEEN: "unseen"}


def call_row(calls: RecordedCalls, call: Call) -> RecordedCall:
    yields = call.extra.get("yields")
    return RecordedCall(
        call=call.number, function=call.function.name, path=call.function.path, line=call.function.line,
        arguments=named_values((name, value) for name, value in call.named_arguments if name not in RECEIVERS),
        outcome=OUTCOMES.get(call.how, "unseen"), value=call.result,
        raised_line=(call.extra.get("line") or UNSET) if call.how == RAISED else UNSET,
        caught=[CaughtError(error=error_text(error), line=line) for line, error in call.caught] or UNSET,
        yielded=yields[0] if yields else UNSET,
        caller=call.caller or None, caller_line=calls.call_line(call), thread=calls.lane_name(call.lane),
        started_ms=round((call.start - calls.began) * 1000, 3), duration_ms=call.duration_ms,
    )


def named_values(pairs: Iterable[tuple[str, Recorded]]) -> list[NamedValue]:
    return [NamedValue(name=str(name), value=value_text(value)[:MOST_CHARACTERS]) for name, value in pairs]
