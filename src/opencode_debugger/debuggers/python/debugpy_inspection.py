"""Looks into a program in which debugpy is, and changes its values: each question is one call of the code inside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import RelayError
from ...operations.advice import advice
from ..shapes import Asked, Frames, StackPage
from . import python_expressions
from .debugpy_connection import DebugpyConnection
from .debugpy_protocol import real_frames

if TYPE_CHECKING:
    from .. import rows

VALUES = 1.0
"""Seconds that showing values may take before a slow __repr__ is interrupted."""
BETWEEN_LOOKS = 0.05


class DebugpyInspection:
    def __init__(self, connection: DebugpyConnection, spell: Callable[[str], str]) -> None:
        self._connection = connection
        self._call_aside = connection.call_aside
        self._call_in_frame = connection.call_in_frame
        self._spell = spell
        """says what the user calls a file"""

    # Threads and stacks.

    async def own_threads(self) -> list[int]:
        """Return the threads of the debugger inside the program, as the system numbers them."""
        return (await self._call_aside("own_threads"))["threads"]

    async def threads(self) -> list[rows.ThreadRow]:
        return (await self._call_aside("threads"))["threads"]

    async def look(self, thread_id: int) -> Frames:
        return (await self._call_aside("stack", thread=thread_id))["frames"]

    def ask_stack(self, thread_id: int) -> Asked:
        return self._connection.link.conversation.send("stackTrace", {"threadId": thread_id})

    async def stack(self, thread_id: int, asked: Asked | None = None) -> Frames:
        conversation = self._connection.link.conversation
        body = await conversation.answer("stackTrace", asked or self.ask_stack(thread_id))
        frames = real_frames(body["stackFrames"], self._spell)
        self._connection.link.inside.track_frames(thread_id, (frame["id"] for frame in frames))
        return frames

    async def stack_page(self, thread_id: int, frames: Frames, start: int, levels: int) -> StackPage:
        """Return some frames of a stack, of which nothing was left out."""
        return StackPage(frames[start : start + levels], len(frames), True)

    # Values.

    async def scopes(self, frame: int) -> list[rows.ScopeRow]:
        return (await self._call_in_frame(frame, "scopes"))["scopes"]

    async def children(self, frame: int, reference: int, page: rows.PageWish) -> rows.VariablePage:
        return await self._call_in_frame(frame, "children", VALUES, seconds=VALUES, reference=reference, **page)

    async def locals(self, frame: int, page: rows.PageWish) -> rows.VariablePage:
        return await self._call_in_frame(frame, "locals", VALUES, seconds=VALUES, **page)

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> rows.StopRow:
        wishes = {"budget": budget, "names": names, "seconds": VALUES, **more}
        return await self._call_in_frame(frame, "report", VALUES, **wishes)

    async def evaluate(
        self, frame: int, expression: str, context: str, limit: int, timeout: float
    ) -> rows.EvaluationRow:
        wishes = {"expression": expression, "context": context, "limit": limit}
        return await self._call_in_frame(frame, "evaluate", timeout, **wishes)

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[rows.WatchRow]:
        wishes = {"watched": expressions, "limit": limit, "seconds": VALUES}
        return (await self._call_in_frame(frame, "watch", VALUES, **wishes))["watches"]

    async def exception(self, frame: int) -> rows.ExceptionRow | None:
        return (await self._call_in_frame(frame, "exception", VALUES))["exception"]

    async def explain_exception(self, frame: int) -> rows.ExceptionRow | None:
        return (await self._call_in_frame(frame, "exception", VALUES, seconds=VALUES))["exception"]

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> rows.AssignmentRow:
        wishes = {"reference": reference, "name": name, "value": value, "limit": limit}
        return await self._call_in_frame(frame, "set_variable", timeout, **wishes)

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> rows.AssignmentRow:
        wishes = {"expression": expression, "value": value, "limit": limit}
        return await self._call_in_frame(frame, "set_expression", timeout, **wishes)

    # Help for whoever writes expressions.

    async def complete(self, frame: int, text: str, column: int | None) -> rows.CompletionPage:
        return await self._call_in_frame(frame, "complete", text=text, column=column)

    async def hover(self, frame: int, limit: int, timeout: float, **what: Any) -> rows.HoverRow:
        return await self._call_in_frame(frame, "hover", timeout, limit=limit, **what)

    check_expression = staticmethod(python_expressions.check_expression)
    has_side_effects = staticmethod(python_expressions.has_side_effects)


@dataclass(eq=False)
class DebugpySources:
    """Source and modules that the program has loaded: only it can tell."""

    _connection: DebugpyConnection

    async def loaded(self, paths: list[str]) -> dict[str, list[Any]]:
        return (await self._connection.call_aside("loaded", paths=paths))["loaded"]

    async def frame_source(self, frame: int) -> rows.SourceText:
        return await self._connection.call_in_frame(frame, "source")

    async def file_source(self, path: str) -> rows.SourceText:
        return await self._connection.call_aside("source", path=path)

    async def modules(self, offset: int, limit: int, filter: str | None) -> rows.ModulePage:
        return await self._connection.call_aside("modules", offset=offset, limit=limit, filter=filter)

    async def has_module(self, path: str) -> bool:
        return bool((await self._connection.call_aside("has_module", path=path))["loaded"])


@dataclass(eq=False)
class PythonTasksAndLocks:
    """Asyncio tasks of the program, and who waits for which lock."""

    _connection: DebugpyConnection
    _spell: Callable[[str], str]
    """says what the user calls a file"""

    async def tasks(self, start: int, count: int) -> rows.TaskPage:
        return await self._connection.call_aside("tasks", start=start, count=count)

    async def task_stack(self, task_id: int) -> tuple[int | None, Frames]:
        answer = await self._connection.call_aside("task_stack", number=task_id)
        frames: Frames = answer["frames"]
        if not frames:
            suggestion = advice("{tasks} lists them; those that are finished have no frames")
            raise RelayError("FRAME_NOT_FOUND", f"Task {task_id} has no frames", task_id=task_id, suggestion=suggestion)
        frames = real_frames(frames, self._spell)
        self._connection.link.inside.track_frames(answer["thread_id"] or 0, (frame["id"] for frame in frames))
        return answer["thread_id"], frames

    async def locks(self) -> rows.LockRow:
        """Explain who is blocked, which takes two looks to tell."""
        await self._connection.call_aside("look_at_threads")
        await asyncio.sleep(BETWEEN_LOOKS)
        return await self._connection.call_aside("locks")
