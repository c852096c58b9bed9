"""Below the source: memory, addresses, machine code, and values that the processor watches."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any, TypedDict

from ...answers.machine import Memory, MemoryWritten
from ...errors import RelayError
from ...operations.advice import advice
from ..hit_rules import Count
from ..protocols import Listener
from ..rows import InstructionRow
from ..run_permission import may_run
from ..shapes import Bound, DataBreakpoint, DataHit
from . import readonly_expressions
from .dap_inspection import DapInspection
from .native_conversation import NativeConversation
from .native_program import FROM_CORE, NativeProgram

PAGE = 4096
HEX = re.compile(r"0x[0-9a-fA-F]+")
OUT_OF_SCOPE = "What it watched is gone: the function that it belongs to has returned"


class DapInstruction(TypedDict, total=False):
    """An instruction, as DAP describes it."""

    address: str
    instruction: str
    instructionBytes: str | None
    symbol: str | None
    line: int | None
    location: dict[str, str] | None


@dataclass(eq=False)
class RawMemory:
    _conversation: NativeConversation

    async def read(self, address: int, count: int) -> bytes | None:
        """Return these bytes; none if not all of them can be read."""
        wanted = {"memoryReference": hex(address), "offset": 0, "count": count}
        try:
            return base64.b64decode((await self._conversation.request("readMemory", wanted)).get("data") or "")
        except RelayError:
            return None

    async def read_some(self, start: int, count: int) -> bytes:
        """Return as many as can be read: page by page where it cannot be done in one."""
        at, data = start, await self.read(start, count)
        if data is None:
            data = b""
            while len(data) < count:
                part = await self.read(at, min(count - len(data), PAGE - at % PAGE))
                if not part:
                    break
                data, at = data + part, at + len(part)
        return data

    async def write(self, address: int, data: bytes | bytearray) -> None:
        text = base64.b64encode(data).decode()
        await self._conversation.request("writeMemory", {"memoryReference": hex(address), "offset": 0, "data": text})


@dataclass
class WatchedValue:
    """A value that the debugger watches."""

    wanted: DataBreakpoint
    hits: Count
    id: int
    """the debugger's own"""
    value: str | None
    read: str | None
    """an expression that reads it from any frame, if it has an address"""
    message: str | None = None


@dataclass(eq=False)
class DataBreakpoints:
    _program: NativeProgram
    _conversation: NativeConversation
    _inspection: DapInspection
    _listener: Listener

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._watched: dict[int, WatchedValue] = {}

    async def set_all(self, frame: int | None, wanted: list[DataBreakpoint]) -> list[Bound]:
        if self._program.is_core:
            return [Bound(False, message=FROM_CORE) for _ in wanted]
        for number in set(self._watched) - {each.number for each in wanted}:
            await self._unwatch_value(self._watched.pop(number))
        return [await self._bind_one(frame, each) for each in wanted]

    async def _bind_one(self, frame: int | None, wanted: DataBreakpoint) -> Bound:
        known = self._watched.get(wanted.number)
        if known is None:
            assert frame is not None
            try:
                now = await self._inspection.ask_value(frame, wanted.expression)
                address = await self._find_address(frame, wanted.expression) if now.type else ""
                id, message = await self._begin_watching(frame, wanted)
                read = f"*({now.type} *){address}" if now.type else None
                known = WatchedValue(wanted, Count(wanted.hit_condition), id, now.result, read, message)
            except RelayError as error:
                return Bound(False, message=error.message)
            self._watched[wanted.number] = known
        return Bound(True, message=known.message)

    async def _find_address(self, frame: int, expression: str) -> str:
        """Return where a value is; of a pointer too: where the pointer itself is."""
        return as_address((await self._inspection.ask_value(frame, f"&({expression})")).text, expression)

    async def _begin_watching(self, frame: int, wanted: DataBreakpoint) -> tuple[int, str | None]:
        """Return the debugger's id, and what there is to say about it."""
        raise NotImplementedError

    async def _unwatch_value(self, watched: WatchedValue) -> None:
        raise NotImplementedError

    async def _find_hit(self, body: dict[str, Any]) -> tuple[int, WatchedValue] | None:
        """Return whose value a stop is about."""
        ids = body.get("hitBreakpointIds") or []
        return next(((number, each) for number, each in self._watched.items() if each.id in ids), None)

    async def examine_hit(self, body: dict[str, Any]) -> DataHit | None:
        """Return how a watched value was changed or read; nothing if it was to stop only at other hits."""
        found = await self._find_hit(body)
        if found is None:
            return None
        number, watched = found
        old, now = watched.value, None
        if watched.read is not None:
            frames = await self._inspection.fetch_frames(body["threadId"], 1)
            now = (await self._inspection.ask_value(frames[0]["id"], watched.read)).text
        watched.value = now
        if (watched.wanted.access == "write" and old == now) or not watched.hits.count():
            return None
        return {"number": number, "old": old if old != now else None, "new": now}

    def give_up(self, id: int | None) -> bool:
        """Forget one that the debugger has given up; false if there is none of that id."""
        number = next((number for number, watched in self._watched.items() if watched.id == id), None)
        if number is not None:
            del self._watched[number]
            self._listener.on_data_gone(number, OUT_OF_SCOPE)
        return number is not None


