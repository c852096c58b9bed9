"""Any other answer as text: `name: value` lines, a line for each row of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from .view import View, one_line

_INDENT = "  "


def render_any(answer: object, view: View) -> str:
    return "\n".join(_lines(msgspec.to_builtins(answer), view, "")) or "done"


def _lines(value: Any, view: View, indent: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield indent + value_words(value, view)
        return
    for name, item in value.items():
        if item is None or item in ([], {}, ""):
            continue
        if isinstance(item, dict) and any(isinstance(inner, (dict, list)) for inner in item.values()):
            yield f"{indent}{name}:"
            yield from _lines(item, view, indent + _INDENT)
        elif isinstance(item, list) and any(isinstance(inner, (dict, list)) for inner in item):
            yield f"{indent}{name}:"
            yield from (f"{indent}{_INDENT}{value_words(row, view)}" for row in item)
        else:
            yield f"{indent}{name}: {value_words(item, view, str(name))}"


def value_words(value: Any, view: View, name: str = "") -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        told = {key: item for key, item in value.items() if item not in (None, [], {}, "")}
        return ", ".join(f"{key}={_inner_words(item, view, str(key))}" for key, item in told.items())
    if isinstance(value, list):
        return ", ".join(value_words(item, view) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return str(value)
    return one_line(view.path(value) if value.startswith("/") else view.value(value, name, "str"))


def _inner_words(value: Any, view: View, name: str) -> str:
    words = value_words(value, view, name)
    return f"({words})" if isinstance(value, dict) else words
