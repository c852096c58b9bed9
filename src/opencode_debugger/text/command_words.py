"""The parameters of a command in few words."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from .secrets import MASK, looks_secret, mask_inside
from .view import one_line, shorten

LONGEST = 300
LONGEST_VALUE = 160
HIDDEN = frozenset({"environment", "fields", "budget", "context", "console", "line_buffered", "session_id"})
"""parameters that say nothing about what is done"""
NAMES_ONLY = frozenset({"env"})
"""parameters whose values may be secrets of any name"""


def command_words(params: dict[str, Any]) -> str:
    """Return the parameters that say something as `name=value`, without secrets."""
    given = ((name, value) for name, value in params.items() if name not in HIDDEN and _says_something(value))
    return shorten(", ".join(f"{name}={_parameter_words(name, value)}" for name, value in given), LONGEST)


def _says_something(value: Any) -> bool:
    return value not in (None, False, "", [], {})


def _parameter_words(name: str, value: Any) -> str:
    if name in NAMES_ONLY and isinstance(value, dict):
        return "{" + ", ".join(map(str, value)) + "}"
    if isinstance(value, str) and looks_secret(name):
        return MASK
    return shorten(one_line(mask_inside(_value_words(value)[: 4 * LONGEST_VALUE])), LONGEST_VALUE)


def _value_words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "[" + ", ".join(map(_value_words, value[:LONGEST_VALUE])) + "]"
    if isinstance(value, dict) and (value.get("line") or value.get("function")):
        return _breakpoint_words(value)
    return msgspec.json.encode(value).decode()


def _breakpoint_words(row: dict[str, Any]) -> str:
    """Spell a breakpoint as clients may: `app.py:42 if x > 3`."""
    place = ":".join(str(part) for part in (os.path.basename(row.get("path") or ""), row.get("line")) if part)
    named = (("", row.get("function")), ("if ", row.get("condition")), ("hits ", row.get("hit_condition")))
    more = [mark + str(value) for mark, value in (*named, ("log ", row.get("log_message"))) if value]
    return " ".join([place, *more]).strip()
