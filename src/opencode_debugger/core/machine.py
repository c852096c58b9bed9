"""Below the source: memory and machine code of a native program."""

from __future__ import annotations

import re
from typing import Any

from ..adapters.base import Adapter
from ..adapters.permission import only_looks
from ..errors import RelayError
from .debuggee import Debuggee
from .inspection import in_frame

NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")


async def read_memory(
    debuggee: Debuggee,
    address: str,
    offset: int = 0,
    count: int = 256,
    frame_id: int = 0,
    thread_id: int | None = None,
) -> dict[str, Any]:
    async with in_frame(debuggee, "read_memory", frame_id, thread_id) as (adapter, frame):
        with only_looks():
            place = await _address(adapter, frame, address)
        found = await adapter.read_memory(place, offset, count)
    data: bytes = found["data"]
    if not data:
        raise RelayError(
            "INVALID_PARAMETER",
            f"There is no memory at {found['address']} that can be read",
            parameter="address",
            address=found["address"],
            suggestion="Give the address of a value: POST /sessions/{id}/evaluate with &name shows it",
        )
    return {
        "address": found["address"],
        "bytes": data.hex(),
        "text": "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data),
        "count": len(data),
        "unreadable": found["unreadable"],
    }


async def write_memory(
    debuggee: Debuggee,
    address: str,
    bytes: str,
    offset: int = 0,
    frame_id: int = 0,
    thread_id: int | None = None,
) -> dict[str, Any]:
    async with in_frame(debuggee, "write_memory", frame_id, thread_id) as (adapter, frame):
        place = await _address(adapter, frame, address)
        return await adapter.write_memory(place, offset, bytearray.fromhex(bytes))


async def disassemble(
    debuggee: Debuggee,
    address: str | None = None,
    offset: int = 0,
    count: int = 20,
    frame_id: int = 0,
    thread_id: int | None = None,
) -> dict[str, Any]:
    """Of the instruction at which a frame is, if nothing else is named."""
    async with in_frame(debuggee, "disassemble", frame_id, thread_id) as (adapter, frame):
        with only_looks():
            current = await adapter.instruction(frame)
            begin = current if address is None else await _address(adapter, frame, address)
        rows = await adapter.disassemble(begin, offset, count)
    here = int(current, 16)
    return {
        "address": begin,
        "instructions": [{**row, "is_current": int(row["address"], 16) == here} for row in rows],
    }


async def _address(adapter: Adapter, frame: int, given: str) -> str:
    given = given.strip()
    if NUMBER.fullmatch(given):
        return hex(int(given, 16 if given[:2].lower() == "0x" else 10))
    return await adapter.address_of(frame, given)
