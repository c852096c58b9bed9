"""Lines by their text: finding the one that is asked for, and finding it again after its file was edited."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from ...errors import RelayError
from ...wording import counted
from .source_files import TEXT_LIMIT, read_lines

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter

CANDIDATES = 10
ALIKE = 0.5
COMPARED = 20_000
"""Lines of a file, at most, that are compared with a text that none of them contains."""
AROUND = 3
"""Lines before it and after it that tell it from others with the same text."""
SAME = AROUND
"""Weight of the same text: it needs more than half of another line's neighbours to be outweighed."""


async def find_line(path: str, text: str, occurrence: int | None, adapter: Adapter) -> int:
    """Return the line that contains the text."""
    if not os.path.isfile(path):
        suggestion = "Check the path; in a file that does not exist yet, give a line"
        message = f"Source file not found: {path}"
        raise RelayError("BREAKPOINT_FILE_NOT_FOUND", message, file=path, suggestion=suggestion)
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
    numbers = matches[:CANDIDATES] or _similar_lines(text, lines, code)
    candidates = [{"line": number, "text": shown_text(lines[number - 1])} for number in numbers]
    return RelayError(
        "BREAKPOINT_INVALID_LINE", message, file=path, text=text[:TEXT_LIMIT], total=len(matches),
        candidates=candidates, suggestion=advice,
    )


def _similar_lines(text: str, lines: list[str], code: set[int]) -> list[int]:
    """Return the lines with code that are most like the text, the best first."""
    from difflib import SequenceMatcher  # here, because few sessions need it, and each would carry it

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


def shown_text(line: str) -> str:
    return line.strip()[:TEXT_LIMIT]


class LineContent(msgspec.Struct, frozen=True):
    """The text of a line, and of those around it, when a breakpoint was set there."""

    text: str
    before: list[str]
    after: list[str]
    asked: str | None = None
    """the text by which a client asked for it"""


def content_of(lines: list[str], line: int, asked: str | None = None) -> LineContent | None:
    """Return the content of a line; None for a line that is blank or not there, since nothing could be found by it."""
    if not 1 <= line <= len(lines) or not lines[line - 1].strip():
        return None
    before, after = _lines_around(lines, line, AROUND)
    return LineContent(shown_text(lines[line - 1]), before, after, asked)


def find_again(content: LineContent, lines: list[str], line: int) -> int:
    """Return the number that the line has now; the same number if it is nowhere else.

    A line that was changed where it stands has its old neighbours: another one with its old text is not it."""
    if content_of(lines, line, content.asked) == content:
        return line
    candidates = {number for number, text in enumerate(lines, 1) if has_text(content, text)}
    return min({*candidates, line}, key=lambda number: (-_likeness(content, lines, number), abs(number - line)))


def has_text(content: LineContent, text: str) -> bool:
    return shown_text(text) == content.text or (content.asked is not None and content.asked in text)


def _likeness(content: LineContent, lines: list[str], line: int) -> int:
    if not 1 <= line <= len(lines):
        return -1
    before, after = _lines_around(lines, line, 2 * AROUND)
    neighbours = len({*content.before} & {*before}) + len({*content.after} & {*after})
    return neighbours + SAME * has_text(content, lines[line - 1])


def _lines_around(lines: list[str], line: int, count: int) -> tuple[list[str], list[str]]:
    """Return the lines next to it that are not blank, before and after."""
    before = [shown_text(text) for text in lines[max(0, line - 1 - 2 * count) : line - 1] if text.strip()]
    after = [shown_text(text) for text in lines[line : line + 2 * count] if text.strip()]
    return before[-count:], after[:count]
