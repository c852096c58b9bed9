"""Routes that start a program, attach to one, and part from it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.program import AttachRequest, LaunchRequest, RestartRequest, TerminateRequest
from ..models.queries import WaitQuery
from ..models.sessions import Detached, Terminated
from ..models.stops import Attached, Launched, Restarted
from .answers import ATTACH, BODY, SESSION, STATE, answers, ask
from .parameters import SessionId, tagged

router = tagged("Program Control")

LAUNCH = ("LAUNCH_SCRIPT_NOT_FOUND", "LAUNCH_SYNTAX_ERROR", "LAUNCH_FAILED")


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
    """Debug a program that runs already: by the port on which its debugpy listens, or by its process id.

    By process id, debugpy need not be installed there: it is brought in, with gdb, and the program runs on."""
    return await ask(request, session_id, "attach", body.params())


@router.post(
    "/sessions/{session_id}/restart",
    operation_id="restartProgram",
    summary="Restart program",
    responses=answers(Restarted, *BODY, *SESSION, *STATE, *LAUNCH, description="Program launched again"),
)
async def restart(
    request: Request,
    session_id: SessionId,
    query: Annotated[WaitQuery, Query()],
    body: RestartRequest | None = None,
) -> Response:
    """Launch the program again as it was launched, ended or not. Ids and breakpoints stay, hit counts start at 0.

    What the restart could be refused for is checked first: then the program that runs is not touched."""
    return await ask(request, session_id, "restart", query.params() | (body.params() if body else {}))


@router.post(
    "/sessions/{session_id}/detach",
    operation_id="detachProgram",
    summary="Detach from program",
    responses=answers(Detached, *SESSION, *STATE, description="Detached"),
)
async def detach(request: Request, session_id: SessionId) -> Response:
    """Let the program run on, without breakpoints, whether it was launched or attached to.

    The session stays readable; deleting it no longer ends the program."""
    return await ask(request, session_id, "detach")


@router.post(
    "/sessions/{session_id}/terminate",
    operation_id="terminateProgram",
    summary="Terminate program",
    responses=answers(Terminated, *BODY, *SESSION, *STATE, description="Program ended"),
)
async def terminate(request: Request, session_id: SessionId, body: TerminateRequest | None = None) -> Response:
    """End the program, also one that was attached to, and keep the session: its output, events and breakpoints."""
    return await ask(request, session_id, "terminate", body.params() if body else {})
