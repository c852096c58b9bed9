"""Finding a line again after its file was edited: by what was written on it, and around it."""

from __future__ import annotations

import msgspec

from .by_text import shown

AROUND = 3
"""Lines before it and after it that tell it from others with the same text."""
SAME = AROUND
"""What the same text counts: it needs more than half of another line's neighbours to be outweighed."""
QUOTED = 60


class LineContent(msgspec.Struct, frozen=True):
    """What was written on a line when a breakpoint was set there."""

    text: str
    before: list[str]
    after: list[str]
    asked: str | None = None
    """the text by which a client asked for it"""

    @property
    def quoted(self) -> str:
        return repr(self.text if len(self.text) <= QUOTED else self.text[: QUOTED - 1] + "…")


def content_of(lines: list[str], line: int, asked: str | None = None) -> LineContent | None:
    """Nothing for a line that is blank or not there: nothing to find it by."""
    if not 1 <= line <= len(lines) or not lines[line - 1].strip():
        return None
    before, after = _around(lines, line, AROUND)
    return LineContent(shown(lines[line - 1]), before, after, asked)


def find_again(content: LineContent, lines: list[str], line: int) -> int:
    """Where the line is now; the same number if it is nowhere else.

    A line that was changed where it stands has its old neighbours: another one with its old text is not it."""
    if content_of(lines, line, content.asked) == content:
        return line
    candidates = {number for number, text in enumerate(lines, 1) if has_text(content, text)}
    return min({*candidates, line}, key=lambda number: (-_likeness(content, lines, number), abs(number - line)))


def has_text(content: LineContent, text: str) -> bool:
    return shown(text) == content.text or (content.asked is not None and content.asked in text)


def _likeness(content: LineContent, lines: list[str], line: int) -> int:
    if not 1 <= line <= len(lines):
        return -1
    before, after = _around(lines, line, 2 * AROUND)
    neighbours = len({*content.before} & {*before}) + len({*content.after} & {*after})
    return neighbours + SAME * has_text(content, lines[line - 1])


def _around(lines: list[str], line: int, count: int) -> tuple[list[str], list[str]]:
    """The lines next to it that are not blank, before and after."""
    before = [shown(text) for text in lines[max(0, line - 1 - 2 * count) : line - 1] if text.strip()]
    after = [shown(text) for text in lines[line : line + 2 * count] if text.strip()]
    return before[-count:], after[:count]
