"""Routes that make the program run and stop."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.execution import (
    ContinueThreadRequest,
    PauseRequest,
    ResumeRequest,
    RunToRequest,
    SendInputRequest,
    StepIntoRequest,
    StepRequest,
    StepUntilRequest,
)
from ..models.queries import ReportQuery, ScopesQuery, WaitQuery
from ..models.requests import WaitOptions
from ..models.stops import Continued, InputSent, RanTo, Stepped, SteppedUntil, StepTargets, StopReport
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import SessionId, ThreadId, tagged

router = tagged("Execution")

Waiting = Annotated[WaitQuery, Query()]
CODES = (*BODY, *SESSION, *STATE, "THREAD_NOT_FOUND")
STEPPED = answers(Stepped, *CODES, description="Step completed, or still running when the wait ended")


async def resume(
    request: Request, session_id: str, operation: str, query: WaitQuery, body: WaitOptions | None
) -> Response:
    return await ask(request, session_id, operation, query.params() | (body.params() if body else {}))


@router.post(
    "/sessions/{session_id}/continue",
    operation_id="continueExecution",
    summary="Continue execution",
    responses=answers(Continued, *CODES, description="Execution resumed"),
)
async def continue_execution(
    request: Request, session_id: SessionId, query: Waiting, body: ResumeRequest | None = None
) -> Response:
    """Run to the next stop or the end. With `wait` the answer is that stop. With a `thread_id` only that thread runs:
    the others stay halted."""
    return await resume(request, session_id, "continue", query, body)


@router.post(
    "/sessions/{session_id}/threads/{thread_id}/continue",
    operation_id="continueThread",
    summary="Continue one thread",
    responses=answers(Continued, *CODES, description="Execution resumed"),
)
async def continue_thread(
    request: Request,
    session_id: SessionId,
    thread_id: ThreadId,
    query: Waiting,
    body: ContinueThreadRequest | None = None,
) -> Response:
    """Only this thread runs on; the others stay halted and can be looked at. The session stays paused while one is."""
    options = query.params() | (body.params() if body else {})
    return await ask(request, session_id, "continue", options | {"thread_id": thread_id})


@router.post(
    "/sessions/{session_id}/pause",
    operation_id="pauseExecution",
    summary="Pause execution",
    responses=answers(StopReport, *CODES, description="Execution paused"),
)
async def pause(request: Request, session_id: SessionId, query: Waiting, body: PauseRequest | None = None) -> Response:
    """Stop the running program at the next line that it reaches: all threads together, or with `stop_scope` thread the
    one in `thread_id`. Waits two seconds unless told otherwise; if a thread is busy in a call, `message` says where."""
    return await resume(request, session_id, "pause", query, body)


@router.post("/sessions/{session_id}/step-over", operation_id="stepOver", summary="Step over", responses=STEPPED)
async def step_over(
    request: Request, session_id: SessionId, query: Waiting, body: StepRequest | None = None
) -> Response:
    """Run the current line, calls included, and stop at the next. Other threads run meanwhile, unless `single_thread`
    is true. Waits unless told otherwise."""
    return await resume(request, session_id, "step_over", query, body)


@router.post("/sessions/{session_id}/step-into", operation_id="stepInto", summary="Step into", responses=STEPPED)
async def step_into(
    request: Request, session_id: SessionId, query: Waiting, body: StepIntoRequest | None = None
) -> Response:
    """Stop at the first line of the function that the current line calls, or of the one in `target`. Waits unless told
    otherwise."""
    return await resume(request, session_id, "step_into", query, body)


@router.post("/sessions/{session_id}/step-out", operation_id="stepOut", summary="Step out", responses=STEPPED)
async def step_out(
    request: Request, session_id: SessionId, query: Waiting, body: StepRequest | None = None
) -> Response:
    """Run until the current function returns and stop there. Waits unless told otherwise."""
    return await resume(request, session_id, "step_out", query, body)


SENT = answers(InputSent, *CODES[:-1], "STDIN_CLOSED", "STDIN_FULL", description="Input sent")


@router.post("/sessions/{session_id}/stdin", operation_id="sendStdin", summary="Send input", responses=SENT)
@router.post("/sessions/{session_id}/input", operation_id="sendInput", summary="Send input", responses=SENT)
async def send_input(request: Request, session_id: SessionId, query: Waiting, body: SendInputRequest) -> Response:
    """Write to the program's stdin, while it runs or is paused: it need not wait for it yet.

    With `wait` the answer is what comes of it: the next stop, the next request for input, or the end."""
    return await resume(request, session_id, "stdin", query, body)


@router.get(
    "/sessions/{session_id}/step-targets",
    operation_id="getStepTargets",
    summary="Get step targets",
    responses=answers(StepTargets, *SESSION, *STATE, "THREAD_NOT_FOUND", "FRAME_NOT_FOUND"),
)
async def step_targets(request: Request, session_id: SessionId, query: Annotated[ScopesQuery, Query()]) -> Response:
    """The calls on the line at which a frame is: step-into takes one as `target` or `target_id`."""
    return await ask(request, session_id, "step_targets", query.params())


@router.post(
    "/sessions/{session_id}/step-until",
    operation_id="stepUntil",
    summary="Step until",
    responses=answers(SteppedUntil, *CODES, "EVALUATE_ERROR", description="Stepped, and where it is now"),
)
async def step_until(
    request: Request, session_id: SessionId, query: Annotated[ReportQuery, Query()], body: StepUntilRequest
) -> Response:
    """Step until an expression is true, in one call; breakpoints, exceptions and the end come first."""
    return await ask(request, session_id, "step_until", query.params() | body.params())


@router.post(
    "/sessions/{session_id}/run-to",
    operation_id="runTo",
    summary="Run to a line",
    responses=answers(
        RanTo, *CODES, "BREAKPOINT_INVALID_LINE", "BREAKPOINT_FILE_NOT_FOUND", description="Ran, and where it is now"
    ),
)
async def run_to(request: Request, session_id: SessionId, query: Waiting, body: RunToRequest) -> Response:
    """Continue to a line, once: no breakpoint is left there. Other breakpoints, exceptions and the end come first.
    Waits unless told otherwise."""
    return await resume(request, session_id, "run_to", query, body)
