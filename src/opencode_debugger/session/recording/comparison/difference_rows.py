"""Differences of two recorded runs as answers have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....answers import recordings as answers
from ....answers.shape import UNSET
from ..call_rows import call_row
from ..recorded_calls import RECEIVERS, Call, Function, RecordedCalls
from ..recorded_values import MOST_CHARACTERS, value_text
from ..value_origin import way_to
from .recording_difference import (
    ARGUMENTS,
    CHANGES,
    OUTCOME,
    Difference,
    DifferenceGroup,
    RunComparison,
    functions_of_one,
)
from .same_values import differing_pairs

MOST_WAY = 8
MOST_FUNCTIONS = 10
"""that only one run called"""


def comparison_answer(
    comparison: RunComparison, facts: dict[str, Any], other: str, budget: int,
    len_of_first: Callable[[answers.RunDifference], int], len_of_further: Callable[[answers.RunDifference], int],
) -> answers.RunComparison:
    """Return the first differences, and of the others those for which there is room."""
    groups = sorted(comparison.groups.values(), key=lambda each: each.first.at)
    first = groups[:1]
    parting = [each for each in groups if each.first.is_parting][:1] if first else []
    told = [_difference_row(comparison, each) for each in first]
    told += [_difference_row(comparison, each) for each in parting if each is not groups[0]]
    left = budget - sum(map(len_of_first, told))
    others = sorted((each for each in groups if each not in (*first, *parting)), key=_weight)
    further: list[answers.RunDifference] = []
    for row in (_difference_row(comparison, each) for each in others):
        left -= len_of_further(row)
        if left < 0:
            break
        further.append(row)
    a, b = comparison.a, comparison.b
    return answers.RunComparison(
        **facts, other=other, other_calls=len(b.calls), matched=comparison.matched, first=told[0] if told else None,
        parting=told[1] if len(told) > 1 else UNSET, further=further, total=len(groups),
        only_a=_function_rows(functions_of_one(a, b)), only_b=_function_rows(functions_of_one(b, a)),
    )


def _weight(group: DifferenceGroup) -> tuple[bool, bool, float]:
    """Return by what differences are ordered: an exception on one side first, then functions that differ though their
    arguments do not, then as they happened."""
    found = group.first
    is_exception = found.kind == OUTCOME and found.is_parting
    return not is_exception, not is_exception and not found.has_same_arguments, found.at


def _difference_row(comparison: RunComparison, group: DifferenceGroup) -> answers.RunDifference:
    found = group.first
    a, b = _call(comparison.a.calls, found.a), _call(comparison.b.calls, found.b)
    calls, call = (comparison.a.calls, a) if a else (comparison.b.calls, b)
    assert call is not None  # one of both is there
    values = [
        answers.DifferingValue(name=name, a=one and one[:MOST_CHARACTERS], b=other and other[:MOST_CHARACTERS])
        for name, one, other in _values(found, a, b)
    ]
    line = found.line
    shown = (line.a or line.b or 0) if line else 0
    return answers.RunDifference(
        kind=found.kind, function=call.function.name, path=call.function.path, count=group.count,
        same_arguments=found.has_same_arguments if found.kind == OUTCOME else UNSET,
        a=call_row(comparison.a.calls, a) if a else UNSET, b=call_row(comparison.b.calls, b) if b else UNSET,
        values=values, line_a=line.a if line else UNSET, line_b=line.b if line else UNSET,
        source=calls.source_line(call.function.path, shown) if line else UNSET,
        way=way_to(calls, call.number)[:MOST_WAY],
    )


def _call(calls: RecordedCalls, position: int | None) -> Call | None:
    return None if position is None else calls.call_at(position)


def _values(
    found: Difference, a: Call | None, b: Call | None
) -> list[tuple[str, str | None, str | None]]:
    if found.kind == CHANGES and found.line:
        return found.line.changes
    if found.kind != ARGUMENTS or a is None or b is None:
        return []
    return differing_pairs(_argument_texts(a), _argument_texts(b))


def _argument_texts(call: Call) -> Iterator[tuple[str, str]]:
    return ((name, value_text(value)) for name, value in call.named_arguments if name not in RECEIVERS)


def _function_rows(found: list[tuple[Function, int]]) -> list[answers.CalledFunction]:
    return [
        answers.CalledFunction(function=function.name, path=function.path, line=function.line, count=count)
        for function, count in found[:MOST_FUNCTIONS]
    ]
