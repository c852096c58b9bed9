"""Routes that give variables of a paused program new values."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..models.assigning import Assigned, SetExpressionRequest, SetVariableRequest
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import Reference, SessionId, tagged

router = tagged("Inspection")

CODES = (*BODY, *SESSION, *STATE, "THREAD_NOT_FOUND", "FRAME_NOT_FOUND", "VARIABLE_NOT_FOUND", "VARIABLE_NOT_SET")
SET = answers(Assigned, *CODES, "EVALUATE_ERROR", description="Set, and read back")


@router.post(
    "/sessions/{session_id}/variables/{variables_reference}/set",
    operation_id="setVariable",
    summary="Set variable",
    responses=SET,
)
async def set_variable(
    request: Request, session_id: SessionId, variables_reference: Reference, body: SetVariableRequest
) -> Response:
    """Give a variable of a scope, an attribute, an item of a list or dict a new value. The answer is read back.

    `value` is an expression; it is evaluated in the frame, and in the scope's own frame if that is another."""
    return await ask(request, session_id, "set_variable", body.params() | {"variables_reference": variables_reference})


@router.post(
    "/sessions/{session_id}/set-expression", operation_id="setExpression", summary="Set expression", responses=SET
)
async def set_expression(request: Request, session_id: SessionId, body: SetExpressionRequest) -> Response:
    """Assign to anything that can be assigned to, such as `order.items[3].name`. The answer is read back."""
    return await ask(request, session_id, "set_expression", body.params())
