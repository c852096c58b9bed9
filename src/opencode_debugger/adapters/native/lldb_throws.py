"""What C++ throws, as lldb sees it: the class from its run-time type information, the message from the object.

Panics of Rust, too."""

from __future__ import annotations

import re
import struct
from typing import Any

from ..base import ExceptionRule, Frames
from . import panics
from .lldb_machine import LldbMachine
from .lldb_prologues import quoted
from .looking import MOST_FRAMES, backtrace

THROW, AGAIN = "__cxa_throw", "__cxa_rethrow"
DESCRIPTION = "C++ Throw"
SET = re.compile(r"^Breakpoint (\d+):", re.MULTILINE)
SUMMARY = re.compile(r"Summary: .*?`(.*)$", re.MULTILINE)
DEMANGLED = re.compile(r"---> typeinfo for (.*)$", re.MULTILINE)
LONGEST_NAME = 1000
SINGLE, SEVERAL = "__si_class_type_info", "__vmi_class_type_info"
"""Kinds of type information: of a class with one base, at the same address; with others."""
MOST_CLASSES = 50
STANDARD = "std::exception"
WHAT = "((const char *(*)(void *))(*(void ***){0:#x})[2])((void *){0:#x})"
"""Its third virtual function, after two destructors: that works without debug information, too."""
QUOTED = re.compile(r'^0x[0-9a-f]+ "(.*)"', re.DOTALL)
SECONDS = 1.0
LIMIT = 2000


class LldbThrows(LldbMachine):
    def _reset(self) -> None:
        super()._reset()
        self._rules: list[ExceptionRule] = []
        self._thrown: dict[str, Any] | None = None
        """the exception at whose throw the program stands"""
        self._panics: dict[int, dict[str, Any]] = {}
        """by thread: the panic at whose beginning it stands"""
        self._panic_rules: list[ExceptionRule] = []
        self._panic_id: int | None = None
        """lldb's number of the breakpoint where Rust panics"""

    @property
    def _is_throwing(self) -> bool:
        return self._thrown is not None

    def _is_panicking(self, thread_id: int) -> bool:
        return thread_id in self._panics

    async def set_exceptions(self, rules: list[ExceptionRule]) -> None:
        self._check_exceptions(rules, conditions=False)
        self._rules = [rule for rule in rules if "raised" in rule.filters]
        filters = ["cpp_throw"] if self._rules else []
        await self._request("setExceptionBreakpoints", {"filters": filters})
        self._panic_rules = panics.wanting(rules) if self._is_rust else []
        if self._panic_rules and self._panic_id is None:
            made = SET.search(await self._line(f"breakpoint set --func-regex {quoted(panics.FUNCTION)}"))
            self._panic_id = int(made[1]) if made else None
        elif not self._panic_rules and self._panic_id is not None:
            await self._line(f"breakpoint delete {self._panic_id}")
            self._panic_id = None

    def _told(self, thread_id: int, frames: Frames, above: int = 0) -> Frames:
        """At a throw, without the function of the C++ library that throws."""
        is_throwing = self._is_throwing and len(frames) > 1 and frames[0]["name"].startswith(THROW)
        told = super()._told(thread_id, frames, above)
        return told[1:] if is_throwing else told

    async def exception(self, frame: int) -> dict[str, Any] | None:
        thread_id = self._frame(frame).thread
        thrown = self._panics.get(thread_id, self._thrown)
        if thrown is None:
            return await super().exception(frame)
        trace = backtrace(await self._stack(thread_id, MOST_FRAMES))
        name = thrown["type"]
        told = {"type": name, "full_type": name, "message": thrown["message"], "traceback": trace}
        is_panic = thread_id in self._panics
        return {**told, "break_mode": "always", "rules": thrown["rules"], "is_in_library": is_panic}

    async def _look_at_throw(self, thread_id: int) -> bool:
        """Whether anybody wants to hear of it."""
        self._thrown = None
        frames = await self._stack(thread_id, 1)
        if frames[0]["name"].startswith(AGAIN):
            return False
        here = frames[0]["id"]
        address, info = [int((await self._asked(here, f"(unsigned long)$arg{n}"))["result"]) for n in (1, 2)]
        classes = await self._lineage(info)
        numbers = [rule.number for rule in self._rules if _matches(rule, classes)]
        if not numbers:
            return False
        self._thrown = {"type": classes[0] if classes else "exception", "rules": numbers}
        self._thrown["message"] = await self._said_of_itself(here, address, classes)
        return True

    async def _look_at_panic(self, thread_id: int) -> bool:
        """Whether it is a new one."""
        here = (await self._stack(thread_id, 1))[0]["id"]
        payload, table = [int((await self._asked(here, f"(unsigned long)$arg{n}"))["result"]) for n in (1, 2)]
        words = struct.unpack("<6Q", await self._read(table, 48) or bytes(48))
        methods = [await self._symbol(address) for address in words[panics.METHODS]]
        if any(panics.AGAIN in method for method in methods):
            return False
        text = await panics.message(self._read, payload, methods)
        numbers = [rule.number for rule in self._panic_rules]
        self._panics[thread_id] = {"type": panics.TYPE, "message": text, "rules": numbers}
        return True

    async def _lineage(self, info: int) -> list[str]:
        """The class that this type information is of, and those that it is derived from."""
        found: list[str] = []
        waiting = [info]
        while waiting and len(found) < MOST_CLASSES:
            at = waiting.pop(0)
            head = await self._read(at, 24)
            if head is None:
                continue
            found.append(await self._name(int.from_bytes(head[8:16], "little")))
            kind = await self._symbol(int.from_bytes(head[:8], "little"))
            if SINGLE in kind:
                waiting.append(int.from_bytes(head[16:], "little"))
            elif SEVERAL in kind:
                waiting += await self._bases(at, int.from_bytes(head[20:24], "little"))
        return found

    async def _bases(self, at: int, count: int) -> list[int]:
        listed = await self._read(at + 24, 16 * min(count, MOST_CLASSES)) or b""
        return [int.from_bytes(listed[start : start + 8], "little") for start in range(0, len(listed), 16)]

    async def _name(self, address: int) -> str:
        """A class is named as linkers see it."""
        data = (await self.read_memory(hex(address), 0, LONGEST_NAME))["data"]
        mangled = data.partition(b"\0")[0].decode("ascii", "replace").lstrip("*")
        found = DEMANGLED.search(await self._line(f"language cplusplus demangle -- _ZTI{mangled}"))
        return found[1].strip() if found else mangled

    async def _symbol(self, address: int) -> str:
        found = SUMMARY.search(await self._line(f"image lookup --address {address:#x}"))
        return found[1].partition(" + ")[0].strip() if found else ""

    async def _said_of_itself(self, frame: int, address: int, classes: list[str]) -> str:
        place = self._frame(frame)
        if STANDARD in classes:
            answer = await self._executed(frame, place, WHAT.format(address), LIMIT, SECONDS)
            text = QUOTED.match(answer.get("result") or "")
            return re.sub(r"\\(.)", _unescaped, text[1]) if text else ""
        kind = classes[0] if classes else ""
        answer = await self._read_value(frame, place, f"*({kind} *){address:#x}", LIMIT, SECONDS)
        return answer.get("result") or ""


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1])


def _matches(rule: ExceptionRule, classes: list[str]) -> bool:
    wished = [wanted.replace(".", "::") for wanted in rule.exceptions]
    return not wished or any(name == wanted or name.endswith(f"::{wanted}") for name in classes for wanted in wished)
