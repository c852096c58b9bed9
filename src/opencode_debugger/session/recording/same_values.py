"""Whether values of two runs are the same, whichever objects they are: addresses and ids differ in every run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from marshal import dumps
from typing import Any

from .recorded_values import OBJECT, Recorded, value_text

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}")


def is_same(value: Recorded, other: Recorded) -> bool:
    """Tell whether two values are the same as far as they were kept."""
    if type(value) is type(other) and (_looks_same(value, other) if type(value) is tuple else value == other):
        return True
    return comparable_text(value) == comparable_text(other)


def are_same(values: Sequence[Recorded], others: Sequence[Recorded]) -> bool:
    if len(values) != len(others):
        return False
    for value, other in zip(values, others, strict=False):
        if value is other:  # as None and small numbers are
            continue
        kind = type(value)
        if kind is type(other) and (_looks_same(value, other) if kind is tuple else value == other):
            continue  # is_same, written out: it is asked of millions
        if comparable_text(value) != comparable_text(other):
            return False
    return True


def _looks_same(value: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Tell whether two values have the same text for sure: by what was kept of them, which is found out sooner."""
    if len(value) == 4 == len(other) and value[0] == OBJECT == other[0]:
        parts, others = value[3], other[3]
        return bool(value[1] == other[1]) and (dumps(parts) == dumps(others) if parts else not others)
    return dumps(value) == dumps(other)


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
