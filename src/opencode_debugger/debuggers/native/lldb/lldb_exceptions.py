"""Throws of C++ and panics of Rust under lldb: who wants to hear of them, and what was thrown.

The class of what C++ throws is in its run-time type information, the message in the object."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...shapes import ExceptionRule
from ..native_conversation import NativeConversation
from ..native_exceptions import PANIC, NativeExceptions, panic_message, panic_rules
from .lldb_conversation import quoted

if TYPE_CHECKING:
    from ..native_memory import RawMemory
    from .lldb_inspection import LldbInspection

THROW, AGAIN = "__cxa_throw", "__cxa_rethrow"
SET = re.compile(r"^Breakpoint (\d+):", re.MULTILINE)
PANIC_FUNCTION = "^(__rustc::)?rust_panic$"
"""The function in which panics begin to unwind, as newer and older versions of rustc name it."""
DESCRIPTION = "C++ Throw"
SUMMARY = re.compile(r"Summary: .*?`(.*)$", re.MULTILINE)
DEMANGLED = re.compile(r"---> typeinfo for (.*)$", re.MULTILINE)
SINGLE, SEVERAL = "__si_class_type_info", "__vmi_class_type_info"
"""Kinds of type information: of a class with one base, at the same address; with others."""
MOST_CLASSES = 50
STANDARD = "std::exception"
WHAT = "((const char *(*)(void *))(*(void ***){0:#x})[2])((void *){0:#x})"
"""Calls its third virtual function, after two destructors: that works without debug information, too."""
QUOTED = re.compile(r'^0x[0-9a-f]+ "(.*)"', re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
SECONDS, LIMIT = 1.0, 2000


@dataclass
class ThrownError:
    """An exception of C++ or a panic of Rust, where it begins."""

    type: str
    rules: list[int]
    """numbers of the exception breakpoints that want to hear of it"""
    message: str = ""


class LldbExceptions(NativeExceptions):
    def reset(self) -> None:
        self.rules: list[ExceptionRule] = []
        self.thrown: ThrownError | None = None
        """the exception at whose throw the program stands"""
        self.panics: dict[int, ThrownError] = {}
        """by thread: the panic at whose beginning it stands"""
        self.panic_rules: list[ExceptionRule] = []
        self.panic_id: int | None = None
        """lldb's number of the breakpoint where Rust panics"""

    @property
    def is_throwing(self) -> bool:
        return self.thrown is not None

    def is_panicking(self, thread_id: int) -> bool:
        return thread_id in self.panics

    async def set_rules(self, rules: list[ExceptionRule]) -> None:
        self._check_rules(rules, conditions=False)
        self.rules = [rule for rule in rules if "raised" in rule.filters]
        wanted = {"filters": ["cpp_throw"] if self.rules else []}
        await self._conversation.request("setExceptionBreakpoints", wanted)
        self.panic_rules = panic_rules(rules) if self._program.is_rust else []
        if self.panic_rules and self.panic_id is None:
            command = f"breakpoint set --func-regex {quoted(PANIC_FUNCTION)}"
            made = SET.search(await self._conversation.run_command(command))
            self.panic_id = int(made[1]) if made else None
        elif not self.panic_rules and self.panic_id is not None:
            await self._conversation.run_command(f"breakpoint delete {self.panic_id}")
            self.panic_id = None


@dataclass(eq=False)
class ThrowReader:
    _conversation: NativeConversation
    _inspection: LldbInspection
    _raw: RawMemory
    _exceptions: LldbExceptions

    async def look_at_throw(self, thread_id: int) -> bool:
        """Read what is being thrown, and say if anybody wants to hear of it."""
        self._exceptions.thrown = None
        frames = await self._inspection.fetch_frames(thread_id, 1)
        if frames[0]["name"].startswith(AGAIN):
            return False
        here = frames[0]["id"]
        address, info = await self._call_arguments(here)
        classes = await self._class_lineage(info)
        numbers = [rule.number for rule in self._exceptions.rules if _matches_rule(rule, classes)]
        if not numbers:
            return False
        self._exceptions.thrown = thrown = ThrownError(classes[0] if classes else "exception", numbers)
        place = self._inspection.find_frame(here)
        if STANDARD not in classes:
            text = f"*({classes[0] if classes else ''} *){address:#x}"
            thrown.message = (await self._inspection.read_value(place, text, LIMIT, SECONDS)).text
        else:
            answer = await self._inspection.execute_text(place, WHAT.format(address), LIMIT, SECONDS)
            said = QUOTED.match(answer.text)
            text = said[1] if said else ""
            thrown.message = re.sub(r"\\(.)", lambda found: ESCAPED.get(found[1], found[1]), text)
        return True

    async def look_at_panic(self, thread_id: int) -> bool:
        """Read what a thread panics with, and say if that is a new panic."""
        here = (await self._inspection.fetch_frames(thread_id, 1))[0]["id"]
        payload, table = await self._call_arguments(here)
        words = struct.unpack("<6Q", await self._raw.read(table, 48) or bytes(48))
        # Behind its destructor, size and alignment are methods that name its payload.
        methods = [await self._symbol_at(address) for address in words[3:6]]
        if any("RewrapBox" in method for method in methods):  # it goes on after it was caught
            return False
        text = await panic_message(self._raw.read, payload, methods)
        numbers = [rule.number for rule in self._exceptions.panic_rules]
        self._exceptions.panics[thread_id] = ThrownError(PANIC, numbers, text)
        return True

    async def _call_arguments(self, frame: int) -> list[int]:
        """Return the first two arguments of the function that has just been called."""
        asked = [f"(unsigned long)$arg{n}" for n in (1, 2)]
        return [int((await self._inspection.ask_value(frame, each)).text) for each in asked]

    async def _class_lineage(self, info: int) -> list[str]:
        """Return the class that this type information is of, and those that it is derived from."""
        found, waiting = list[str](), [info]
        while waiting and len(found) < MOST_CLASSES:
            at = waiting.pop(0)
            head = await self._raw.read(at, 24)
            if head is None:
                continue
            data = await self._raw.read_some(int.from_bytes(head[8:16], "little"), 1000)
            mangled = data.partition(b"\0")[0].decode("ascii", "replace").lstrip("*")  # as linkers see it
            said = await self._conversation.run_command(f"language cplusplus demangle -- _ZTI{mangled}")
            name = DEMANGLED.search(said)
            found.append(name[1].strip() if name else mangled)
            kind = await self._symbol_at(int.from_bytes(head[:8], "little"))
            if SINGLE in kind:
                waiting.append(int.from_bytes(head[16:], "little"))
            elif SEVERAL in kind:
                count = int.from_bytes(head[20:24], "little")
                listed = await self._raw.read(at + 24, 16 * min(count, MOST_CLASSES)) or b""
                waiting += [int.from_bytes(listed[start : start + 8], "little") for start in range(0, len(listed), 16)]
        return found

    async def _symbol_at(self, address: int) -> str:
        found = SUMMARY.search(await self._conversation.run_command(f"image lookup --address {address:#x}"))
        return found[1].partition(" + ")[0].strip() if found else ""


def _matches_rule(rule: ExceptionRule, classes: list[str]) -> bool:
    wished = [wanted.replace(".", "::") for wanted in rule.exceptions]
    return not wished or any(name == wanted or name.endswith(f"::{wanted}") for name in classes for wanted in wished)
