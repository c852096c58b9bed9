"""Answers about memory, machine code, data breakpoints and recordings."""

from __future__ import annotations

from typing import Annotated

from .shape import UNSET, Answer, Maybe, said


class Memory(Answer):
    address: Annotated[str, said("Where the bytes are.", "0x7ffe0010")]
    bytes: Annotated[str, said("The bytes, two hexadecimal digits each.", "48656c6c6f00")]
    text: Annotated[str, said("The same as ASCII, with a dot for what is not printable.", "Hello.")]
    count: Annotated[int, said("How many bytes there are.", 6)]
    unreadable: Annotated[int, said("How many of those asked for cannot be read.", 0)]


class MemoryWritten(Answer):
    address: Annotated[str, said("Where it was written.", "0x7ffe0010")]
    written: Annotated[int, said("How many bytes.", 6)]


class Instruction(Answer):
    address: Annotated[str, said("Where it is.", "0x555555555193")]
    instruction: Annotated[str, said("What it says.", "mov eax, dword ptr [rbp - 0x14]")]
    bytes: Annotated[Maybe[str | None], said("Its bytes, two hexadecimal digits each.", "8b45ec")] = UNSET
    symbol: Annotated[Maybe[str | None], said("The function it belongs to.", "add")] = UNSET
    path: Annotated[Maybe[str | None], said("Source file.", "/home/dev/app/main.c")] = UNSET
    line: Annotated[Maybe[int | None], said("Line (1-indexed).", 7)] = UNSET
    is_current: Annotated[bool, said("Whether the frame is there.", True)]


class Disassembly(Answer):
    address: Annotated[str, said("What it begins at, or is counted from.", "0x555555555193")]
    instructions: Annotated[list[Instruction], said("The instructions.")]


class DataBreakpointItem(Answer):
    id: Annotated[str, said("Identifier.", "dbp_1")]
    expression: Annotated[str, said("What is watched.", "account->balance")]
    access: Annotated[str, said("write, read or readWrite.", "write")]
    condition: Annotated[Maybe[str | None], said("Condition.", "amount > 100")] = UNSET
    hit_condition: Annotated[Maybe[str | None], said("Which hits stop.", ">3")] = UNSET
    hit_count: Annotated[int, said("How often it was hit.", 0)]
    message: Annotated[Maybe[str | None], said("What the debugger says about it.", "Hardware watchpoint")] = UNSET


class DataBreakpointList(Answer):
    data_breakpoints: Annotated[list[DataBreakpointItem], said("Those that there are.")]
    total: Annotated[int, said("How many.", 1)]


class DataBreakpointsRemoved(Answer):
    removed: Annotated[list[DataBreakpointItem], said("Those that were removed.")]
    total: Annotated[int, said("How many are left.", 0)]


class Recording(Answer):
    recording: Annotated[bool, said("Whether it records.", True)]
    message: Annotated[Maybe[str | None], said(
        "What that means.", "The program runs much slower while it is recorded")] = UNSET
    recordings: Annotated[Maybe[list[str]], said(
        "Python: the recordings that can be asked, the last one last.", ["4711-1"])] = UNSET
    calls: Annotated[Maybe[int], said("Python: calls that were written.", 20481)] = UNSET
    lines: Annotated[Maybe[int], said("Python: lines of chosen functions that were written.", 0)] = UNSET
    functions: Annotated[Maybe[int], said("Python: functions of the program's own that were called.", 83)] = UNSET
    bytes: Annotated[Maybe[int], said("Python: how large the recording is.", 2097152)] = UNSET
    dropped_calls: Annotated[Maybe[int], said("Python: calls that the limit left no room for, the oldest.", 0)] = UNSET
    dropped_steps: Annotated[Maybe[int], said("Python: lines that the limit left no room for, the oldest.", 0)] = UNSET
    rested: Annotated[Maybe[list[str]], said(
        "Python: functions that are called so often that not all of their calls were recorded.", ["fib"])] = UNSET
