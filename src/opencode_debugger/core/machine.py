"""Below the source: memory and machine code of a native program."""

from __future__ import annotations

import binascii
from typing import Any

from ..adapters.base import Adapter
from ..errors import RelayError
from .debuggee import Debuggee
from .inspection import in_frame

Place = dict[str, Any]
"""address or expression, and the frame in which an expression is meant"""


async def read_memory(debuggee: Debuggee, offset: int = 0, count: int = 256, **place: Any) -> dict[str, Any]:
    async with in_frame(debuggee, "read_memory", place.pop("frame_id", 0), place.pop("thread_id", None)) as (
        adapter,
        frame,
    ):
        address = await _address(adapter, frame, **place)
        found = await adapter.read_memory(address, offset, count)
    data: bytes = found["data"]
    if not data and count:
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


async def write_memory(debuggee: Debuggee, bytes: str, offset: int = 0, **place: Any) -> dict[str, Any]:
    data = binascii.unhexlify("".join(bytes.split()))
    async with in_frame(debuggee, "write_memory", place.pop("frame_id", 0), place.pop("thread_id", None)) as (
        adapter,
        frame,
    ):
        address = await _address(adapter, frame, **place)
        return await adapter.write_memory(address, offset, data)


async def disassemble(
    debuggee: Debuggee,
    frame_id: int = 0,
    thread_id: int | None = None,
    offset: int = 0,
    count: int = 20,
    **place: Any,
) -> dict[str, Any]:
    """Of the instruction at which a frame is, if nothing else is named."""
    async with in_frame(debuggee, "disassemble", frame_id, thread_id) as (adapter, frame):
        current = await adapter.instruction(frame)
        address = await _address(adapter, frame, **place) if place else current
        rows = await adapter.disassemble(address, offset, count)
    here = int(current, 16)
    return {
        "address": address,
        "instructions": [{**row, "is_current": int(row["address"], 16) == here} for row in rows],
    }


async def _address(adapter: Adapter, frame: int, address: str | None = None, expression: str | None = None) -> str:
    return address if address is not None else await adapter.address_of(frame, expression or "")
