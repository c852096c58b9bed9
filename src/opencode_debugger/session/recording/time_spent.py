"""Where the time of a recorded run went: by function, and by the lines from which calls were made."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ...answers.recordings import SlowFunction, SlowLine
from .call_tree import NOWHERE
from .recorded_calls import RecordedCalls

MOST_LINES = 3


@dataclass
class TimeSpent:
    """Seconds of one function."""

    count: int = 0
    own: float = 0.0
    total: float = 0.0
    waited: float = 0.0
    slowest: float = -1.0
    slowest_at: int = 0
    by_offset: list[tuple[int, float, int]] = field(default_factory=list)
    """instructions that made calls: how long these took, and how many there were"""


def time_by_function(calls: RecordedCalls) -> dict[int, TimeSpent]:
    """Return the time of each function, by its id; calls that had not ended are counted until the last that did."""
    spent: defaultdict[int, TimeSpent] = defaultdict(TimeSpent)
    times: defaultdict[tuple[int, int, int], float] = defaultdict(float)
    functions = calls.function_ids
    callers = [functions[parent] if parent != NOWHERE else NOWHERE for parent in calls.parents]
    durations = _durations(calls)
    for edge, took in zip(zip(callers, calls.offsets, functions, strict=True), durations, strict=True):
        times[edge] += took
    counts = Counter(zip(callers, calls.offsets, functions, strict=True))
    for function, (took, position) in _slowest_calls(functions, durations).items():
        spent[function].slowest, spent[function].slowest_at = took, position
    for (caller, offset, function), took in times.items():
        count = counts[caller, offset, function]
        spent[function].count += count
        spent[function].own += took
        spent[function].total += took
        if caller != NOWHERE:
            spent[caller].own -= took
            spent[caller].by_offset.append((offset, took, count))
    _count_recursion_once(calls, callers, durations, spent)
    for position, seconds in calls.waited.items():
        spent[functions[position]].waited += seconds
    return spent


def _slowest_calls(functions: array[int], durations: list[float]) -> dict[int, tuple[float, int]]:
    """Return how long the slowest call of each function took, and its position."""
    slowest = dict.fromkeys(functions, (-1.0, 0))
    most = dict.fromkeys(functions, -1.0)
    for position, (function, took) in enumerate(zip(functions, durations, strict=True)):
        if took > most[function]:
            most[function] = took
            slowest[function] = (took, position)
    return slowest


def _durations(calls: RecordedCalls) -> list[float]:
    """Return how long each call took, without the time in which it was suspended."""
    if not len(calls):
        return []
    found = [end - start for start, end in zip(calls.starts, calls.ends_so_far(), strict=True)]
    for position, seconds in calls.waited.items():
        found[position] = max(0.0, found[position] - seconds)
    return found


def _count_recursion_once(
    calls: RecordedCalls, callers: list[int], durations: list[float], spent: dict[int, TimeSpent]
) -> None:
    """Take the time of calls within another of the same function out of its total."""
    recursive = _recursive_functions(calls)
    for position, function in enumerate(calls.function_ids if recursive else ()):
        if function in recursive and (callers[position] == function or _is_within_itself(calls, position)):
            spent[function].total -= durations[position]


def _recursive_functions(calls: RecordedCalls) -> set[int]:
    """Return the functions that may have called themselves, directly or through others."""
    functions, parents = calls.function_ids, calls.parents
    edges: defaultdict[int, set[int]] = defaultdict(set)
    pairs = {(functions[parent], function) for function, parent in zip(functions, parents, strict=True) if parent >= 0}
    for caller, function in pairs:
        edges[caller].add(function)
    return {function for function in list(edges) if function in _reachable(edges, function)}


def _reachable(edges: dict[int, set[int]], start: int) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        for each in edges.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


def _is_within_itself(calls: RecordedCalls, position: int) -> bool:
    function = calls.function_ids[position]
    return any(calls.function_ids[above] == function for above in calls.tree.ancestors(position))


def slow_row(calls: RecordedCalls, id: int, spent: TimeSpent) -> SlowFunction:
    function = calls.functions[id]
    lines: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for offset, seconds, times in spent.by_offset:
        if (line := function.line_at(offset)) is not None:
            lines[line][0] += seconds
            lines[line][1] += times
    ranked = sorted(lines.items(), key=lambda each: -each[1][0])[:MOST_LINES]
    return SlowFunction(
        function=function.name, path=function.path, line=function.line, count=spent.count,
        own_ms=milliseconds(max(0.0, spent.own)), total_ms=milliseconds(spent.total),
        waited_ms=milliseconds(spent.waited), slowest=calls.numbers[spent.slowest_at],
        slowest_ms=milliseconds(spent.slowest),
        lines=[SlowLine(line=line, ms=milliseconds(seconds), count=int(times)) for line, (seconds, times) in ranked],
    )


def milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
