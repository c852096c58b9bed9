"""Makes an answer keep to its budget: characters of its JSON text, never exceeded."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from .texts import clip

Json = Dict[str, Any]

ENVELOPE = 200
"""characters around the rows, what the relay adds to them included"""
_ROW = 150
"""characters of an ordinary row besides its value"""
_VALUE = 40
_SHORT_NAME = 30
_DISPENSABLE = (
    "base64",
    "encoding",
    "columns",
    "signature",
    "presentation_hint",
    "memory_bytes",
    "index_type",
    "state",
    "line",
    "dtype",
    "shape",
)


def room(budget: int, rows: int = 0) -> int:
    """What is left for values."""
    return max(0, budget - ENVELOPE - _ROW * rows)


def most_rows(budget: int) -> int:
    return max(1, (budget - ENVELOPE) // (_ROW + _VALUE))


def fitted(rows: List[Json], budget: int) -> List[Json]:
    """The rows that fit; the first always does, shortened if it must be."""
    left = budget - ENVELOPE
    kept: List[Json] = []
    for row in rows:
        needed = _size(row) + 1
        if needed > left:
            if not kept:
                kept.append(_shortened(row, left - 1))
            break
        left -= needed
        kept.append(row)
    return kept


def _size(row: Json) -> int:
    return len(json.dumps(row, ensure_ascii=False, separators=(",", ":")))


def _shortened(row: Json, room: int) -> Json:
    row = dict(row, truncated=True)
    for name in _DISPENSABLE:
        if _size(row) <= room:
            return row
        row.pop(name, None)
    for name, least in (("value", 0), ("name", _SHORT_NAME), ("type", _SHORT_NAME), ("name", 0), ("type", 0)):
        while _size(row) > room and len(row.get(name, "")) > least:
            row[name] = clip(row[name], max(least, len(row[name]) // 2))[0]
    return row
