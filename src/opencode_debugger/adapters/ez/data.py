"""What only few debuggers of this protocol offer: values that are watched, and going back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base import Bound, DataBreakpoint, Frames, Go
from ..offered import INSTEAD
from ..rules import Count
from .ending import Ending
from .evaluating import RESTART
from .stopping import problem_of
from .talking import Halt, Refused
from .texts import is_true


@dataclass
class Watched:
    id: int
    wanted: DataBreakpoint
    count: Count


class Data(Ending):
    def _reset(self) -> None:
        super()._reset()
        self._watched: dict[int, Watched] = {}
        """by the session's number"""

    async def set_data_breakpoints(self, frame: int | None, wanted: list[DataBreakpoint]) -> list[Bound]:
        if not self._has("dataBreakpoints"):
            raise self._cannot("watch values", INSTEAD["data_breakpoints"])
        numbers = {each.number for each in wanted}
        for number in [number for number in self._watched if number not in numbers]:
            await self._require("clearDataBreakpoint", id=self._watched.pop(number).id)
        return [Bound(True) if each.number in self._watched else await self._watch_one(frame, each) for each in wanted]

    async def _watch_one(self, frame: int | None, wanted: DataBreakpoint) -> Bound:
        index = self._frame(frame).index if frame is not None else 0
        try:
            answer = await self._ask(
                "setDataBreakpoint", expression=wanted.expression, access=wanted.access, frameIndex=index
            )
        except Refused as error:
            return Bound(False, None, str(error))
        self._watched[wanted.number] = Watched(answer["id"], wanted, Count(wanted.hit_condition))
        return Bound(True)

    def _on_data_cleared(self, data: dict[str, Any]) -> None:
        """What it watched has gone."""
        for number, watched in list(self._watched.items()):
            if watched.id == data["id"]:
                del self._watched[number]
                self._listener.on_data_gone(number, "What it watched is gone")

    async def _decide_data(self, halt: Halt, frames: Frames) -> None:
        number = next((each for each, watched in self._watched.items() if watched.id == halt.data_id), None)
        if number is None:
            self._tell("data_breakpoint", halt, [], len(frames), note=halt.text)
        elif await self._wants_change(self._watched[number], frames):
            hit = {"number": number, "said": halt.text}
            self._tell("data_breakpoint", halt, [], len(frames), data_hit=hit)
        else:
            await self._pass_by(halt, frames)

    async def _wants_change(self, watched: Watched, frames: Frames) -> bool:
        if watched.wanted.condition:
            answer = await self._short(frames, watched.wanted.condition)
            if problem_of(answer) is None and not is_true(answer["result"]):
                return False
        return watched.count.count()

    async def record(self, enabled: bool) -> dict[str, Any]:
        if not self._has("reverse"):
            raise self._cannot("record and go back", RESTART)
        answer = await self._require("record", enabled=enabled)
        return {"recording": answer["enabled"]}

    async def reverse(self, kind: str, thread_id: int, go: Go | None = None) -> None:
        self._step = None
        self._go(kind, thread_id, go)
