"""Files in the EZ language, as far as their text tells: which lines may have code, where functions are."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

SUFFIX = ".ez"
NO_CODE = re.compile(r"[{}\s]*(//.*)?|import\b.*|using\b.*|module\b.*|do\s+\w+\s*\(.*|\}?\s*otherwise\s*\{?")
"""Blank, a comment, a brace, what is there before anything runs, the head of a function."""
FUNCTION = re.compile(r"\s*(?:private\s+)?do\s+(\w+)\s*\(")


def is_ez(path: str) -> bool:
    return path.lower().endswith(SUFFIX)


def read(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def code_lines(path: str) -> list[int]:
    """Of other languages all that are not blank: what they mean, their debugger knows."""
    lines, found, in_comment = read(path), [], False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        has_code = not (in_comment or text.startswith("/*") or NO_CODE.fullmatch(text)) if is_ez(path) else bool(text)
        if has_code:
            found.append(number)
        if is_ez(path) and (in_comment or text.startswith("/*")):
            in_comment = "*/" not in text
    return found


def examine(path: str) -> dict[str, Any]:
    """As the debugger will have it, as far as it can be told: it confirms breakpoints anywhere."""
    return {
        "max_line": len(read(path)),
        "error": None,
        "code_lines": code_lines(path),
        "definitions": {},
        "is_certain": False,
    }


def heads(path: str) -> list[tuple[int, str]]:
    """Lines on which functions begin, and their names."""
    return [
        (number, match[1]) for number, line in enumerate(read(path), 1) if (match := FUNCTION.match(line)) is not None
    ]


def find_function(path: str, name: str) -> list[int]:
    """The first line of code in each function of that name."""
    code = code_lines(path)
    found = [number for number, known in heads(path) if known == name]
    return [code[at] for number in found if (at := bisect_right(code, number)) < len(code)]


def function_at(path: str, line: int) -> str | None:
    return next((name for number, name in reversed(heads(path)) if number <= line), None)
