"""Memory and watched values in lldb, by its commands: lldb-dap has no requests for memory, and ends at unknown ones."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from ....errors import RelayError
from ...run_permission import may_run
from ...shapes import DataBreakpoint
from .. import readonly_expressions
from ..dap_inspection import ASKED_LIMIT
from ..function_names import short_name
from ..native_memory import DapInstruction, DataBreakpoints, NativeMemory, RawMemory, WatchedValue, as_address, no_code
from .lldb_conversation import quoted
from .lldb_inspection import LldbInspection

CREATED = re.compile(r"Watchpoint created: Watchpoint (\d+):")
DISTANCE = re.compile(r"Summary: .* \+ (\d+)(?: at .*)?$", re.MULTILINE)
"""The distance of an address from the beginning of its function."""
ENTRY = re.compile(r"^\s+LineEntry: .*?: (/.*?):(\d+)(?::\d+)?$", re.MULTILINE)
"""The line that an address belongs to."""
FUNCTION = re.compile(r"^\s+Summary: .*?`(.*?)(?: \+ \d+)?(?: at .*)?$", re.MULTILINE)
NAMED = re.compile(r"^(\S.*?): {2,}(?=\S)")
"""Before the first instruction of a function: its name."""
WATCHPOINT = re.compile(r"^watchpoint (\d+)")
ACCESS = {"write": "write", "read": "read", "readWrite": "read_write"}
STACK = 8 * 1024 * 1024
"""Bytes above the stack pointer in which an address is one of the stack."""


class LldbRawMemory(RawMemory):
    async def read(self, address: int, count: int) -> bytes | None:
        with _memory_file() as (file, name):
            command = f"memory read --force --binary --outfile {name} --count {count} {address:#x}"
            said = await self._conversation.run_command(command)
            data = os.pread(file, count, 0)
        return None if "error:" in said or len(data) < count else data

    async def write(self, address: int, data: bytes | bytearray) -> None:
        with _memory_file() as (file, name):
            os.write(file, data)
            said = await self._conversation.run_command(f"memory write --infile {name} {address:#x}")
        if "error:" in said:
            raise RelayError("DEBUGPY_ERROR", said.strip().removeprefix("error: "))


@contextlib.contextmanager
def _memory_file() -> Iterator[tuple[int, str]]:
    """Open a file that is in memory only, and name it for lldb."""
    file = os.memfd_create("memory")
    try:
        yield file, quoted(f"/proc/{os.getpid()}/fd/{file}")
    finally:
        os.close(file)


class LldbMemory(NativeMemory):
    _inspection: LldbInspection

    async def address_of(self, frame: int, expression: str) -> str:
        """Tell lldb of functions without debug information that they are something with an address."""
        try:
            return await super().address_of(frame, expression)
        except RelayError as error:
            if "has unknown type" not in error.message:
                raise
        text, look, place = f"(void *)(void (*)()){expression}", self._inspection, self._inspection.find_frame(frame)
        if may_run.get():
            return as_address((await look.ask_value(frame, text)).text, expression)
        names, budget = readonly_expressions.parse(expression).names, (ASKED_LIMIT, self._conversation.timeout)
        return as_address((await look.interpret(place, text, names, *budget)).text, expression)

    async def instruction(self, frame: int) -> str:
        return hex(int((await self._inspection.ask_value(frame, "(unsigned long)$pc")).text))

    async def _fetch_instructions(self, address: str, offset: int, count: int) -> list[DapInstruction]:
        """Add function and line of each: lldb-dap tells them where they begin, the function within the text."""
        is_there = await self._raw.read(int(address, 16), 1) is not None
        rows = await self._raw_instructions(address, offset, count) if is_there else []
        if not rows:
            raise no_code(address)
        known = await self._conversation.run_command(f"image lookup --verbose --address {rows[0]['address']}")
        entry, function = ENTRY.search(known), FUNCTION.search(known)
        symbol = short_name(function[1]) if function else None
        line: DapInstruction = {"line": int(entry[2]), "location": {"path": entry[1]}} if entry else {}
        for row in rows:
            named = NAMED.match(row["instruction"])
            if named:
                symbol, line = short_name(named[1]), {}
                row["instruction"] = row["instruction"][named.end() :]
            if row.get("location"):
                line = {"line": row["line"], "location": row["location"]}
            row.update(line)
            row["symbol"] = symbol
        return rows

    async def _raw_instructions(self, address: str, offset: int, count: int) -> list[DapInstruction]:
        """Find those before an address from the beginning of its function; those behind it are counted here, because
        lldb-dap counts bytes."""
        start, most = int(address, 16), offset + count
        if offset < 0:
            found = DISTANCE.search(await self._conversation.run_command(f"image lookup --address {address}"))
            distance = int(found[1]) if found else 0
            start, most = start - distance, distance + count
        arguments = {"memoryReference": hex(start), "instructionCount": most}
        rows: list[DapInstruction] = (await self._conversation.request("disassemble", arguments))["instructions"]
        here = next((at for at, row in enumerate(rows) if int(row["address"], 16) == int(address, 16)), 0)
        first = max(0, here + offset)
        return rows[first : max(first, here + offset + count)]


class LldbDataBreakpoints(DataBreakpoints):
    def reset(self) -> None:
        super().reset()
        self._frames_of: dict[int, tuple[int, str]] = {}
        """by watchpoint: the frame that a local variable belongs to, counted from the outermost, and its function"""

    async def _begin_watching(self, frame: int, wanted: DataBreakpoint) -> tuple[int, str | None]:
        address = await self._find_address(frame, wanted.expression)
        size = (await self._inspection.ask_value(frame, f"(int)sizeof({wanted.expression})")).text
        command = f"watchpoint set expression -w {ACCESS[wanted.access]} -s {size} -- {address}"
        said = await self._conversation.run_command(command)
        made = CREATED.search(said)
        if made is None:
            raise RelayError("EVALUATE_ERROR", said.strip().removeprefix("error: ") or "lldb did not say why")
        id = int(made[1])
        if wanted.condition:
            await self._conversation.run_command(f"watchpoint modify -c {quoted(wanted.condition)} {id}")
        stack = int((await self._inspection.ask_value(frame, "(unsigned long)$sp")).text)
        if stack <= int(address, 16) < stack + STACK:
            place = self._inspection.find_frame(frame)
            frames = await self._inspection.fetch_frames(place.thread, 0)
            self._frames_of[id] = (len(frames) - place.level, frames[place.level]["name"])
        return id, None

    async def _unwatch_value(self, watched: WatchedValue) -> None:
        self._frames_of.pop(watched.id, None)
        await self._conversation.run_command(f"watchpoint delete {watched.id}")

    async def _find_hit(self, body: dict[str, Any]) -> tuple[int, WatchedValue] | None:
        named = WATCHPOINT.match(str(body.get("description") or ""))
        id = int(named[1]) if named else None
        found = next(((number, each) for number, each in self._watched.items() if each.id == id), None)
        if found is None or id not in self._frames_of:
            return found
        height, name = self._frames_of[id]
        frames = await self._inspection.fetch_frames(body["threadId"], 0)
        if len(frames) >= height and frames[len(frames) - height]["name"] == name:
            return found
        await self._unwatch_value(found[1])  # lldb goes on watching its place when its function has returned
        self.give_up(id)
        return None
