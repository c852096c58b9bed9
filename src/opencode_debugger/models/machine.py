"""Memory, machine code, data breakpoints and going back: what a client may send, and the answers."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema

from .documented import Described, doc
from .fields import Expression, Identifier, problem, without_nul
from .queries import Integer, QueryModel, Whole
from .requests import RequestModel, WaitOptions

ADDRESS = (
    "Address in memory, such as 0x7ffe0010, or an expression: where a pointer or array points to, of anything else its "
    "own place in memory."
)
OFFSET = "Bytes to add to the address."
FRAME = "Frame in which the expression is meant: 0 is the top frame."
THREAD = "Thread of the frame; the stopped thread if left out."

MOST_BYTES = 65536
Place = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(without_nul)]
Signed = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


def _whole_bytes(value: str) -> str:
    if not re.fullmatch("([0-9a-fA-F]{2})+", value):
        raise problem("Must be hexadecimal digits, two for each byte, such as 2a00")
    return value


HexBytes = Annotated[
    str,
    Field(max_length=2 * MOST_BYTES),
    AfterValidator(_whole_bytes),
    WithJsonSchema({"type": "string", "pattern": "^([0-9a-fA-F]{2})+$", "maxLength": 2 * MOST_BYTES}),
]


class MemoryQuery(QueryModel):
    address: Place = Field(description=ADDRESS, examples=["buffer"])
    offset: Annotated[Signed, Whole] = Field(0, description=OFFSET)
    count: Annotated[int, Field(ge=1, le=MOST_BYTES), Whole] = Field(256, description="How many bytes.")
    frame_id: Integer = Field(0, description=FRAME)
    thread_id: Integer | None = Field(None, description=THREAD)


class Memory(Described):
    address: str = doc("Where the bytes are.", "0x7ffe0010", ...)
    bytes: str = doc("The bytes, two hexadecimal digits each.", "48656c6c6f00", ...)
    text: str = doc("The same as ASCII, with a dot for what is not printable.", "Hello.", ...)
    count: int = doc("How many bytes there are.", 6, ...)
    unreadable: int = doc("How many of those asked for cannot be read.", 0, ...)


class WriteMemoryRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"address": "buffer", "bytes": "48656c6c6f00"}]})

    address: Expression = Field(description=ADDRESS)
    offset: Signed = Field(0, description=OFFSET)
    bytes: HexBytes = Field(description="What to write, two hexadecimal digits for each byte.")
    frame_id: Identifier = Field(0, description=FRAME)
    thread_id: Identifier | None = Field(None, description=THREAD)


class MemoryWritten(Described):
    address: str = doc("Where it was written.", "0x7ffe0010", ...)
    written: int = doc("How many bytes.", 6, ...)


class DisassemblyQuery(QueryModel):
    address: Place | None = Field(
        None, description="Address, or an expression such as the name of a function; where the frame is if left out."
    )
    offset: Annotated[int, Field(ge=-1000, le=1000), Whole] = Field(
        0, description="Instructions to begin after it; negative: before it."
    )
    count: Annotated[int, Field(ge=1, le=1000), Whole] = Field(20, description="How many instructions.")
    frame_id: Integer = Field(0, description=FRAME)
    thread_id: Integer | None = Field(None, description=THREAD)


class Instruction(Described):
    address: str = doc("Where it is.", "0x555555555193", ...)
    instruction: str = doc("What it says.", "mov eax, dword ptr [rbp - 0x14]", ...)
    bytes: str | None = doc("Its bytes, two hexadecimal digits each.", "8b45ec")
    symbol: str | None = doc("The function it belongs to.", "add")
    path: str | None = doc("Source file.", "/home/dev/app/main.c")
    line: int | None = doc("Line (1-indexed).", 7)
    is_current: bool = doc("Whether the frame is there.", True, ...)


class Disassembly(Described):
    address: str = doc("What it begins at, or is counted from.", "0x555555555193", ...)
    instructions: list[Instruction] = doc("The instructions.", None, ...)


class DataBreakpointRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"expression": "account->balance"}]})

    expression: Expression = Field(description="What to watch: a variable or a part of one, seen from the frame.")
    access: Literal["write", "read", "readWrite"] = Field(
        "write", description="Stop when it changes (write), is read (read), or either."
    )
    condition: Expression | None = Field(None, description="Stop only if this is true.")
    hit_condition: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None, description="Which hits stop: N, ==N, >N, >=N, <N, <=N or %N."
    )
    frame_id: Identifier = Field(0, description=FRAME)
    thread_id: Identifier | None = Field(None, description=THREAD)


class DataBreakpointItem(Described):
    id: str = doc("Identifier.", "dbp_1", ...)
    expression: str = doc("What is watched.", "account->balance", ...)
    access: str = doc("write, read or readWrite.", "write", ...)
    condition: str | None = doc("Condition.", "amount > 100")
    hit_condition: str | None = doc("Which hits stop.", ">3")
    hit_count: int = doc("How often it was hit.", 0, ...)
    message: str | None = doc("What the debugger says about it.", "Hardware watchpoint")


class DataBreakpointList(Described):
    data_breakpoints: list[DataBreakpointItem] = doc("Those that there are.", None, ...)
    total: int = doc("How many.", 1, ...)


class DataBreakpointsRemoved(Described):
    removed: list[DataBreakpointItem] = doc("Those that were removed.", None, ...)
    total: int = doc("How many are left.", 0, ...)


class BackRequest(WaitOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"wait": 30}]})

    thread_id: Identifier | None = Field(None, description="Thread to go back; the stopped thread if left out.")


class RecordRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"enabled": True}]})

    enabled: bool = Field(True, description="Begin to record what the program does, or end it.")


class Recording(Described):
    recording: bool = doc("Whether it records.", True, ...)
    message: str | None = doc("What that means.", "The program runs much slower while it is recorded")
