"""Bytes as base64: exact, whatever they hold."""

from __future__ import annotations

import binascii
from typing import Any, Dict, Optional

from . import raw

Json = Dict[str, Any]

BINARY = frozenset((bytes, bytearray, memoryview))
PAGE = 3000
"""bytes where no count is asked for"""
MAX_PAGE = 65536
_FEW = 24


def base_of(obj: Any) -> Optional[type]:
    if type(obj) is memoryview:
        return memoryview if _flat(obj) is not None else None
    base = raw.builtin_base(type(obj))
    return base if base in BINARY else None


def size(obj: Any, base: Any) -> int:
    return obj.nbytes if base is memoryview else base.__len__(obj)  # type: ignore[no-any-return]


def window(obj: Any, base: Any, start: int, stop: int) -> bytes:
    if base is memoryview:
        flat = _flat(obj)
        return b"" if flat is None else flat[start:stop].tobytes()
    return bytes(base.__getitem__(obj, slice(start, stop)))


def _flat(view: memoryview) -> Optional[memoryview]:
    """Its bytes one after the other; None for one that was released, or whose bytes are not in a row."""
    try:
        return view.cast("B") if view.c_contiguous else None
    except (ValueError, TypeError):
        return None


def encoded(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def size_of(text: int) -> int:
    """How many bytes a base64 text of so many characters holds."""
    return max(0, text) // 4 * 3


def page(obj: Any, base: type, start: int, count: Optional[int], room: int) -> Json:
    total = size(obj, base)
    stop = start + min(count or PAGE, MAX_PAGE, max(3, size_of(room)))
    data = window(obj, base, start, stop)
    return {
        "variables": [],
        "base64": encoded(data),
        "encoding": "base64",
        "length": total,
        "total": total,
        "has_more": bool(data) and start + len(data) < total,
    }


def view_text(view: memoryview) -> str:
    """A memoryview with its first bytes."""
    try:
        about = "format=%r, shape=%r" % (view.format, view.shape)
    except ValueError:
        return "<released memory at %#x>" % id(view)
    flat = _flat(view)
    if flat is None:
        return "<memory at %#x (%s)>" % (id(view), about)
    more = "..." if view.nbytes > _FEW else ""
    return "<memory at %#x (%s): %r%s>" % (id(view), about, flat[:_FEW].tobytes(), more)
