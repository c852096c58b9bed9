"""Values as recordings keep them: plain ones as they are, others as a tuple of plain ones that begins with its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

Recorded: TypeAlias = Any
"""None, bool, int, float or str; (text,); or one of KINDS with what was kept of it"""

BRACKETS = {"L": ("[", "]"), "T": ("(", ")"), "S": ("{", "}"), "F": ("frozenset({", "})")}
LIST_KINDS = frozenset(BRACKETS)
DICT, LONG_TEXT, OBJECT, EXCEPTION = "D", "C", "O", "X"
DEEPEST = 8
MOST_CHARACTERS = 1000
"""of the text of a value in an answer"""
CUT = "…"


def value_text(value: Recorded, depth: int = 0) -> str:
    """Return the text of a value, as Python would write it; what was not kept is `…`."""
    if not isinstance(value, tuple):
        return _clean(repr(value))
    if len(value) == 1:
        return _clean(str(value[0]))
    if depth > DEEPEST or len(value) < 3:
        return CUT
    kind, first, second = value[:3]
    if kind in LIST_KINDS:
        opening, closing = BRACKETS[kind]
        items = [value_text(item, depth + 1) for item in second]
        return f"{opening}{_with_rest(items, first)}{closing}"
    if kind == DICT:
        pairs = [f"{value_text(key, depth + 1)}: {value_text(item, depth + 1)}" for key, item in pairs_of(second)]
        return f"{{{_with_rest(pairs, first)}}}"
    if kind == LONG_TEXT:
        return _clean(repr(first)) + f"{CUT} {second} characters"
    if kind == OBJECT and len(value) > 3:
        fields = [f"{name}={value_text(item, depth + 1)}" for name, item in pairs_of(value[3])]
        return _clean(f"{first}({', '.join(fields) or CUT})")
    return error_text(value) if kind == EXCEPTION else CUT


def error_text(value: Recorded) -> str:
    """Return an exception as Python prints it, on one line: its class, and what it says."""
    if not isinstance(value, tuple) or len(value) < 3:
        return value_text(value)
    said = [item if isinstance(item, str) else value_text(item) for item in value[2]]
    words = ", ".join(said) if len(said) < 2 else f"({', '.join(map(repr, said))})"
    return _clean(f"{value[1]}: {words}" if words else str(value[1]))


def pairs_of(flat: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Return names or keys with their values, which recordings keep in turn."""
    return zip(flat[::2], flat[1::2], strict=False)


def comparable_value(value: Recorded) -> Any:
    """Return what conditions compare: a plain value, a list that was kept whole, or the text of any other value."""
    if not isinstance(value, tuple):
        return value
    if len(value) < 3:
        return value_text(value)
    kind, first, second = value[:3]
    if kind == LONG_TEXT:
        return first
    if kind in LIST_KINDS and first == len(second):
        return [comparable_value(item) for item in second]
    return value_text(value)


def length_of(value: Recorded) -> int:
    """Return how many items or characters a value has, also of one that was kept in part."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, tuple) and len(value) > 2:
        if value[0] in LIST_KINDS or value[0] == DICT:
            return int(value[1])
        if value[0] == LONG_TEXT:
            return int(value[2])
    raise TypeError("it has no length")


def part_of(value: Recorded, key: Any) -> Recorded:
    """Return an attribute, a value by its key, or an item, if it was kept."""
    if isinstance(value, tuple) and len(value) > 2:
        kind = value[0]
        if kind == OBJECT and len(value) > 3:
            return dict(pairs_of(value[3]))[key]
        if kind == DICT:
            return next(item for name, item in pairs_of(value[2]) if name == key and type(name) is type(key))
        if kind in LIST_KINDS and isinstance(key, int) and 0 <= key < len(value[2]):
            return value[2][key]
    raise KeyError(key)


def same_value(value: Recorded, wanted: Recorded) -> bool:
    """Tell whether two values are the same as far as they were kept; 1, 1.0 and True are not."""
    return type(value) is type(wanted) and bool(value == wanted)


def holds_value(value: Recorded, wanted: Recorded, depth: int = 0) -> bool:
    """Tell whether it is the value, or has it among what was kept of its items, keys or attributes."""
    if same_value(value, wanted):
        return True
    if depth > DEEPEST or not isinstance(value, tuple) or len(value) < 3:
        return False
    inner = value[3] if value[0] == OBJECT and len(value) > 3 else value[2]
    if not isinstance(inner, (tuple, list)):
        return False
    kind = type(wanted)
    for item in inner:  # written out: it is asked of every value of a recording
        if (type(item) is kind and item == wanted) or (type(item) is tuple and holds_value(item, wanted, depth + 1)):
            return True
    return False


def _with_rest(shown: list[str], length: Any) -> str:
    rest = [CUT] if isinstance(length, int) and length > len(shown) else []
    counted = f" {length} in all" if rest and shown else f" {length}" if rest else ""
    return ", ".join(shown + rest) + counted


def _clean(text: str) -> str:
    """Return a text that JSON can have, on one line: half characters of the program's strings are escaped."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return text.replace("\n", "\\n") if "\n" in text else text
