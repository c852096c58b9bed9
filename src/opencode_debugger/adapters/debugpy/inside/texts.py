"""Texts of bounded length for the values that have no parts: numbers, strings, bytes, functions and classes."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType
from typing import Any, Callable, Dict, Tuple

from . import raw

Text = Tuple[str, bool]
Leaf = Callable[[Any, int], Text]

_MAX_INT_BITS = 14000
_RANGE_ENDS = tuple(range.__dict__[name].__get__ for name in ("start", "stop", "step"))


class Plain:
    """A text that stands for a value and is written as it is."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def clip(text: str, limit: int) -> Text:
    if len(text) <= limit:
        return text, False
    return text[: max(0, limit - 3)] + "..."[: max(0, limit)], True


def encodable(text: str) -> str:
    """The text with lone surrogates escaped, so that it can be sent."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(obj: Any, room: int) -> Text:
    return clip(repr(obj), room)


def _class(obj: Any, room: int) -> Text:
    return clip(repr(obj) if raw.is_plainly_named(obj) else "<class '%s'>" % raw.class_name(obj), room)


def _range(obj: Any, room: int) -> Text:
    """Before Python 3.10 its ends may be of a class derived from int."""
    ends = [int.__repr__(end(obj)) for end in _RANGE_ENDS]
    return clip("range(%s)" % ", ".join(ends if ends[2] != "1" else ends[:2]), room)


def _as_it_is(obj: Any, room: int) -> Text:
    return clip(obj.text, room)


def _int(obj: Any, room: int) -> Text:
    bits = int.bit_length(obj)
    if bits <= _MAX_INT_BITS:
        try:
            text = int.__repr__(obj)
            return (text, False) if len(text) <= room else clip(text, room)
        except ValueError:  # sys.set_int_max_str_digits
            pass
    return "<int with %d bits>" % bits, True


def _sliced(base: Any) -> Leaf:
    def leaf(obj: Any, room: int) -> Text:
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

    return leaf


_PLAIN = (
    type(None),
    bool,
    float,
    complex,
    range,
    type(...),
    type(NotImplemented),
    FunctionType,
    BuiltinFunctionType,
)
LEAVES: Dict[type, Leaf] = dict.fromkeys((*_PLAIN, BuiltinFunctionType), _plain)
LEAVES.update({base: _sliced(base) for base in (str, bytes, bytearray)})
LEAVES.update({Plain: _as_it_is, type: _class, range: _range, int: _int})
