"""Below the source: memory and machine code of a native program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...answers import machine
from ...debuggers.run_permission import only_looks
from ...errors import RelayError
from ...operations.advice import advice
from ..lifecycle.debuggee import Debuggee
from .paused_program import in_frame

if TYPE_CHECKING:
    from ...debuggers.protocols import Adapter

NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")


@dataclass(eq=False)
class Memory:
    """Reads and writes memory, and shows machine code."""

    _debuggee: Debuggee

    async def read_memory(
        self, address: str, offset: int = 0, count: int = 256, frame_id: int = 0, thread_id: int | None = None
    ) -> machine.Memory:
        async with in_frame(self._debuggee, "read_memory", frame_id, thread_id) as (adapter, frame):
            with only_looks():
                place = await _resolve_address(adapter, frame, address)
            found = await adapter.memory.read_memory(place, offset, count)
        if not found.count:
            at, hint = found.address, advice("Give the address of a value: {evaluate} with &name shows it")
            message = f"There is no memory at {at} that can be read"
            raise RelayError("INVALID_PARAMETER", message, parameter="address", address=at, suggestion=hint)
        return found

    async def write_memory(
        self, address: str, bytes: str, offset: int = 0, frame_id: int = 0, thread_id: int | None = None
    ) -> machine.MemoryWritten:
        async with in_frame(self._debuggee, "write_memory", frame_id, thread_id) as (adapter, frame):
            place = await _resolve_address(adapter, frame, address)
            return await adapter.memory.write_memory(place, offset, bytearray.fromhex(bytes))

    async def disassemble(
        self, address: str | None = None, offset: int = 0, count: int = 20, frame_id: int = 0,
        thread_id: int | None = None,
    ) -> machine.Disassembly:
        """Show machine code, from the instruction at which a frame is if nothing else is named."""
        async with in_frame(self._debuggee, "disassemble", frame_id, thread_id) as (adapter, frame):
            with only_looks():
                current = await adapter.memory.instruction(frame)
                begin = current if address is None else await _resolve_address(adapter, frame, address)
            rows = await adapter.memory.disassemble(begin, offset, count)
        here = int(current, 16)
        shown = [machine.Instruction(**row, is_current=int(row["address"], 16) == here) for row in rows]
        return machine.Disassembly(address=begin, instructions=shown)


async def _resolve_address(adapter: Adapter, frame: int, given: str) -> str:
    given = given.strip()
    if NUMBER.fullmatch(given):
        return hex(int(given, 16 if given[:2].lower() == "0x" else 10))
    return await adapter.memory.address_of(frame, given)
