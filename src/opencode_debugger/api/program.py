"""Routes that start a program or attach to one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.queries import WaitQuery
from ..models.requests import AttachRequest, LaunchRequest
from ..models.stops import Attached, Launched
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import SessionId, tagged

router = tagged("Program Control")

LAUNCH = ("LAUNCH_SCRIPT_NOT_FOUND", "LAUNCH_SYNTAX_ERROR", "LAUNCH_FAILED")
ATTACH = ("ATTACH_FAILED", "ATTACH_REFUSED", "ATTACH_TIMEOUT")


@router.post(
    "/sessions/{session_id}/launch",
    operation_id="launchProgram",
    summary="Launch program",
    responses=answers(Launched, *BODY, *SESSION, *STATE, *LAUNCH, description="Program launched"),
)
async def launch(
    request: Request,
    session_id: SessionId,
    query: Annotated[WaitQuery, Query()],
    body: LaunchRequest | None = None,
) -> Response:
    """Start a script, a module or a piece of code. With `wait` the answer is its first stop.

    Without a program it starts the one that a cloned or imported session came with; other fields replace its own.

    Without `wait` it waits up to half a second for that stop if a breakpoint or `stop_on_entry` could cause one."""
    return await ask(request, session_id, "launch", query.params() | (body.params() if body else {}))


@router.post(
    "/sessions/{session_id}/attach",
    operation_id="attachProcess",
    summary="Attach to process",
    responses=answers(Attached, *BODY, *SESSION, *STATE, *ATTACH, description="Attached"),
)
async def attach(request: Request, session_id: SessionId, body: AttachRequest) -> Response:
    """Debug a program that runs already and in which debugpy listens on a port.

    Attaching by process id is not available in this version."""
    return await ask(request, session_id, "attach", body.params())
