"""Completions and hovers: the questions of editors while one types or points."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ...answers.source_code import CompletionList, Hover
from ...errors import RelayError
from ...operations.advice import advice
from ..lifecycle.debuggee import Debuggee
from .paused_program import in_frame, refuse_expression
from .source_and_modules import SourceAndModules

LIMIT = 2_000
ONLY_NAMES = (
    "Point at names, attributes and items, or evaluate it: {evaluate}, which needs the scope sessions:write"
)


@dataclass(eq=False)
class EditorHints:
    _debuggee: Debuggee
    _code: SourceAndModules
    _default_timeout: float

    async def completions(
        self, text: str, column: int | None = None, frame_id: int | None = None, thread_id: int | None = None
    ) -> CompletionList:
        async with in_frame(self._debuggee, "completions", frame_id, thread_id) as (adapter, frame):
            return msgspec.convert(await adapter.inspection.complete(frame, text, column), CompletionList)

    async def hover(
        self, expression: str | None = None, file: str | None = None, line: int | None = None,
        column: int | None = None, frame_id: int | None = None, thread_id: int | None = None,
        timeout: float | None = None,
    ) -> Hover:
        """Look up an expression, or what is written at a place, without running anything."""
        self._debuggee.require_state("hover")
        if file is not None:
            file = await self._code.own_path("file", file)
        timeout = timeout or self._default_timeout
        what = {"expression": expression} if expression is not None else {"path": file, "line": line, "column": column}
        async with in_frame(self._debuggee, "hover", frame_id, thread_id) as (adapter, frame):
            answer = await adapter.inspection.hover(frame, LIMIT, timeout, **what)
            if "nothing" in answer:
                hint = "Point at a name in a function that is on the stack, or send the text as expression"
                raise RelayError("EVALUATE_ERROR", answer["nothing"], suggestion=hint)
            if "beyond" in answer:
                message = f"A hover runs nothing, and this would: {answer['beyond']}"
                written = answer["expression"][:1000]
                raise RelayError("EVALUATE_ERROR", message, expression=written, suggestion=advice(ONLY_NAMES))
            refuse_expression(answer, answer["expression"], timeout, "hover")
        shown = {**answer, "value": answer["result"], "has_side_effects": False}
        return msgspec.convert({**shown, "range": answer["place"]} if answer["place"] else shown, Hover)
