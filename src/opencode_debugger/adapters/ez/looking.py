"""What a session asks about a program: threads, stacks, variables, as far as the debugger tells them."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

from ...errors import RelayError
from ..base import Asked, Frames, Listener
from ..files_only import FilesOnly
from ..handles import Handles
from ..rows import MAX_PAGE, PAGE, Row, paged, row, selected, within
from . import source, texts
from .talking import Halt, Refused, Talking
from .texts import Value

MAIN = 1
"""The thread of a debugger that knows of none."""
STACK = 5.0
"""Seconds for a stack: where the program is, is known without it."""
ANONYMOUS = "<function>"


@dataclass(frozen=True)
class Frame:
    thread: int
    index: int
    """0 for the innermost"""


@dataclass(frozen=True)
class Inside:
    """What is under a reference: a scope of a frame, or what a value is made of."""

    frame: int
    scope: str | None = None
    text: str = ""
    expression: str = ""


class Looking(Talking, FilesOnly):
    def __init__(
        self, session_id: str, listener: Listener, timeout: float, launch_timeout: float, path: str | None
    ) -> None:
        super().__init__(session_id, listener, timeout, launch_timeout, path)
        self._frames: Handles[Frame] = Handles(1)
        self._inside: Handles[Inside] = Handles(1000)

    def _reset(self) -> None:
        super()._reset()
        self._shows_call_sites = False
        """its stacks have where functions were called, and not where the program is"""
        self._stacks: dict[tuple[Halt, int], list[dict[str, Any]] | None] = {}
        """by stop and thread"""

    def _forget_places(self) -> None:
        self._frames.clear()
        self._inside.clear()

    def _frame(self, number: int) -> Frame:
        frame = self._frames.get(number)
        if frame is None:
            raise RelayError("FRAME_NOT_FOUND", "The program has moved on")
        return frame

    def _whose(self, thread_id: int) -> dict[str, Any]:
        return {"threadId": thread_id} if self._has("threads") else {}

    # Threads and stacks.

    async def threads(self) -> list[dict[str, Any]]:
        halted = not self._is_running
        listed: list[dict[str, Any]] = [{"id": self._halt.thread_id if self._halt else MAIN, "name": "main"}]
        if self._has("threads"):
            listed = (await self._require("getThreads"))["threads"]
        return [
            {
                "id": each["id"],
                "name": each["name"],
                "halted": halted,
                "marked": halted,
                "top": await self._top(each["id"]) if halted else None,
            }
            for each in listed
        ]

    async def _top(self, thread_id: int) -> dict[str, Any] | None:
        at = self._halt
        if at is not None and at.thread_id == thread_id:
            return self._described(_as_frame(at))
        listed = await self._listed(thread_id)
        return self._described(listed[0]) if listed else None

    async def own_threads(self) -> list[int]:
        return []

    async def look(self, thread_id: int) -> Frames:
        raise RelayError(
            "INVALID_SESSION_STATE",
            f"Thread {thread_id} is running: this debugger shows the stacks of threads that are halted",
            thread_id=thread_id,
            suggestion="Pause the program with POST /sessions/{id}/pause",
        )

    def ask_stack(self, thread_id: int) -> Asked:
        asked = asyncio.get_running_loop().create_task(self._listed(thread_id))
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        return asked

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        listed = await (asked or self._listed(thread_id))
        at = self._halt
        if at is not None and at.thread_id == thread_id:
            listed = self._from(at, listed)
        return [
            {"id": self._frames.add(Frame(thread_id, index)), **self._described(each)}
            for index, each in enumerate(listed or [])
        ]

    def _from(self, at: Halt, listed: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
        """A stack that does not begin where the program is has where functions were called from."""
        if listed is None:
            return [_as_frame(at)]
        if not listed or (self._real(listed[0]["file"]), listed[0]["line"]) != (self._real(at.path), at.line):
            self._shows_call_sites = True
        return [_as_frame(at), *(_nameless(each) for each in listed)] if self._shows_call_sites else listed

    async def _listed(self, thread_id: int) -> list[dict[str, Any]] | None:
        """Asked for once at each stop. One that cannot be had is no reason not to say where the program is."""
        at = self._halt
        if at is not None and (at, thread_id) in self._stacks:
            return self._stacks[at, thread_id]
        listed = None
        try:
            answer = await self._ask("getStackTrace", min(STACK, self._timeout), **self._whose(thread_id))
            listed = list(answer["frames"])
        except Refused:
            pass
        except RelayError as error:
            if error.code != "DEBUGPY_TIMEOUT":
                raise
        if at is not None and at is self._halt and not self._is_running:
            self._stacks[at, thread_id] = listed
        return listed

    def _described(self, frame: dict[str, Any]) -> dict[str, Any]:
        path = self._absolute(frame["file"])
        return {
            "name": frame["function"] or source.function_at(path, frame["line"]) or ANONYMOUS,
            "line": frame["line"] if path else 0,
            "column": frame["column"] or 1,
            "source": {"path": path} if path else None,
        }

    def _real(self, path: str) -> str:
        return os.path.realpath(self._absolute(path))

    def _absolute(self, path: str) -> str:
        """Debuggers write paths as they were given them."""
        return os.path.normpath(os.path.join(self._spec.cwd if self._spec else "/", path)) if path else ""

    # Values.

    async def _variables(self, frame: int) -> list[dict[str, Any]]:
        place = self._frame(frame)
        answer = await self._require("getVariables", frameIndex=place.index, **self._whose(place.thread))
        if self._announced is not None:
            return list(answer["variables"])
        # One of the field lists them in another order each time, and what is in maps and structs too.
        listed = [{**each, "value": texts.in_order(each["value"])} for each in answer["variables"]]
        return sorted(listed, key=lambda each: str(each["name"]))

    async def _rows(self, frame: int, scope: str) -> list[Row]:
        """Some debuggers list the program's functions among the variables."""
        listed = await self._variables(frame)
        wanted = [each for each in listed if (each["type"] == "FUNCTION") == (scope == "Functions")]
        return [self._row(frame, each["name"], Value(each["value"], each["type"]), each["name"]) for each in wanted]

    def _row(self, frame: int, name: str, value: Value, expression: str) -> Row:
        found = texts.parts(value.text)
        if not found:
            return row(name, value.text, value.type)
        reference = self._inside.add(Inside(frame, None, value.text, expression))
        named = sum(part.is_named for part in found)
        return row(name, value.text, value.type, reference, named, len(found) - named)

    async def scopes(self, frame: int) -> list[dict[str, Any]]:
        self._frame(frame)
        listed = await self._variables(frame)
        functions = sum(each["type"] == "FUNCTION" for each in listed)
        found = [self._scope(frame, "Locals", len(listed) - functions)]
        return [*found, self._scope(frame, "Functions", functions)] if functions else found

    def _scope(self, frame: int, name: str, count: int) -> dict[str, Any]:
        return {
            "name": name,
            "presentation_hint": name.lower(),
            "variables_reference": self._inside.add(Inside(frame, name)),
            "named_variables": count,
            "indexed_variables": 0,
            "expensive": False,
        }

    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]:
        inside = self._inside.get(reference)
        if inside is None:
            return {"missing": True}
        rows = await self._rows(inside.frame, inside.scope) if inside.scope else self._parts_of(inside)
        is_indexed = bool(rows) and all(made["name"].startswith("[") for made in rows)
        start, count = page.get("start") or 0, min(page.get("count") or PAGE, MAX_PAGE)
        rows, total = selected(rows, page, is_indexed, start, count)
        return {"variables_reference": reference, **paged(rows, total, start, page)}

    def _parts_of(self, inside: Inside) -> list[Row]:
        found = texts.parts(inside.text) or []
        return [self._row(inside.frame, part.name, part.value, inside.expression + part.access) for part in found]

    async def locals(self, frame: int, page: dict[str, Any]) -> dict[str, Any]:
        start, count = page.get("start") or 0, min(page.get("count") or PAGE, MAX_PAGE)
        rows, total = selected(await self._rows(frame, "Locals"), page, False, start, count)
        return paged(rows, total, start, page)

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> dict[str, Any]:
        rows = await self._rows(frame, "Locals")
        shown = within(rows[:names], budget)
        answer: dict[str, Any] = {"variables": shown, "omitted": len(rows) - len(shown)}
        answer |= {"left": None, "returned": [], "return_value": []}
        if more.get("watched"):
            answer["watches"] = await self.watch(frame, more["watched"], budget // 2)
        return answer

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[dict[str, Any]]:
        raise NotImplementedError

    # Exceptions.

    async def exception(self, frame: int) -> dict[str, Any] | None:
        at = self._halt
        if at is None or at.reason != "exception":
            return None
        kind, _, message = (at.text or "exception").partition(": ")
        return {
            "type": kind.rpartition(".")[2],
            "full_type": kind,
            "message": message,
            "traceback": None,
            "break_mode": "unhandled",
            "rules": [],
        }

    async def explain_exception(self, frame: int) -> dict[str, Any] | None:
        return await self.exception(frame)

    # Code.

    async def modules(self, offset: int, limit: int, filter: str | None) -> dict[str, Any]:
        """The debugger tells of no others."""
        path = self._spec.target if self._spec else ""
        found = [{"name": os.path.basename(path), "path": path, "version": None}]
        shown = [each for each in found if (filter or "").lower() in path.lower()]
        return {"modules": shown[offset : offset + limit], "total": len(shown), "has_more": False}

    async def has_module(self, path: str) -> bool:
        return self._spec is not None and os.path.realpath(self._spec.target) == os.path.realpath(path)

    async def examine(self, path: str) -> dict[str, Any]:
        return source.examine(path)

    async def find_function(self, path: str, name: str) -> list[int]:
        return source.find_function(path, name)


def _as_frame(at: Halt) -> dict[str, Any]:
    return {"file": at.path, "line": at.line, "column": at.column, "function": ""}


def _nameless(frame: dict[str, Any]) -> dict[str, Any]:
    """The name belongs to what was called there."""
    return {**frame, "function": ""}
