"""Panics of Rust: who wants to hear of them, and what they say, read from memory without running anything."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable

from ..base import ExceptionRule

TYPE = "panic"
STOPPING = frozenset({"raised", "uncaught"})
"""Filters. Who catches a panic, if anybody does, is not known where it begins: even main and threads of Rust do."""
OWNED, BORROWED = ("FormatStringPayload", "Payload<alloc::string::String>"), ("StaticStrPayload", "Payload<&str>")
"""Payloads that are a String and those that are a &str, as the names of their methods tell."""
AGAIN = "RewrapBox"
"""The payload of a panic that goes on after it was caught."""
METHODS = slice(3, 6)
"""Words of a table of methods that name its payload: they are behind its destructor, size and alignment."""
FUNCTION = "^(__rustc::)?rust_panic$"
"""Where panics begin to unwind, as newer and older versions of rustc name it."""
LIMIT = 2000
Read = Callable[[int, int], Awaitable[bytes | None]]


def wanting(rules: list[ExceptionRule]) -> list[ExceptionRule]:
    stopping = [rule for rule in rules if STOPPING.intersection(rule.filters)]
    return [rule for rule in stopping if not rule.exceptions or TYPE in rule.exceptions]


async def message(read: Read, payload: int, methods: list[str]) -> str:
    """What was panicked with, if it is a text."""
    words = await read(payload, 24)
    if words is None or len(words) < 24:
        return ""
    one, other, third = struct.unpack("<QQQ", words)
    # rustc chooses the order of fields: an address is larger than any length or capacity.
    if _is_any_of(OWNED, methods):
        return await _text(read, max(one, other), third)
    if _is_any_of(BORROWED, methods):
        return await _text(read, max(one, other), min(one, other))
    return ""


def _is_any_of(payloads: tuple[str, ...], methods: list[str]) -> bool:
    return any(payload in method for payload in payloads for method in methods)


async def _text(read: Read, address: int, length: int) -> str:
    data = await read(address, min(length, LIMIT)) if length else b""
    if data is None or length <= LIMIT:
        return (data or b"").decode("utf-8", "replace")
    return data.decode("utf-8", "ignore") + "..."
