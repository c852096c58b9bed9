"""Shows bytes as base64: exact, whatever they hold."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any, Optional

from . import raw

if TYPE_CHECKING:
    from ....rows import VariablePage

BINARY_TYPES = frozenset((bytes, bytearray, memoryview))
PAGE = 3000
"""bytes where no count is asked for"""
MAX_PAGE = 65536
_FEW_BYTES = 24


def base_of(obj: Any) -> Optional[type]:
    if type(obj) is memoryview:
        return memoryview if _flat_view(obj) is not None else None
    base = raw.builtin_base(type(obj))
    return base if base in BINARY_TYPES else None


def byte_size(obj: Any, base: Any) -> int:
    return obj.nbytes if base is memoryview else base.__len__(obj)  # type: ignore[no-any-return]


def byte_window(obj: Any, base: Any, start: int, stop: int) -> bytes:
    if base is memoryview:
        flat = _flat_view(obj)
        return b"" if flat is None else flat[start:stop].tobytes()
    return bytes(base.__getitem__(obj, slice(start, stop)))


def _flat_view(view: memoryview) -> Optional[memoryview]:
    """Return its bytes one after the other; None for one that was released, or whose bytes are not in a row."""
    try:
        return view.cast("B") if view.c_contiguous else None
    except (ValueError, TypeError):
        return None


def base64_text(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def byte_page(obj: Any, base: type, start: int, count: Optional[int], room: int) -> VariablePage:
    total = byte_size(obj, base)
    stop = start + min(count or PAGE, MAX_PAGE, max(3, room // 4 * 3))  # four characters for three bytes
    data = byte_window(obj, base, start, stop)
    text, more = base64_text(data), bool(data) and start + len(data) < total
    return {"variables": [], "base64": text, "encoding": "base64", "length": total, "total": total, "has_more": more}


def view_text(view: memoryview) -> str:
    try:
        about = "format=%r, shape=%r" % (view.format, view.shape)
    except ValueError:
        return "<released memory at %#x>" % id(view)
    flat = _flat_view(view)
    if flat is None:
        return "<memory at %#x (%s)>" % (id(view), about)
    more = "..." if view.nbytes > _FEW_BYTES else ""
    return "<memory at %#x (%s): %r%s>" % (id(view), about, flat[:_FEW_BYTES].tobytes(), more)
