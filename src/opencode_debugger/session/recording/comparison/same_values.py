"""Whether values of two runs are the same, whichever objects they are: addresses and ids differ in every run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from marshal import dumps

from ..recorded_values import OBJECT, Recorded, value_text

PLAIN = 2
"""version of marshal's format in which the same values have the same bytes, whoever else refers to them"""
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}")


def is_same(value: Recorded, other: Recorded) -> bool:
    """Tell whether two values are the same as far as they were kept: those that look the same have the same text."""
    return not differing_values((value,), (other,))


def are_same(values: Sequence[Recorded], others: Sequence[Recorded]) -> bool:
    return len(values) == len(others) and not differing_values(values, others)


def differing_values(values: Iterable[Recorded], others: Iterable[Recorded]) -> list[int]:
    """Return the places at which two columns differ. Written out, for there may be millions: most are plain and the
    same, or objects with the same attributes."""
    found = []
    for place, (value, other) in enumerate(zip(values, others, strict=True)):
        if value is other:
            continue
        kind = type(value)
        if kind is type(other):
            if kind is not tuple:
                if value == other:
                    continue
            elif len(value) == 4 == len(other) and value[0] == OBJECT == other[0]:
                parts, more = value[3], other[3]
                if value[1] == other[1] and (dumps(parts, PLAIN) == dumps(more, PLAIN) if parts else not more):
                    continue
            elif dumps(value, PLAIN) == dumps(other, PLAIN):
                continue
        if comparable_text(value) != comparable_text(other):
            found.append(place)
    return found


def differing_lists(lists: Sequence[Sequence[Recorded]], others: Sequence[Sequence[Recorded]]) -> set[int]:
    """Return the places at which two columns of lists differ."""
    lengths = list(map(len, lists))
    if lengths != list(map(len, others)):
        return {place for place, (one, other) in enumerate(zip(lists, others, strict=True)) if not are_same(one, other)}
    found = differing_values(chain.from_iterable(lists), chain.from_iterable(others))
    ends = list(accumulate(lengths)) if found else []
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
