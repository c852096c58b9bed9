"""Calls that a question asks for: of some functions, for which a condition is true, in an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from itertools import repeat
from operator import itemgetter
from typing import Any

from ...errors import invalid_parameter
from .call_tree import NOWHERE
from .recorded_calls import ABOUT_CALLS, RAISED, Call, ChunkRange, Function, RecordedCalls, duration_ms
from .recorded_values import Recorded, error_text, value_text
from .value_filter import Evaluate, RecordedExpression

ConditionRow = tuple[int, int, float, Any, float, int, Recorded]
"""what conditions ask of a call: number, lane, start, arguments, end, how it ended, and with which value"""
ABOUT_VALUES = {"result", "error"}


def sorted_positions(calls: RecordedCalls, ids: set[int]) -> list[int]:
    """Return the calls of functions in the order in which they began."""
    functions = calls.function_ids
    return [position for position in calls.order if functions[position] in ids]


def outermost(calls: RecordedCalls, ids: set[int]) -> list[int]:
    """Return the calls of functions that are not within another of these."""
    functions, parents, tree = calls.function_ids, calls.parents, calls.tree

    def is_within(position: int) -> bool:
        return any(functions[above] in ids for above in tree.ancestors(position))

    beginning = [each for each in sorted_positions(calls, ids) if parents[each] == NOWHERE
                 or functions[parents[each]] not in ids]
    return [each for each in beginning if not is_within(each)]


def siblings(calls: RecordedCalls, first: Call, last: int, ids: set[int] | None) -> list[int]:
    """Return the calls from one to another that the same call has made; only those of some functions, if told."""
    made = calls.tree.children_of(calls.parents[calls.positions[first.number]])
    return [
        each for each in made
        if first.number <= calls.numbers[each] <= last and (ids is None or calls.function_ids[each] in ids)
    ]


def matching_positions(calls: RecordedCalls, ids: set[int], condition: RecordedExpression) -> list[int]:
    """Return the calls of functions that fulfil a condition, in the order in which they began."""
    holds = {id: condition.bound_to(_Finder(calls, calls.functions[id])) for id in ids}
    found: list[int] = []
    for span in calls.chunk_ranges(ids):
        rows = _condition_rows(calls, span, condition.names)
        for position, id, row in zip(range(span.first, span.end), calls.function_ids[span.first : span.end], rows,
                strict=True):
            if id in ids and holds[id](row):
                found.append(position)
    return sorted(found, key=calls.numbers.__getitem__)


def _condition_rows(calls: RecordedCalls, span: ChunkRange, names: set[str]) -> Iterator[ConditionRow]:
    """Return the calls of a chunk, without columns that a condition does not ask for: to unpack them takes longest."""
    part = slice(span.first, span.end)
    arguments = calls.arguments.at(span.chunk) if names - set(ABOUT_CALLS) else repeat(())
    values = calls.values.at(span.chunk) if names & ABOUT_VALUES else repeat(None)
    return zip(calls.numbers[part], calls.lane_ids[part], calls.starts[part], arguments, calls.ends[part],
        calls.hows[part], values, strict=False)


class _Finder:
    """Finds what conditions ask for in the row of a call: arguments go before facts of the same name."""

    def __init__(self, calls: RecordedCalls, function: Function) -> None:
        self._places = {name: place for place, name in enumerate(function.arguments)}
        self._facts: dict[str, Evaluate] = {
            "call": itemgetter(0), "result": lambda row: None if row[5] == RAISED else row[6],
            "error": lambda row: error_text(row[6]) if row[5] == RAISED else None,
            "duration_ms": lambda row: duration_ms(row[2], row[4], row[5]),
            "thread": lambda row: calls.lane_name(row[1]),
        }

    def __call__(self, name: str) -> Evaluate:
        place = self._places.get(name)
        if place is None:
            return self._facts.get(name) or _find_nothing
        return lambda row: row[3][place] if place < len(row[3]) else None


def _find_nothing(row: ConditionRow) -> Recorded:
    raise KeyError("another function has this argument")


def check_names(condition: RecordedExpression, functions: list[Function], where: str) -> None:
    known = {*ABOUT_CALLS, *(name for each in functions for name in each.arguments)}
    if unknown := sorted(condition.names - known):
        message = f"The condition asks for {', '.join(unknown)}, which no call has"
        raise invalid_parameter("where", where, message, f"It can ask for {', '.join(sorted(known))}")


def _by_time(calls: RecordedCalls, found: list[int], count: int) -> list[int]:
    return found[:count]


def _by_duration(calls: RecordedCalls, found: list[int], count: int) -> list[int]:
    return nsmallest(count, found, key=lambda each: calls.starts[each] - calls.ends[each])


def _outliers_first(calls: RecordedCalls, found: list[int], count: int) -> list[int]:
    """Return calls whose outcome hardly any other has first, exceptions before all."""
    wanted = set(found)
    keys = dict(_outcome_keys(calls, wanted))
    counts = Counter(keys.values())
    return nsmallest(count, found, key=lambda each: (calls.hows[each] != RAISED, counts[keys[each]]))


def _outcome_keys(calls: RecordedCalls, wanted: set[int]) -> Iterable[tuple[int, tuple[Any, ...]]]:
    """Return what two calls have in common that ended alike."""
    for span in calls.chunk_ranges({calls.function_ids[each] for each in wanted}):
        positions = range(span.first, span.end)
        hows, values = calls.hows[span.first : span.end], calls.values.at(span.chunk)
        for position, how, value in zip(positions, hows, values, strict=True):
            if position in wanted:
                is_plain = not isinstance(value, tuple)
                yield position, (how, type(value), value) if is_plain else (how, value_text(value))


Order = Callable[[RecordedCalls, list[int], int], list[int]]
ORDERS: dict[str, Order] = {"time": _by_time, "slowest": _by_duration, "outliers": _outliers_first}
"""each returns the first calls of so many"""
