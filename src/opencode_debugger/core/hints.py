"""What editors ask while one types or points: completions and hovers."""

from __future__ import annotations

from typing import Any

from ..errors import RelayError
from .debuggee import Debuggee
from .inspection import in_frame, refuse_expression

LIMIT = 2_000


async def completions(
    debuggee: Debuggee, text: str, column: int | None = None, frame_id: int | None = None, thread_id: int | None = None
) -> dict[str, Any]:
    async with in_frame(debuggee, "completions", frame_id, thread_id) as (adapter, frame):
        return await adapter.complete(frame, text, column)


async def hover(
    debuggee: Debuggee,
    timeout: float,
    expression: str | None = None,
    file: str | None = None,
    line: int | None = None,
    column: int | None = None,
    frame_id: int | None = None,
    thread_id: int | None = None,
) -> dict[str, Any]:
    """Of an expression, or of what is written at a place: looked up without running anything."""
    what = {"expression": expression} if expression is not None else {"path": file, "line": line, "column": column}
    async with in_frame(debuggee, "hover", frame_id, thread_id) as (adapter, frame):
        answer = await adapter.hover(frame, LIMIT, timeout, **what)
        if "nothing" in answer:
            raise RelayError(
                "EVALUATE_ERROR",
                answer["nothing"],
                suggestion="Point at a name in a function that is on the stack, or send the text as expression",
            )
        if "beyond" in answer:
            raise RelayError(
                "EVALUATE_ERROR",
                f"A hover runs nothing, and this would: {answer['beyond']}",
                expression=answer["expression"][:1000],
                suggestion="Point at names, attributes and items, or evaluate it: POST /sessions/{id}/evaluate, which "
                "needs the scope sessions:write",
            )
        refuse_expression(answer, answer["expression"], timeout, "hover")
        place = answer.pop("place")
        return {
            "expression": answer.pop("expression"),
            "value": answer.pop("result"),
            **{name: value for name, value in answer.items() if name != "traceback"},
            "has_side_effects": False,
            **({"range": place} if place else {}),
        }
