"""Giving variables of a paused program new values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ...answers.inspection import Assigned
from ...answers.shape import UNSET
from ...errors import RelayError
from ...operations.advice import advice
from ...operations.event_kinds import EventKind
from ..lifecycle.debuggee import Debuggee
from .paused_program import choose_frame, in_frame, reference_gone, syntax_error

if TYPE_CHECKING:
    from ...debuggers.rows import AssignmentRow

LIMIT = 20_000
EVENT_TEXT_LIMIT = 1000
"""Characters of a value in an event"""
OTHER_NAMES = (
    "{variables variables_reference=?reference} lists the names; {set_expression} takes any expression that can be "
    "assigned to"
)
GLOBALS = "It is a global: use the reference of the Globals scope"
CHANGED = "The program stored something else than was given: this is what it has now"


@dataclass(eq=False)
class Assignment:
    """Sets variables and expressions, and tells what they have now."""

    _debuggee: Debuggee
    _default_timeout: float

    async def set_variable(self, variables_reference: int, name: str, value: str, **where: Any) -> Assigned:
        return await self._assign(variables_reference, name, value, **where)

    async def set_expression(self, expression: str, value: str, **where: Any) -> Assigned:
        return await self._assign(None, expression, value, **where)

    async def _assign(
        self, reference: int | None, name: str, value: str, frame_id: int | None = None, thread_id: int | None = None,
        timeout: float | None = None,
    ) -> Assigned:
        """Set a variable under a reference; without one, what an expression names."""
        timeout = timeout or self._default_timeout
        operation = "set_expression" if reference is None else "set_variable"
        frame_id = choose_frame(self._debuggee, frame_id, thread_id)
        async with in_frame(self._debuggee, operation, frame_id, thread_id) as (adapter, frame):
            if reference is None:
                answer = await adapter.inspection.set_expression(frame, name, value, LIMIT, timeout)
            else:
                answer = await adapter.inspection.set_variable(frame, reference, name, value, LIMIT, timeout)
        if reference is not None and answer.get("missing") == "reference":
            raise reference_gone(reference)
        _check_outcome(answer, name, value, timeout)
        asked = {"expression": name} if reference is None else {"variables_reference_of": reference}
        assigned = msgspec.convert({**answer, **asked}, Assigned)
        self._log_assignment(name, assigned, thread_id, frame_id)
        return assigned

    def _log_assignment(self, name: str, assigned: Assigned, thread_id: int | None, frame_id: int) -> None:
        """Tell everybody who looks at the program that its values are no longer those of the stop."""
        if thread_id is None and self._debuggee.stop is not None:
            thread_id = self._debuggee.stop.thread_id
        texts = {"value": assigned.value, "old": assigned.old}
        told = {key: text and text[:EVENT_TEXT_LIMIT] for key, text in texts.items() if text is not UNSET}
        place = {"thread_id": thread_id, "frame_id": frame_id}
        body = {"reason": "set", "name": name[:EVENT_TEXT_LIMIT], **told, "type": assigned.type, **place}
        self._debuggee.log.add(EventKind.VARIABLE, body)


def _check_outcome(answer: AssignmentRow, name: str, value: str, timeout: float) -> None:
    """Raise if the variable has not changed; note it if it has something else now than was given."""
    if problem := answer.get("syntax_error"):
        part = answer["part"]
        raise syntax_error(problem, value if part == "value" else name, field=part)
    if answer.get("missing"):
        hint = GLOBALS if answer.get("is_global") else advice(OTHER_NAMES)
        message = f"There is no variable '{name[:100]}' here"
        raise RelayError("VARIABLE_NOT_FOUND", message, name=name[:100], suggestion=hint)
    if answer.get("timed_out"):
        message = f"Setting it took longer than {timeout:g} s and was interrupted"
        hint = "Read the variable to see what it has now, then retry with a larger timeout"
        raise RelayError("DEBUGPY_TIMEOUT", message, operation="set_variable", timeout=timeout, suggestion=hint)
    if "not_set" in answer:
        raise RelayError("VARIABLE_NOT_SET", f"'{name[:100]}' was not set: {answer['not_set']}", name=name[:100])
    if error := answer.get("error"):
        hint = "Nothing was set. Correct the expression and send it again"
        raise RelayError("EVALUATE_ERROR", error, field=answer["part"], traceback=answer["traceback"], suggestion=hint)
    if not answer["taken"]:
        answer["note"] = CHANGED
