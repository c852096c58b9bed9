"""Threads and stacks, as far as the debugger tells them; numbers for the frames and values shown at a stop."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import NamedTuple

from ....errors import RelayError
from ....ez.messages import EzFrame
from ...rows import FrameRow, SourceRow, ThreadRow
from ...shapes import Asked, Frames
from ...stop_handles import Handles
from .. import ez_files
from ..ez_conversation import Conversation, Refused
from ..program_state import Halt, ProgramState

MAIN = 1
"""The thread of a debugger that knows of none."""


@dataclass(frozen=True)
class Frame:
    thread: int
    index: int
    """0 for the innermost"""


class Inside(NamedTuple):
    """The content of a reference: a scope of a frame, or what a value is made of."""

    frame: int
    scope: str | None = None
    text: str = ""
    expression: str = ""


class Places:
    """Gives out numbers that are good until the program goes on."""

    def __init__(self) -> None:
        self.frames: Handles[Frame] = Handles(1)
        self.values: Handles[Inside] = Handles(1000)

    def clear(self) -> None:
        self.frames.clear()
        self.values.clear()

    def find_frame(self, number: int) -> Frame:
        if (frame := self.frames.get(number)) is None:
            raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
        return frame


Listed = list[EzFrame]
"""the innermost first"""


@dataclass(eq=False)
class Stacks:
    _conversation: Conversation
    _state: ProgramState
    _places: Places
    _cwd: str
    _shows_call_sites: bool = False
    """its stacks have where functions were called, and not where the program is"""
    _known: dict[tuple[Halt, int], Listed | None] = field(default_factory=dict)
    """by stop and thread"""

    def forget_stacks(self) -> None:
        self._known.clear()

    async def threads(self) -> list[ThreadRow]:
        halt, halted = self._state.halt, not self._state.is_running
        named = [(halt.thread_id if halt else MAIN, "main")]
        if self._conversation.has("threads"):
            answer = await self._conversation.require("getThreads")
            named = [(each["id"], each["name"]) for each in answer["threads"]]
        tops = {id: await self._top_frame(id) if halted else None for id, _ in named}
        return [{"id": id, "name": name, "halted": halted, "marked": halted, "top": tops[id]} for id, name in named]

    async def _top_frame(self, thread_id: int) -> FrameRow | None:
        at = self._state.halt
        if at is not None and at.thread_id == thread_id:
            return self._describe_frame(_frame_at(at))
        listed = await self._fetch_frames(thread_id)
        return self._describe_frame(listed[0]) if listed else None

    def ask_stack(self, thread_id: int) -> Asked:
        asked = asyncio.get_running_loop().create_task(self._fetch_frames(thread_id))
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        return asked

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        listed = await (asked or self._fetch_frames(thread_id))
        at = self._state.halt
        if at is not None and at.thread_id == thread_id:
            listed = self._from_halt(at, listed)
        return [
            {**self._describe_frame(each), "id": self._places.frames.add(Frame(thread_id, index))}
            for index, each in enumerate(listed or [])
        ]

    def _from_halt(self, at: Halt, listed: Listed | None) -> Listed:
        """Return a stack that begins where the program is: some have only where functions were called from."""
        if listed is None:
            return [_frame_at(at)]
        if not listed or (self._real_path(listed[0]["file"]), listed[0]["line"]) != (self._real_path(at.path), at.line):
            self._shows_call_sites = True
        if not self._shows_call_sites:
            return listed
        callers: Listed = [{**each, "function": ""} for each in listed]  # the name belongs to what was called there
        return [_frame_at(at), *callers]

    async def _fetch_frames(self, thread_id: int) -> Listed | None:
        """Ask for a stack once at each stop. One that cannot be had is no reason not to say where the program is."""
        at = self._state.halt
        if at is not None and (at, thread_id) in self._known:
            return self._known[at, thread_id]
        listed = None
        talk = self._conversation
        try:
            answer = await talk.ask("getStackTrace", min(5.0, talk.timeout), **talk.thread_param(thread_id))
            listed = answer["frames"]
        except Refused:
            pass
        except RelayError as error:
            if error.code != "DEBUGPY_TIMEOUT":
                raise
        if at is not None and at is self._state.halt and not self._state.is_running:
            self._known[at, thread_id] = listed
        return listed

    def _describe_frame(self, frame: EzFrame) -> FrameRow:
        path, line = self.absolute_path(frame["file"]), frame["line"]
        name, column = frame["function"] or ez_files.function_at(path, line) or "<function>", frame["column"] or 1
        source: SourceRow | None = {"path": path} if path else None
        return {"name": name, "line": line if path else 0, "column": column, "source": source}

    def _real_path(self, path: str) -> str:
        return os.path.realpath(self.absolute_path(path))

    def absolute_path(self, path: str) -> str:
        """Complete a path: debuggers write them as they were given them."""
        return os.path.normpath(os.path.join(self._cwd, path)) if path else ""


def _frame_at(halt: Halt) -> EzFrame:
    return {"index": 0, "function": "", "file": halt.path, "line": halt.line, "column": halt.column}
