"""Whether a line calls anything, as its bytecode tells."""

from __future__ import annotations

import dis
from types import CodeType

_CALLS = frozenset(
    number
    for number, name in enumerate(dis.opname)
    if name.startswith("CALL") and not name.startswith("CALL_INTRINSIC")
)


def on_line(code: CodeType, line: int) -> bool:
    starts = list(dis.findlinestarts(code))
    ends = [offset for offset, _ in starts[1:]] + [len(code.co_code)]
    return any(
        number == line and any(code.co_code[at] in _CALLS for at in range(offset, end, 2))
        for (offset, number), end in zip(starts, ends)
    )