@dataclass(eq=False)
class NativeMemory:
    _conversation: NativeConversation
    _inspection: DapInspection
    _raw: RawMemory
    _data: DataBreakpoints

    def __post_init__(self) -> None:
        self.set_data_breakpoints = self._data.set_all

    async def address_of(self, frame: int, expression: str) -> str:
        """Return an address: numbers and registers are addresses themselves."""
        if not may_run.get():
            self._inspection.require_look(expression, "INVALID_PARAMETER", parameter="address")
        is_address = readonly_expressions.is_look(expression) and not readonly_expressions.parse(expression).names
        if not is_address:
            kind = (await self._inspection.ask_value(frame, expression)).type or ""
            is_address = kind.rstrip().endswith("*")
        wanted = f"(void *)({expression})" if is_address else f"&({expression})"
        return as_address((await self._inspection.ask_value(frame, wanted)).text, expression)

    async def instruction(self, frame: int) -> str:
        return as_address((await self._inspection.ask_value(frame, "$pc")).text, "$pc")

    async def read_memory(self, address: str, offset: int, count: int) -> Memory:
        start = max(0, int(address, 16) + offset)
        data = await self._raw.read_some(start, count)
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)
        left = count - len(data)
        return Memory(address=hex(start), bytes=data.hex(), text=text, count=len(data), unreadable=left)

    async def write_memory(self, address: str, offset: int, data: bytes | bytearray) -> MemoryWritten:
        start = max(0, int(address, 16) + offset)
        try:
            await self._raw.write(start, data)
        except RelayError as error:
            said = f"There is no memory at {hex(start)} that can be written: {error.message}"
            instead = advice("Give the address of a value: {evaluate} with &name shows it")
            raise RelayError("INVALID_PARAMETER", said, parameter="address", suggestion=instead) from error
        return MemoryWritten(address=hex(start), written=len(data))

    async def disassemble(self, address: str, offset: int, count: int) -> list[InstructionRow]:
        return [
            {
                "address": hex(int(each["address"], 16)),
                "instruction": " ".join(each["instruction"].split()),
                "bytes": (each.get("instructionBytes") or "").replace(" ", "") or None,
                "symbol": each.get("symbol"),
                "path": (each.get("location") or {}).get("path"),
                "line": each.get("line"),
            }
            for each in await self._fetch_instructions(address, offset, count)
        ]

    async def _fetch_instructions(self, address: str, offset: int, count: int) -> list[DapInstruction]:
        raise NotImplementedError


def as_address(text: str, expression: str) -> str:
    """Return the first address in what a debugger shows of an expression."""
    found = HEX.search(text)
    if found is None:
        raise RelayError("EVALUATE_ERROR", f"{expression[:200]} has no address", expression=expression[:1000])
    return hex(int(found[0], 16))


def no_code(address: str) -> RelayError:
    said, instead = f"There is no memory at {address} that can be read", "Give the address or the name of a function"
    return RelayError("INVALID_PARAMETER", said, parameter="address", suggestion=instead)
