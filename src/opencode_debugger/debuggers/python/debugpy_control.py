"""Makes a program run and halt in which debugpy is."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import RelayError
from ..shapes import Asked, Go
from .breakpoint_ids import OneTimeStop
from .debugpy_breakpoints import DebugpyBreakpoints
from .debugpy_connection import DebugpyConnection
from .debugpy_protocol import FIELD

if TYPE_CHECKING:
    from ..rows import JourneyRow, JourneyStart, TargetPage


@dataclass(eq=False)
class DebugpyControl:
    _connection: DebugpyConnection
    _breakpoints: DebugpyBreakpoints
    _tokens: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def resume(self, thread_id: int, go: Go | None = None) -> None:
        # Its answer comes when the threads really run, which a new stop may prevent: nobody waits for it.
        await self._go_on("continue", thread_id, go)

    async def step(self, kind: str, thread_id: int, go: Go | None = None, granularity: str = "line") -> None:
        conversation = self._connection.link.conversation
        await conversation.answer(kind, await self._go_on(kind, thread_id, go))

    async def _go_on(self, command: str, thread_id: int, go: Go | None) -> Asked:
        link = self._connection.link
        arguments: dict[str, Any] = {"threadId": thread_id}
        if go is not None:
            arguments[FIELD] = {"thread": thread_id, **vars(go)}
        async with link.conversation.translated(command):
            sent = link.channel.send(command, arguments)
        link.inside.threads_resumed(thread_id if go and go.alone else None, go.keep if go else ())
        return sent

    async def pause(self, thread_id: int | None) -> None:
        if thread_id is None:
            await self._connection.request("pause", {"threadId": "*"})
        else:
            await self._connection.call_aside("pause", thread=thread_id)  # an adapter in between would pause all

    async def speak_for_blocked(self, thread_id: int | None) -> None:
        await self._connection.call_aside("speak_for_blocked", thread=thread_id)

    async def step_targets(self, frame: int) -> TargetPage:
        return await self._connection.call_in_frame(frame, "step_targets")

    async def set_out(
        self, frame: int, most: int = 1, until: str | None = None, target: str | int | None = None
    ) -> JourneyStart:
        token = next(self._tokens)
        wishes: dict[str, Any] = {"token": token, "most": most, "until": until, "target": target}
        answer: JourneyStart = await self._connection.call_in_frame(frame, "set_out", **wishes)
        answer["token"] = token
        return answer

    async def journey(self, token: int, end: bool = False) -> JourneyRow:
        try:
            return await self._connection.call_aside("journey", token=token, end=end)
        except RelayError:
            events = self._connection.last_events
            return events.journeys.get(token, {}) if events is not None else {}

    async def visit(self, path: str, line: int) -> None:
        once = OneTimeStop(os.path.realpath(path), line, next(self._tokens))
        self._breakpoints.ids.one_time_stop = once
        await self._connection.call_aside("visit", number=once.number)
        await self._breakpoints.send_again(once.real_path)

    async def leave(self, path: str, line: int) -> None:
        once = self._breakpoints.ids.one_time_stop
        if once is not None and once.is_in(path) and once.line == line:
            self._breakpoints.ids.one_time_stop = None
            await self._breakpoints.send_again(once.real_path)
