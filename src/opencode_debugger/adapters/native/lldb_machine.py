"""Memory and watched values in lldb, by its commands: lldb-dap has no requests for memory, and ends at unknown ones."""

from __future__ import annotations

import os
import re
from typing import Any

from ...errors import RelayError
from ..base import DataBreakpoint
from ..permission import may_run
from . import looks
from .lldb_looking import LldbLooking
from .lldb_prologues import quoted
from .machine import LIMIT, Machine, Watched, no_code
from .names import short_name

CREATED = re.compile(r"Watchpoint created: Watchpoint (\d+):")
DISTANCE = re.compile(r"Summary: .* \+ (\d+)(?: at .*)?$", re.MULTILINE)
"""How far from the beginning of its function an address is."""
ENTRY = re.compile(r"^\s+LineEntry: .*?: (/.*?):(\d+)(?::\d+)?$", re.MULTILINE)
"""Which line an address belongs to."""
FUNCTION = re.compile(r"^\s+Summary: .*?`(.*?)(?: \+ \d+)?(?: at .*)?$", re.MULTILINE)
NAMED = re.compile(r"^(\S.*?): {2,}(?=\S)")
"""Before the first instruction of a function: its name."""
WATCHPOINT = re.compile(r"^watchpoint (\d+)")
ACCESS = {"write": "write", "read": "read", "readWrite": "read_write"}
UNKNOWN = "has unknown type"
STACK = 8 * 1024 * 1024
"""Bytes above the stack pointer in which an address is one of the stack."""


class LldbMachine(LldbLooking, Machine):
    def _reset(self) -> None:
        super()._reset()
        self._frames_of: dict[int, tuple[int, str]] = {}
        """by watchpoint: the frame that a local variable belongs to, counted from the outermost, and its function"""

    async def address_of(self, frame: int, expression: str) -> str:
        """Of functions without debug information lldb wants to be told that they are something with an address."""
        try:
            return await super().address_of(frame, expression)
        except RelayError as error:
            if UNKNOWN not in error.message:
                raise
            found = await self._asked_as_function(frame, expression)
            return self._hex(found, expression)

    async def _asked_as_function(self, frame: int, expression: str) -> str:
        place, text = self._frame(frame), f"(void *)(void (*)()){expression}"
        if may_run.get():
            return str((await self._asked(frame, text))["result"])
        names = looks.parse(expression).names
        return str((await self._interpreted(frame, place, text, names, LIMIT, self._timeout)).get("result"))

    async def instruction(self, frame: int) -> str:
        return hex(int((await self._asked(frame, "(unsigned long)$pc"))["result"]))

    async def _instructions(self, address: str, offset: int, count: int) -> list[dict[str, Any]]:
        """With function and line of each: lldb-dap tells them where they begin, the function within the text."""
        is_there = await self._read(int(address, 16), 1) is not None
        rows = await self._raw_instructions(address, offset, count) if is_there else []
        if not rows:
            raise no_code(address)
        known = await self._line(f"image lookup --verbose --address {rows[0]['address']}")
        entry, function = ENTRY.search(known), FUNCTION.search(known)
        symbol = short_name(function[1]) if function else None
        line: dict[str, Any] = {"line": int(entry[2]), "location": {"path": entry[1]}} if entry else {}
        for row in rows:
            named = NAMED.match(row["instruction"])
            if named:
                symbol, line = short_name(named[1]), {}
                row["instruction"] = row["instruction"][named.end() :]
            if row.get("location"):
                line = {"line": row["line"], "location": row["location"]}
            row |= {"symbol": symbol, **line}
        return rows

    async def _raw_instructions(self, address: str, offset: int, count: int) -> list[dict[str, Any]]:
        """Those before an address are found from the beginning of its function."""
        if offset >= 0:
            return await super()._instructions(address, offset, count)
        found = DISTANCE.search(await self._line(f"image lookup --address {address}"))
        distance = int(found[1]) if found else 0
        start = int(address, 16) - distance
        rows = await super()._instructions(hex(start), 0, distance + count)
        here = next((at for at, row in enumerate(rows) if int(row["address"], 16) == int(address, 16)), 0)
        first = max(0, here + offset)
        return rows[first : max(first, here + offset + count)]

    async def _read(self, address: int, count: int) -> bytes | None:
        """Through a file that is in memory only."""
        file = os.memfd_create("memory")
        try:
            where = quoted(f"/proc/{os.getpid()}/fd/{file}")
            said = await self._line(f"memory read --force --binary --outfile {where} --count {count} {address:#x}")
            data = os.pread(file, count, 0)
        finally:
            os.close(file)
        return None if "error:" in said or len(data) < count else data

    async def _write(self, address: int, data: bytes | bytearray) -> None:
        file = os.memfd_create("memory")
        try:
            os.write(file, data)
            where = quoted(f"/proc/{os.getpid()}/fd/{file}")
            said = await self._line(f"memory write --infile {where} {address:#x}")
        finally:
            os.close(file)
        if "error:" in said:
            raise RelayError("DEBUGPY_ERROR", said.strip().removeprefix("error: "))

    # Watched values.

    async def _begin_watching(self, frame: int, wanted: DataBreakpoint) -> tuple[Any, str | None]:
        address = await self.address_of_value(frame, wanted.expression)
        size = (await self._asked(frame, f"(int)sizeof({wanted.expression})"))["result"]
        said = await self._line(f"watchpoint set expression -w {ACCESS[wanted.access]} -s {size} -- {address}")
        made = CREATED.search(said)
        if made is None:
            raise RelayError("EVALUATE_ERROR", said.strip().removeprefix("error: ") or "lldb did not say why")
        id = int(made[1])
        if wanted.condition:
            await self._line(f"watchpoint modify -c {quoted(wanted.condition)} {id}")
        stack = int((await self._asked(frame, "(unsigned long)$sp"))["result"])
        if stack <= int(address, 16) < stack + STACK:
            place = self._frame(frame)
            frames = await self._stack(place.thread, 0)
            self._frames_of[id] = (len(frames) - place.level, frames[place.level]["name"])
        return id, None

    async def _unwatch(self, watched: Watched) -> None:
        self._frames_of.pop(watched.id, None)
        await self._line(f"watchpoint delete {watched.id}")

    async def _which(self, body: dict[str, Any]) -> tuple[int, Watched] | None:
        named = WATCHPOINT.match(str(body.get("description") or ""))
        id = int(named[1]) if named else None
        found = next(((number, each) for number, each in self._data.items() if each.id == id), None)
        if found is None or await self._is_in_scope(found[1].id, body["threadId"]):
            return found
        await self._unwatch(found[1])
        self._data_gone(found[1].id)
        return None

    async def _is_in_scope(self, id: int, thread_id: int) -> bool:
        """lldb goes on watching the place of a variable whose function has returned."""
        if id not in self._frames_of:
            return True
        height, name = self._frames_of[id]
        frames = await self._stack(thread_id, 0)
        return len(frames) >= height and frames[len(frames) - height]["name"] == name
