"""Giving variables of a paused program new values."""

from __future__ import annotations

from typing import Any

from ..errors import RelayError
from .debuggee import Debuggee
from .inspection import chosen_frame, in_frame, reference_gone

LIMIT = 20_000
TOLD = 1000
"""Characters of a value in an event"""
CHANGED = "The program stored something else than was given: this is what it has now"


async def set_variable(
    debuggee: Debuggee,
    variables_reference: int,
    name: str,
    value: str,
    timeout: float,
    frame_id: int | None = None,
    thread_id: int | None = None,
) -> dict[str, Any]:
    frame_id = chosen_frame(debuggee, frame_id, thread_id)
    async with in_frame(debuggee, "set_variable", frame_id, thread_id) as (adapter, frame):
        answer = await adapter.set_variable(frame, variables_reference, name, value, LIMIT, timeout)
    if answer.get("missing") == "reference":
        raise reference_gone(variables_reference)
    outcome = _outcome(answer, name, name, value, timeout)
    _tell(debuggee, name, outcome, thread_id, frame_id)
    return {"variables_reference_of": variables_reference, **outcome}


async def set_expression(
    debuggee: Debuggee,
    expression: str,
    value: str,
    timeout: float,
    frame_id: int | None = None,
    thread_id: int | None = None,
) -> dict[str, Any]:
    frame_id = chosen_frame(debuggee, frame_id, thread_id)
    async with in_frame(debuggee, "set_expression", frame_id, thread_id) as (adapter, frame):
        answer = await adapter.set_expression(frame, expression, value, LIMIT, timeout)
    outcome = _outcome(answer, expression, expression, value, timeout)
    _tell(debuggee, expression, outcome, thread_id, frame_id)
    return {"expression": expression, **outcome}


def _tell(debuggee: Debuggee, name: str, outcome: dict[str, Any], thread_id: int | None, frame_id: int) -> None:
    """So that whoever else looks at the program knows that its values are no longer those of the stop."""
    if thread_id is None and debuggee.stop is not None:
        thread_id = debuggee.stop.thread_id
    texts: dict[str, Any] = {key: outcome[key] and outcome[key][:TOLD] for key in ("value", "old") if key in outcome}
    place = {"thread_id": thread_id, "frame_id": frame_id}
    debuggee.log.add("variable", {"reason": "set", "name": name[:TOLD], **texts, "type": outcome.get("type"), **place})


def _outcome(answer: dict[str, Any], name: str, target: str, value: str, timeout: float) -> dict[str, Any]:
    """What the variable has now, or why it has not changed."""
    if answer.get("syntax_error"):
        problem = answer["syntax_error"]
        raise RelayError(
            "EVALUATE_ERROR",
            f"SyntaxError: {problem['message']}",
            field=answer["part"],
            expression=(value if answer["part"] == "value" else target)[:1000],
            error_message=problem["message"],
            offset=problem["offset"],
            text=problem["text"],
        )
    if answer.get("missing"):
        error = RelayError(
            "VARIABLE_NOT_FOUND",
            f"There is no variable '{name[:100]}' here",
            name=name[:100],
            suggestion="GET /sessions/{id}/variables/{reference} lists the names; "
            "POST /sessions/{id}/set-expression takes any expression that can be assigned to",
        )
        if answer.get("is_global"):
            error.details["suggestion"] = "It is a global: use the reference of the Globals scope"
        raise error
    if answer.get("timed_out"):
        raise RelayError(
            "DEBUGPY_TIMEOUT",
            f"Setting it took longer than {timeout:g} s and was interrupted",
            operation="set_variable",
            timeout=timeout,
            suggestion="Read the variable to see what it has now, then retry with a larger timeout",
        )
    if "not_set" in answer:
        raise RelayError("VARIABLE_NOT_SET", f"'{name[:100]}' was not set: {answer['not_set']}", name=name[:100])
    if answer.get("error"):
        raise RelayError(
            "EVALUATE_ERROR",
            answer["error"],
            field=answer["part"],
            traceback=answer["traceback"],
            suggestion="Nothing was set. Correct the expression and send it again",
        )
    if not answer.pop("taken"):
        answer["note"] = CHANGED
    return answer
