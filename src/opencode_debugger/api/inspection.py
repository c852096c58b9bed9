"""Routes that look into a paused program."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models import inspection as models
from ..models import queries
from .answers import BODY, SESSION, STATE, answers, ask
from .parameters import FrameId, Reference, SessionId, ThreadId, tagged

router = tagged("Inspection")

STACK = answers(models.StackTrace, *SESSION, *STATE, "THREAD_NOT_FOUND")
SCOPES = answers(models.ScopeList, *SESSION, *STATE, "THREAD_NOT_FOUND", "FRAME_NOT_FOUND")
VARIABLES = answers(models.VariableList, *SESSION, *STATE, "VARIABLE_NOT_FOUND")


@router.get(
    "/sessions/{session_id}/threads",
    operation_id="listThreads",
    summary="List threads",
    responses=answers(models.ThreadList, *SESSION, *STATE),
)
async def list_threads(request: Request, session_id: SessionId) -> Response:
    """Every thread of the program, with its state and, if it is paused, where it is."""
    return await ask(request, session_id, "threads")


@router.get(
    "/sessions/{session_id}/tasks",
    operation_id="listTasks",
    summary="List asyncio tasks",
    responses=answers(models.TaskList, *SESSION, *STATE),
)
async def list_tasks(
    request: Request, session_id: SessionId, query: Annotated[queries.TasksQuery, Query()]
) -> Response:
    """The asyncio tasks of every event loop: what each awaits and where it was made. Works while the program runs."""
    return await ask(request, session_id, "tasks", query.params())


@router.get(
    "/sessions/{session_id}/locks",
    operation_id="explainLocks",
    summary="Explain who waits for whom",
    responses=answers(models.Locks, *SESSION, *STATE),
)
async def explain_locks(request: Request, session_id: SessionId) -> Response:
    """Blocked threads and asyncio tasks, what each waits for and who has it, and deadlocks. Works while the program
    runs."""
    return await ask(request, session_id, "locks")


@router.get(
    "/sessions/{session_id}/stacktrace", operation_id="getStackTrace", summary="Get stack trace", responses=STACK
)
async def get_stack_trace(
    request: Request, session_id: SessionId, query: Annotated[queries.ThreadStackQuery, Query()]
) -> Response:
    """The call stack of the stopped thread, or of another."""
    return await ask(request, session_id, "stack_trace", query.params())


@router.get(
    "/sessions/{session_id}/threads/{thread_id}/stacktrace",
    operation_id="getThreadStackTrace",
    summary="Get a thread's stack trace",
    responses=STACK,
)
async def get_thread_stack_trace(
    request: Request, session_id: SessionId, thread_id: ThreadId, query: Annotated[queries.StackQuery, Query()]
) -> Response:
    """The call stack of one thread; also of one that runs, as it was at that moment (`running` is true then)."""
    return await ask(request, session_id, "stack_trace", query.params() | {"thread_id": thread_id})


@router.get("/sessions/{session_id}/scopes", operation_id="getScopes", summary="Get scopes", responses=SCOPES)
async def get_scopes(
    request: Request, session_id: SessionId, query: Annotated[queries.ScopesQuery, Query()]
) -> Response:
    """Variable scopes of a frame, each with the reference that lists its variables."""
    return await ask(request, session_id, "scopes", query.params())


@router.get(
    "/sessions/{session_id}/frames/{frame_id}/scopes",
    operation_id="getFrameScopes",
    summary="Get a frame's scopes",
    responses=SCOPES,
)
async def get_frame_scopes(
    request: Request, session_id: SessionId, frame_id: FrameId, query: Annotated[queries.FrameThreadQuery, Query()]
) -> Response:
    """The same as scopes?frame_id=."""
    return await ask(request, session_id, "scopes", query.params() | {"frame_id": frame_id})


@router.get(
    "/sessions/{session_id}/frames/{frame_id}/variables",
    operation_id="getFrameVariables",
    summary="Get a frame's locals",
    responses=answers(models.FrameVariables, *SESSION, *STATE, "THREAD_NOT_FOUND", "FRAME_NOT_FOUND"),
)
async def get_frame_variables(
    request: Request, session_id: SessionId, frame_id: FrameId, query: Annotated[queries.FrameVariablesQuery, Query()]
) -> Response:
    """Local variables of a frame in one call, also of a thread that is busy in a call."""
    return await ask(request, session_id, "frame_variables", query.params() | {"frame_id": frame_id})


@router.get(
    "/sessions/{session_id}/variables",
    operation_id="getVariables",
    summary="Get variables",
    responses=answers(models.VariableList, *SESSION, *STATE, "VARIABLE_NOT_FOUND", "MISSING_PARAMETER"),
)
async def get_variables(
    request: Request, session_id: SessionId, query: Annotated[queries.VariablesQuery, Query()]
) -> Response:
    """Variables of a scope, or what is inside a variable, a page at a time."""
    return await ask(request, session_id, "variables", query.params())


@router.get(
    "/sessions/{session_id}/variables/{variables_reference}",
    operation_id="expandVariable",
    summary="Expand variable",
    responses=VARIABLES,
)
@router.get(
    "/sessions/{session_id}/scopes/{variables_reference}/variables",
    operation_id="getScopeVariables",
    summary="Get a scope's variables",
    responses=VARIABLES,
)
async def expand_variable(
    request: Request,
    session_id: SessionId,
    variables_reference: Reference,
    query: Annotated[queries.ChildrenQuery, Query()],
) -> Response:
    """The same as variables?variables_reference=."""
    asked = {"variables_reference": variables_reference}
    return await ask(request, session_id, "variables", query.params() | asked)


@router.get(
    "/sessions/{session_id}/frames/{frame_id}/variables/{variables_reference}/children",
    operation_id="getChildren",
    summary="Get a variable's children",
    responses=answers(models.ChildList, *SESSION, *STATE, "VARIABLE_NOT_FOUND", "FRAME_NOT_FOUND", "THREAD_NOT_FOUND"),
)
async def get_children(
    request: Request,
    session_id: SessionId,
    frame_id: FrameId,
    variables_reference: Reference,
    query: Annotated[queries.OffsetQuery, Query()],
) -> Response:
    """The same as variables?variables_reference=, a page by offset and limit, with the rows as `items`."""
    asked = {"frame_id": frame_id, "variables_reference": variables_reference}
    return await ask(request, session_id, "children", query.params() | asked)


@router.post(
    "/sessions/{session_id}/evaluate",
    operation_id="evaluate",
    summary="Evaluate expression",
    responses=answers(
        models.Evaluation, *BODY, *SESSION, *STATE, "EVALUATE_ERROR", "THREAD_NOT_FOUND", "FRAME_NOT_FOUND"
    ),
)
async def evaluate(request: Request, session_id: SessionId, body: models.EvaluateRequest) -> Response:
    """Evaluate an expression in a frame. One that raises is an answer too: see `error`.

    In a thread that is busy in a call it can look, but what it assigns does not reach the frame."""
    return await ask(request, session_id, "evaluate", body.params())
