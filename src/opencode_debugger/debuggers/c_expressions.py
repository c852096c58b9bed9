"""Reads names and expressions in languages that look like C."""

from __future__ import annotations

import re
from typing import Any

from ..files import read_source

CALLS = re.compile(r"[\w\]\)]\s*\(|(?<![=!<>])=(?!=)|\+\+|--")
"""A call or an assignment: these may change the program."""
LONGEST_PATH = 1000
"""characters before a name, in which what it is a member of is looked for"""
CAST = re.compile(r"\b(sizeof|alignof|typeof|decltype)\s*\(")


def pointed_at(path: str, line: int, column: int) -> tuple[str, dict[str, Any]]:
    """Return the name at a place in a file, with what it is a member of, and that place."""
    try:
        text = read_source(path).decode("utf-8", "replace").split("\n")[line - 1]
    except (OSError, ValueError, IndexError):
        return "", {}
    for found in re.finditer(r"[A-Za-z_]\w*", text):
        if found.start() < column <= found.end():
            first = max(0, found.start() - LONGEST_PATH)
            before = re.search(r"(?:[A-Za-z_]\w*(?:\[\w+\])?(?:\.|->))*$", text[first : found.start()])
            assert before is not None
            place = {"line": line, "column": first + before.start() + 1, "end_column": found.end() + 1}
            return before[0] + found[0], place
    return "", {}


def may_change(text: str) -> bool:
    return CALLS.search(CAST.sub("", text)) is not None
