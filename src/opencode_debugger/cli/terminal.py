"""What people see besides the words of an answer: its colours, and notes on stderr, in one line each."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
LINES = (
    (re.compile(r"error [A-Z_]+:"), RED),
    (re.compile(r"→"), YELLOW),
    (re.compile(r">"), GREEN),
    (re.compile(r"sess_\w+ "), BOLD),
    (re.compile(r"stack:|… "), DIM),
)


def tell(note: str | None) -> None:
    if note is not None:
        print(f"ocdb: {note}", file=sys.stderr)


def for_stream(text: str, stream: TextIO) -> str:
    """Return the text with colours, if somebody looks at the stream who wants them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return "\n".join(map(_paint, text.split("\n")))


def _paint(line: str) -> str:
    for pattern, colour in LINES:
        if pattern.match(line):
            return f"\033[{colour}m{line}\033[0m"
    return line
