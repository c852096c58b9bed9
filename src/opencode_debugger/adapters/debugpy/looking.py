"""What a session asks about a program in which debugpy runs: each question is one call of the code inside it."""

from __future__ import annotations

import asyncio
from typing import Any

from ..base import Frames
from . import effects

VALUES = 1.0
"""Seconds that showing values may take before a slow __repr__ is interrupted."""
BETWEEN_LOOKS = 0.05


class Looking:
    """The part of the adapter that looks into the program, and changes values in it."""

    async def _aside(self, method: str, **arguments: Any) -> Any:
        raise NotImplementedError

    async def _in_frame(self, frame: int, method: str, timeout: float | None = None, **arguments: Any) -> Any:
        raise NotImplementedError

    async def own_threads(self) -> list[int]:
        """Of the debugger inside the program, as the system numbers them."""
        return list((await self._aside("own_threads"))["threads"])

    async def step_targets(self, frame: int) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "step_targets"))

    async def threads(self) -> list[dict[str, Any]]:
        return list((await self._aside("threads"))["threads"])

    async def look(self, thread_id: int) -> Frames:
        return list((await self._aside("stack", thread=thread_id))["frames"])

    async def tasks(self, start: int, count: int) -> dict[str, Any]:
        return dict(await self._aside("tasks", start=start, count=count))

    async def locks(self) -> dict[str, Any]:
        """Two looks tell who is blocked."""
        await self._aside("look_at_threads")
        await asyncio.sleep(BETWEEN_LOOKS)
        return dict(await self._aside("locks"))

    async def scopes(self, frame: int) -> list[dict[str, Any]]:
        return list((await self._in_frame(frame, "scopes"))["scopes"])

    async def children(self, frame: int, reference: int, page: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "children", VALUES, seconds=VALUES, reference=reference, **page))

    async def locals(self, frame: int, page: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "locals", VALUES, seconds=VALUES, **page))

    async def report(self, frame: int, budget: int, names: int, **more: Any) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "report", VALUES, budget=budget, names=names, seconds=VALUES, **more))

    async def evaluate(self, frame: int, expression: str, context: str, limit: int, timeout: float) -> dict[str, Any]:
        return dict(
            await self._in_frame(frame, "evaluate", timeout, expression=expression, context=context, limit=limit)
        )

    async def exception(self, frame: int) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = (await self._in_frame(frame, "exception", VALUES))["exception"]
        return answer

    async def loaded(self, paths: list[str]) -> dict[str, Any]:
        return dict((await self._aside("loaded", paths=paths))["loaded"])

    async def watch(self, frame: int, expressions: list[str], limit: int) -> list[dict[str, Any]]:
        answer = await self._in_frame(frame, "watch", VALUES, watched=expressions, limit=limit, seconds=VALUES)
        return list(answer["watches"])

    async def explain_exception(self, frame: int) -> dict[str, Any] | None:
        answer: dict[str, Any] | None = (await self._in_frame(frame, "exception", VALUES, seconds=VALUES))["exception"]
        return answer

    async def set_variable(
        self, frame: int, reference: int, name: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        wish = {"reference": reference, "name": name, "value": value, "limit": limit}
        return dict(await self._in_frame(frame, "set_variable", timeout, **wish))

    async def set_expression(
        self, frame: int, expression: str, value: str, limit: int, timeout: float
    ) -> dict[str, Any]:
        wish = {"expression": expression, "value": value, "limit": limit}
        return dict(await self._in_frame(frame, "set_expression", timeout, **wish))

    async def complete(self, frame: int, text: str, column: int | None) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "complete", text=text, column=column))

    async def hover(self, frame: int, limit: int, timeout: float, **what: Any) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "hover", timeout, limit=limit, **what))

    async def frame_source(self, frame: int) -> dict[str, Any]:
        return dict(await self._in_frame(frame, "source"))

    async def file_source(self, path: str) -> dict[str, Any]:
        return dict(await self._aside("source", path=path))

    async def modules(self, offset: int, limit: int, filter: str | None) -> dict[str, Any]:
        return dict(await self._aside("modules", offset=offset, limit=limit, filter=filter))

    async def has_module(self, path: str) -> bool:
        return bool((await self._aside("has_module", path=path))["loaded"])

    def has_side_effects(self, text: str) -> bool:
        return effects.may_have(text)
