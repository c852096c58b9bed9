"""Whether values of two runs are the same, whichever objects they are: addresses and ids differ in every run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from marshal import dumps

from ..recorded_values import OBJECT, Recorded, value_text

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}")


def is_same(value: Recorded, other: Recorded) -> bool:
    """Tell whether two values are the same as far as they were kept: those that look the same have the same text."""
    if type(value) is type(other):
        if type(value) is not tuple:
            if value == other:
                return True
        elif len(value) == 4 == len(other) and value[0] == OBJECT == other[0]:
            parts, others = value[3], other[3]
            if value[1] == other[1] and (dumps(parts) == dumps(others) if parts else not others):
                return True
        elif dumps(value) == dumps(other):
            return True
    return comparable_text(value) == comparable_text(other)


def are_same(values: Sequence[Recorded], others: Sequence[Recorded]) -> bool:
    return len(values) == len(others) and all(map(is_same, values, others))


def differing_values(values: Iterable[Recorded], others: Iterable[Recorded]) -> list[int]:
    """Return the places at which two columns differ; most of a million values are plain and the same."""
    return [
        place for place, (value, other) in enumerate(zip(values, others, strict=True))
        if value is not other and not (type(value) is type(other) and type(value) is not tuple and value == other)
        and not is_same(value, other)
    ]


def differing_lists(lists: Sequence[Sequence[Recorded]], others: Sequence[Sequence[Recorded]]) -> set[int]:
    """Return the places at which two columns of lists differ."""
    lengths = list(map(len, lists))
    if lengths != list(map(len, others)):
        return {place for place, (one, other) in enumerate(zip(lists, others, strict=True)) if not are_same(one, other)}
    ends = list(accumulate(lengths))
    found = differing_values(chain.from_iterable(lists), chain.from_iterable(others))
    return {bisect_right(ends, place) for place in found}


def comparable_text(value: Recorded) -> str:
    text = value_text(value)
    return ADDRESS.sub("0x…", text) if "0x" in text else text


def differing_pairs(
    a: Iterable[tuple[str, str]], b: Iterable[tuple[str, str]]
) -> list[tuple[str, str | None, str | None]]:
    """Return names with the values of both sides, where these differ."""
    one, other = dict(a), dict(b)
    return [
        (name, one.get(name), other.get(name)) for name in {**one, **other}
        if ADDRESS.sub("0x…", str(one.get(name))) != ADDRESS.sub("0x…", str(other.get(name)))
    ]
