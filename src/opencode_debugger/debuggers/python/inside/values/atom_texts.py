"""Writes values that have no parts within a limit: numbers, strings, bytes, functions and classes."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType
from typing import Any, Callable, Dict, NamedTuple, Tuple

from . import raw

Text = Tuple[str, bool]
Leaf = Callable[[Any, int], Text]

_RANGE_ENDS = tuple(range.__dict__[name].__get__ for name in ("start", "stop", "step"))


class PlainText(NamedTuple):
    """A text that stands for a value and is written as it is."""

    text: str


def clip(text: str, limit: int) -> Text:
    if len(text) <= limit:
        return text, False
    return text[: max(0, limit - 3)] + "..."[: max(0, limit)], True


def encodable(text: str) -> str:
    """Return the text with lone surrogates escaped, so that it can be sent."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _class_text(obj: Any, room: int) -> Text:
    return clip(repr(obj) if raw.is_plainly_named(obj) else "<class '%s'>" % raw.class_name(obj), room)


def _range_text(obj: Any, room: int) -> Text:
    """Write a range without asking its ends: before Python 3.10 they may be of a class derived from int."""
    ends = [int.__repr__(end(obj)) for end in _RANGE_ENDS]
    return clip("range(%s)" % ", ".join(ends if ends[2] != "1" else ends[:2]), room)


def _int_text(obj: Any, room: int) -> Text:
    bits = int.bit_length(obj)
    if bits <= 14000:
        try:
            return clip(int.__repr__(obj), room)
        except ValueError:  # sys.set_int_max_str_digits
            pass
    return "<int with %d bits>" % bits, True


def _sliced_text(base: Any) -> Leaf:
    def leaf_text(obj: Any, room: int) -> Text:
        if base.__len__(obj) < room:
            text: str = base.__repr__(obj)
            if len(text) <= room:
                return text, False
        size = max(0, room - 5)
        while True:
            text = base.__repr__(base.__getitem__(obj, slice(0, size)))
            if len(text) + 3 <= room or not size:
                return text + "...", True
            size = min(size - 1, size * (room - 3) // len(text))

    return leaf_text


_SHORT_TYPES = (type(None), bool, float, complex, type(...), type(NotImplemented), FunctionType, BuiltinFunctionType)
LEAVES: Dict[type, Leaf] = dict.fromkeys(_SHORT_TYPES, lambda obj, room: clip(repr(obj), room))
LEAVES.update({base: _sliced_text(base) for base in (str, bytes, bytearray)})
LEAVES.update({type: _class_text, range: _range_text, int: _int_text})
LEAVES[PlainText] = lambda obj, room: clip(obj.text, room)
