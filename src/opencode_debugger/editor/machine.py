"""Requests about what is below the source, and about going back: for native programs, where the debugger offers it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..errors import RelayError
from . import arguments, shapes
from .arguments import understood

if TYPE_CHECKING:
    from .door import Door

LARGEST = 64 * 1024
MOST_INSTRUCTIONS = 1000
ACCESSES = ["write", "read", "readWrite"]


def capabilities(offered: frozenset[str]) -> dict[str, Any]:
    return {
        "supportsReadMemoryRequest": "memory" in offered,
        "supportsWriteMemoryRequest": "write_memory" in offered,
        "supportsDisassembleRequest": "disassembly" in offered,
        "supportsDataBreakpoints": "data_breakpoints" in offered,
        "supportsStepBack": "reverse" in offered,
        "supportsSteppingGranularity": "instruction_steps" in offered,
    }


def back(operation: str) -> Callable[[Door, dict[str, Any]], Awaitable[None]]:
    async def take(door: Door, given: dict[str, Any]) -> None:
        thread_id = understood(given, arguments.OfThread).thread_id
        await door.call(operation, thread_id=thread_id, wait=False, fields=["location"])

    return take


async def read_memory(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    wish = understood(given, arguments.ReadMemory)
    address = _address(wish.memory_reference, wish.offset)
    if not wish.count:
        return {"address": address}
    answer = await door.call("read_memory", address=address, count=min(wish.count, LARGEST))
    data = base64.b64encode(bytes.fromhex(answer["bytes"])).decode()
    return {"address": answer["address"], "data": data, "unreadableBytes": wish.count - answer["count"]}


async def write_memory(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    wish = understood(given, arguments.WriteMemory)
    try:
        data = base64.b64decode(wish.data, validate=True)
    except binascii.Error as error:
        raise RelayError("INVALID_REQUEST", f"data is not base64: {error}") from None
    await door.call("write_memory", address=_address(wish.memory_reference, wish.offset), bytes=data.hex())
    return {"bytesWritten": len(data)}


def _address(reference: str, offset: int) -> str:
    try:
        return hex(max(0, int(reference, 0) + offset))
    except ValueError:
        raise RelayError("INVALID_REQUEST", f"Memory reference {reference[:50]!r} is no address") from None


async def disassemble(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    wish = understood(given, arguments.Disassemble)
    address, count = _address(wish.memory_reference, wish.offset), min(wish.instruction_count, MOST_INSTRUCTIONS)
    answer = await door.call("disassemble", address=address, offset=wish.instruction_offset, count=count)
    return {"instructions": [_instruction(door, row) for row in answer["instructions"]]}


def _instruction(door: Door, row: dict[str, Any]) -> dict[str, Any]:
    shown = {"address": row["address"], "instruction": row["instruction"]}
    shown |= {"instructionBytes": row["bytes"]} if row.get("bytes") else {}
    shown |= {"symbol": row["symbol"]} if row.get("symbol") else {}
    if row.get("path"):
        shown["location"] = shapes.source_of(row["path"], door.places)
    return shown | ({"line": door.places.their_line(row["line"])} if row.get("line") else {})


# Values that stop the program when they change.


async def data_breakpoint_info(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    """What is asked for again in its own frame: names mean something there only."""
    wish = understood(given, arguments.DataBreakpointInfo)
    expression: str | None = wish.name
    place = door.handles.frame(wish.frame_id) if wish.frame_id is not None else None
    if wish.variables_reference:
        parent = door.handles.value(wish.variables_reference)
        expression, place = parent.named(wish.name), parent.place
    if expression is None or place is None:
        return {"dataId": None, "description": f"{wish.name} cannot be watched from here"}
    number = door.handles.of_expression(place, expression)
    return {"dataId": str(number), "description": expression, "accessTypes": ACCESSES, "canPersist": False}


async def set_data_breakpoints(door: Door, given: dict[str, Any]) -> dict[str, Any]:
    wish = understood(given, arguments.SetDataBreakpoints)
    wanted = {each.data_id: each for each in wish.breakpoints}
    for data_id in [data_id for data_id in door.watched if data_id not in wanted]:
        await door.unwatch(data_id)
    return {"breakpoints": [await _watch(door, each) for each in wish.breakpoints]}


async def _watch(door: Door, wish: arguments.DataBreakpoint) -> dict[str, Any]:
    if wish.data_id in door.watched:
        return {"verified": True}
    try:
        value = door.handles.value(int(wish.data_id) if wish.data_id.isdigit() else 0)
        how = {"condition": wish.condition or None, "hit_condition": wish.hit_condition or None}
        answer = await door.call(
            "set_data_breakpoint",
            expression=value.expression,
            access=wish.access_type or "write",
            **value.place.params,
            **{name: text for name, text in how.items() if text},
        )
    except RelayError as error:
        return {"verified": False, "message": error.message}
    door.watched[wish.data_id] = answer["id"]
    return {"verified": True}
