"""Requests about what is below the source: for native programs, where the debugger offers it."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from ...errors import RelayError
from . import dap_arguments as sent
from . import dap_shapes
from .dap_shapes import Body

if TYPE_CHECKING:
    from .editor_door import EditorDoor

LARGEST = 64 * 1024
MOST_INSTRUCTIONS = 1000
ACCESSES = ["write", "read", "readWrite"]


async def read_memory(door: EditorDoor, wish: sent.ReadMemory) -> Body:
    address = _read_address(wish.memory_reference, wish.offset)
    if not wish.count:
        return {"address": address}
    answer = await door.call("read_memory", address=address, count=min(wish.count, LARGEST))
    data = base64.b64encode(bytes.fromhex(answer["bytes"])).decode()
    return {"address": answer["address"], "data": data, "unreadableBytes": wish.count - answer["count"]}


async def write_memory(door: EditorDoor, wish: sent.WriteMemory) -> Body:
    try:
        data = base64.b64decode(wish.data, validate=True)
    except binascii.Error as error:
        raise RelayError("INVALID_REQUEST", f"data is not base64: {error}") from None
    await door.call("write_memory", address=_read_address(wish.memory_reference, wish.offset), bytes=data.hex())
    return {"bytesWritten": len(data)}


def _read_address(reference: str, offset: int) -> str:
    try:
        return hex(max(0, int(reference, 0) + offset))
    except ValueError:
        raise RelayError("INVALID_REQUEST", f"Memory reference {reference[:50]!r} is no address") from None


async def disassemble(door: EditorDoor, wish: sent.Disassemble) -> Body:
    address, count = _read_address(wish.memory_reference, wish.offset), min(wish.instruction_count, MOST_INSTRUCTIONS)
    answer = await door.call("disassemble", address=address, offset=wish.instruction_offset, count=count)
    return {"instructions": [dap_shapes.instruction_of(row, door.places) for row in answer["instructions"]]}


# Values that stop the program when they change.


async def data_breakpoint_info(door: EditorDoor, wish: sent.DataBreakpointInfo) -> Body:
    """Describe what can be watched. It is asked for again in its own frame: names mean something there only."""
    expression: str | None = wish.name
    place = door.handles.frame_place(wish.frame_id) if wish.frame_id is not None else None
    if wish.variables_reference:
        parent = door.handles.value_place(wish.variables_reference)
        expression, place = parent.member_expression(wish.name), parent.place
    if expression is None or place is None:
        return {"dataId": None, "description": f"{wish.name} cannot be watched from here"}
    number = door.handles.of_expression(place, expression)
    return {"dataId": str(number), "description": expression, "accessTypes": ACCESSES, "canPersist": False}


async def set_data_breakpoints(door: EditorDoor, wish: sent.SetDataBreakpoints) -> Body:
    wanted = {each.data_id: each for each in wish.breakpoints}
    for data_id in [data_id for data_id in door.watched if data_id not in wanted]:
        await door.remove_watches(data_id)
    return {"breakpoints": [await _set_watch(door, each) for each in wish.breakpoints]}


async def _set_watch(door: EditorDoor, wish: sent.DataBreakpoint) -> dap_shapes.Breakpoint:
    if wish.data_id in door.watched:
        return dap_shapes.Breakpoint(verified=True)
    try:
        value = door.handles.value_place(int(wish.data_id) if wish.data_id.isdigit() else 0)
        how = {"condition": wish.condition or None, "hit_condition": wish.hit_condition or None}
        options = {"access": wish.access_type or "write", **{name: text for name, text in how.items() if text}}
        place = value.place.frame_params
        answer = await door.call("set_data_breakpoint", expression=value.expression, **place, **options)
    except RelayError as error:
        return dap_shapes.Breakpoint(verified=False, message=error.message)
    door.watched[wish.data_id] = answer["id"]
    return dap_shapes.Breakpoint(verified=True)
