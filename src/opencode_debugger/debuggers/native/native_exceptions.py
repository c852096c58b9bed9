"""Exceptions that are to stop a native program: crashes always do, throws of C++ and panics of Rust on request.

What a panic says is read from memory, without running anything."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...errors import RelayError
from ..shapes import ExceptionRule
from .native_conversation import NativeConversation
from .native_program import NativeProgram

PANIC = "panic"
OWNED, BORROWED = ("FormatStringPayload", "Payload<alloc::string::String>"), ("StaticStrPayload", "Payload<&str>")
"""Payloads that are a String and those that are a &str, as the names of their methods tell."""
LONGEST_PANIC = 2000
Read = Callable[[int, int], Awaitable[bytes | None]]


@dataclass(eq=False)
class NativeExceptions:
    _program: NativeProgram
    _conversation: NativeConversation

    def __post_init__(self) -> None:
        self.fatal_rules: list[int] = []
        """numbers of the exception breakpoints that want to hear of crashes"""
        self.reset()

    def reset(self) -> None:
        """Forget the exceptions of the last program."""

    async def set_rules(self, rules: list[ExceptionRule]) -> None:
        raise NotImplementedError

    @property
    def is_throwing(self) -> bool:
        """The program stands in the C++ library, where a step would lose it: it is to go where that is caught."""
        raise NotImplementedError

    def is_panicking(self, thread_id: int) -> bool:
        """Say if it stands where Rust leaves its functions: none of them returns, and a step would wait for that."""
        raise NotImplementedError

    def _check_rules(self, rules: list[ExceptionRule], conditions: bool) -> None:
        """Refuse what is Python's only; crashes stop in any case, and count for those who asked for them."""
        for rule in rules:
            for filter in {"user_unhandled", "test_failure"}.intersection(rule.filters):
                advice = "Use raised (when it is thrown) or uncaught (when it ends the program)"
                raise RelayError("NOT_SUPPORTED", f"{filter} is for Python exceptions", suggestion=advice)
            if rule.condition and not conditions:
                advice, said = "Name the classes to stop on in `exceptions` instead", "has no conditions on exceptions"
                raise RelayError("NOT_SUPPORTED", f"{self._program.kind} {said}", suggestion=advice)
        self.fatal_rules = [rule.number for rule in rules if "uncaught" in rule.filters and not rule.exceptions]


def panic_rules(rules: list[ExceptionRule]) -> list[ExceptionRule]:
    # Who catches a panic, if anybody does, is not known where it begins: even main and threads of Rust do.
    stopping = [rule for rule in rules if {"raised", "uncaught"}.intersection(rule.filters)]
    return [rule for rule in stopping if not rule.exceptions or PANIC in rule.exceptions]


async def panic_message(read: Read, payload: int, methods: list[str]) -> str:
    """Return what was panicked with, if it is a text."""
    words = await read(payload, 24)
    if words is None or len(words) < 24:
        return ""
    one, other, third = struct.unpack("<QQQ", words)
    # rustc chooses the order of fields: an address is larger than any length or capacity.
    for payloads, length in ((OWNED, third), (BORROWED, min(one, other))):
        if any(payload in method for payload in payloads for method in methods):
            data = await read(max(one, other), min(length, LONGEST_PANIC)) if length else b""
            if data is None or length <= LONGEST_PANIC:
                return (data or b"").decode("utf-8", "replace")
            return data.decode("utf-8", "ignore") + "..."
    return ""
