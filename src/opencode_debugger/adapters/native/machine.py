"""Below the source: memory, machine code, and values that the processor watches."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any

from ...errors import RelayError
from ..base import Bound, DataBreakpoint
from ..permission import may_run
from ..rows import complaint
from ..rules import Count
from . import looks
from .ending import Ending
from .stopping import FROM_CORE

PAGE = 4096
HEX = re.compile(r"0x[0-9a-fA-F]+")
LIMIT = 200
"""characters of a watched value"""
OUT_OF_SCOPE = "What it watched is gone: the function that it belongs to has returned"


@dataclass
class Watched:
    """A value that the debugger watches."""

    wanted: DataBreakpoint
    hits: Count
    id: Any
    """the debugger's own"""
    value: str | None
    read: str | None
    """an expression that reads it from any frame, if it has an address"""
    message: str | None = None


class Machine(Ending):
    def _reset(self) -> None:
        super()._reset()
        self._data: dict[int, Watched] = {}

    # Addresses and memory.

    async def address_of(self, frame: int, expression: str) -> str:
        """Numbers and registers are addresses themselves."""
        if not may_run.get():
            self._require_look(expression, "INVALID_PARAMETER", parameter="address")
        is_address = looks.is_look(expression) and not looks.parse(expression).names
        if not is_address:
            kind = (await self._asked(frame, expression))["type"] or ""
            is_address = kind.rstrip().endswith("*")
        found = await self._asked(frame, f"(void *)({expression})" if is_address else f"&({expression})")
        return self._hex(found["result"], expression)

    async def instruction(self, frame: int) -> str:
        return self._hex((await self._asked(frame, "$pc"))["result"], "$pc")

    async def _asked(self, frame: int, expression: str) -> dict[str, Any]:
        answer = await self._evaluated(frame, self._frame(frame), expression, LIMIT, self._timeout)
        problem = complaint(answer)
        if problem or answer.get("timed_out"):
            raise RelayError("EVALUATE_ERROR", f"{problem or 'It took too long'}", expression=expression[:1000])
        return answer

    def _hex(self, text: str, expression: str) -> str:
        found = HEX.search(text)
        if found is None:
            raise RelayError("EVALUATE_ERROR", f"{expression[:200]} has no address", expression=expression[:1000])
        return hex(int(found[0], 16))

    async def read_memory(self, address: str, offset: int, count: int) -> dict[str, Any]:
        """As far as it can be read: page by page where it cannot be read in one."""
        start = at = max(0, int(address, 16) + offset)
        data = await self._read(start, count)
        if data is None:
            data = b""
            while len(data) < count:
                part = await self._read(at, min(count - len(data), PAGE - at % PAGE))
                if not part:
                    break
                data, at = data + part, at + len(part)
        return {"address": hex(start), "data": data, "unreadable": count - len(data)}

    async def _read(self, address: int, count: int) -> bytes | None:
        try:
            body = await self._request("readMemory", {"memoryReference": hex(address), "offset": 0, "count": count})
        except RelayError:
            return None
        return base64.b64decode(body.get("data") or "")

    async def write_memory(self, address: str, offset: int, data: bytes | bytearray) -> dict[str, Any]:
        start = max(0, int(address, 16) + offset)
        try:
            await self._write(start, data)
        except RelayError as error:
            raise RelayError(
                "INVALID_PARAMETER",
                f"There is no memory at {hex(start)} that can be written: {error.message}",
                parameter="address",
                suggestion="Give the address of a value: POST /sessions/{id}/evaluate with &name shows it",
            ) from error
        return {"address": hex(start), "written": len(data)}

    async def _write(self, address: int, data: bytes | bytearray) -> None:
        text = base64.b64encode(data).decode()
        await self._request("writeMemory", {"memoryReference": hex(address), "offset": 0, "data": text})

    async def disassemble(self, address: str, offset: int, count: int) -> list[dict[str, Any]]:
        rows = await self._instructions(address, offset, count)
        return [
            {
                "address": hex(int(row["address"], 16)),
                "instruction": " ".join(row["instruction"].split()),
                "bytes": (row.get("instructionBytes") or "").replace(" ", "") or None,
                "symbol": row.get("symbol"),
                "path": (row.get("location") or {}).get("path"),
                "line": row.get("line"),
            }
            for row in rows
        ]

    async def _instructions(self, address: str, offset: int, count: int) -> list[dict[str, Any]]:
        skipped = max(0, offset)  # here, because debuggers count bytes instead of instructions
        arguments = {"memoryReference": address, "instructionCount": skipped + count}
        if offset < 0:
            arguments["instructionOffset"] = offset
        return list((await self._request("disassemble", arguments))["instructions"])[skipped:]

    # Values that are watched.

    async def set_data_breakpoints(self, frame: int | None, wanted: list[DataBreakpoint]) -> list[Bound]:
        if self._is_core:
            return [Bound(False, message=FROM_CORE) for _ in wanted]
        for number in set(self._data) - {each.number for each in wanted}:
            await self._unwatch(self._data.pop(number))
        return [await self._bound_to(frame, each) for each in wanted]

    async def _bound_to(self, frame: int | None, wanted: DataBreakpoint) -> Bound:
        known = self._data.get(wanted.number)
        if known is None:
            assert frame is not None
            try:
                known = await self._watch(frame, wanted)
            except RelayError as error:
                return Bound(False, message=error.message)
            self._data[wanted.number] = known
        return Bound(True, message=known.message)

    async def _watch(self, frame: int, wanted: DataBreakpoint) -> Watched:
        now = await self._asked(frame, wanted.expression)
        read = None
        if now.get("type"):
            read = f"*({now['type']} *){await self.address_of_value(frame, wanted.expression)}"
        id, message = await self._begin_watching(frame, wanted)
        return Watched(wanted, Count(wanted.hit_condition), id, now["result"], read, message)

    async def address_of_value(self, frame: int, expression: str) -> str:
        """Of a pointer too: where the pointer itself is."""
        return self._hex((await self._asked(frame, f"&({expression})"))["result"], expression)

    async def _begin_watching(self, frame: int, wanted: DataBreakpoint) -> tuple[Any, str | None]:
        """The debugger's id, and what there is to say about it."""
        raise NotImplementedError

    async def _unwatch(self, watched: Watched) -> None:
        raise NotImplementedError

    async def _which(self, body: dict[str, Any]) -> tuple[int, Watched] | None:
        ids = body.get("hitBreakpointIds") or []
        return next(((number, each) for number, each in self._data.items() if each.id in ids), None)

    async def _on_data(self, body: dict[str, Any]) -> None:
        """A watched value was changed or read: told, unless it was to stop only at other hits."""
        thread_id = body["threadId"]
        try:
            found = await self._which(body)
            if found is None:
                await self._go_on_quietly(thread_id)
                return
            number, watched = found
            old, watched.value = watched.value, await self._value_of(watched, thread_id)
            is_change = watched.wanted.access == "write"
            if (is_change and old == watched.value) or not watched.hits.count():
                await self._go_on_quietly(thread_id)
                return
            hit = {"number": number, "old": old if old != watched.value else None, "new": watched.value}
            self._tell("data_breakpoint", thread_id, [], data_hit=hit)
        except RelayError:
            if not self._is_over:
                self._tell("data_breakpoint", thread_id, [])

    async def _value_of(self, watched: Watched, thread_id: int) -> str | None:
        if watched.read is None:
            return None
        frames = await self._stack(thread_id, 1)
        return str((await self._asked(frames[0]["id"], watched.read))["result"])

    def _data_gone(self, id: Any) -> bool:
        """The debugger has given one up."""
        for number, watched in list(self._data.items()):
            if watched.id == id:
                del self._data[number]
                self._listener.on_data_gone(number, OUT_OF_SCOPE)
                return True
        return False


def no_code(address: str) -> RelayError:
    return RelayError(
        "INVALID_PARAMETER",
        f"There is no memory at {address} that can be read",
        parameter="address",
        suggestion="Give the address or the name of a function",
    )
