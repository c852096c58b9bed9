"""Breakpoints by what is written on a line: the line is found, or those that may have been meant are told."""

from __future__ import annotations

import os
from difflib import SequenceMatcher
from typing import Any

from ..adapters.base import Adapter
from ..errors import RelayError
from ..wording import counted
from .source import TEXT_LIMIT, read_lines

CANDIDATES = 10
ALIKE = 0.5
COMPARED = 20_000
"""Lines of a file, at most, that are compared with a text that none of them contains."""


async def find_line(path: str, text: str, occurrence: int | None, adapter: Adapter) -> int:
    """The line that contains the text."""
    if not os.path.isfile(path):
        raise RelayError(
            "BREAKPOINT_FILE_NOT_FOUND",
            f"Source file not found: {path}",
            file=path,
            suggestion="Check the path; in a file that does not exist yet, give a line",
        )
    lines = read_lines(path)
    wanted = text.strip()
    matches = [number for number, line in enumerate(lines, 1) if wanted in line]
    code = set((await adapter.examine(path))["code_lines"])
    matches = [number for number in matches if number in code] or matches
    chosen = (occurrence or 1) - 1
    if chosen < len(matches) and (occurrence is not None or len(matches) == 1):
        return matches[chosen]
    raise _not_found(path, wanted, occurrence, lines, matches, code)


def _not_found(
    path: str, text: str, occurrence: int | None, lines: list[str], matches: list[int], code: set[int]
) -> RelayError:
    quoted = repr(text[:100])
    if not matches:
        message, advice = f"No line contains {quoted}", "Take the text of one of details.candidates, or give a line"
    elif occurrence is None:
        message = f"{len(matches)} lines contain {quoted}"
        advice = f"Add occurrence (1 to {len(matches)}), more of the text, or the line of one of details.candidates"
    else:
        message = f"Only {counted(len(matches), 'line contains', 'lines contain')} {quoted}"
        advice = f"Give an occurrence from 1 to {len(matches)}"
    numbers = matches[:CANDIDATES] or _similar(text, lines, code)
    candidates: list[dict[str, Any]] = [{"line": number, "text": shown(lines[number - 1])} for number in numbers]
    return RelayError(
        "BREAKPOINT_INVALID_LINE",
        message,
        file=path,
        text=text[:TEXT_LIMIT],
        total=len(matches),
        candidates=candidates,
        suggestion=advice,
    )


def _similar(text: str, lines: list[str], code: set[int]) -> list[int]:
    """The lines with code that are most like it, the best first."""
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(text[:TEXT_LIMIT])
    scored = []
    for number in sorted(code)[:COMPARED]:
        if number > len(lines):
            break
        matcher.set_seq1(lines[number - 1].strip()[:TEXT_LIMIT])
        if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE:
            scored.append((-matcher.ratio(), number))
    return [number for _, number in sorted(scored)[:CANDIDATES]]


def shown(line: str) -> str:
    return line.strip()[:TEXT_LIMIT]
