"""Tells which line each instruction of code is of."""

from __future__ import annotations

import dis
from types import CodeType
from typing import List, Optional, Tuple

from .python_versions import VERSION

LineRange = Tuple[int, int, Optional[int]]


def line_ranges(code: CodeType) -> List[LineRange]:
    """Return from which byte to which the code is of which line; None is of none."""
    if VERSION >= (3, 10):
        return list(code.co_lines())
    starts = [*dis.findlinestarts(code), (len(code.co_code), None)]
    return [(start, end, line) for (start, line), (end, _) in zip(starts, starts[1:])]


def lines_by_unit(code: CodeType) -> List[Optional[int]]:
    """Return the line of each two bytes of the code."""
    lines: List[Optional[int]] = [None] * (len(code.co_code) // 2)
    for start, end, line in line_ranges(code):
        lines[start // 2 : end // 2] = [line] * ((end - start) // 2)
    return lines
