"""Routes for native programs: memory, machine code, breakpoints on data, and going back."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models import machine as models
from ..models.stops import StopReport
from .answers import BODY, SESSION, STATE, answers, ask
from .execution import CODES, Waiting, resume
from .parameters import DataBreakpointId, SessionId, tagged

router = tagged("Native")

FRAME = (*SESSION, *STATE, "THREAD_NOT_FOUND", "FRAME_NOT_FOUND")


@router.get(
    "/sessions/{session_id}/memory",
    operation_id="readMemory",
    summary="Read memory",
    responses=answers(models.Memory, *FRAME, "EVALUATE_ERROR"),
)
async def read_memory(
    request: Request, session_id: SessionId, query: Annotated[models.MemoryQuery, Query()]
) -> Response:
    """Bytes of a paused native program, at an address or where an expression is."""
    return await ask(request, session_id, "read_memory", query.params())


@router.post(
    "/sessions/{session_id}/memory",
    operation_id="writeMemory",
    summary="Write memory",
    responses=answers(models.MemoryWritten, *BODY, *FRAME, "EVALUATE_ERROR"),
)
async def write_memory(request: Request, session_id: SessionId, body: models.WriteMemoryRequest) -> Response:
    """Change bytes of a paused native program."""
    return await ask(request, session_id, "write_memory", body.params())


@router.get(
    "/sessions/{session_id}/disassembly",
    operation_id="disassemble",
    summary="Disassemble",
    responses=answers(models.Disassembly, *FRAME, "EVALUATE_ERROR"),
)
async def disassemble(
    request: Request, session_id: SessionId, query: Annotated[models.DisassemblyQuery, Query()]
) -> Response:
    """Machine instructions where a frame is, at an address, or of a function. A step with `"granularity":
    "instruction"` makes one of them."""
    return await ask(request, session_id, "disassemble", query.params())


@router.post(
    "/sessions/{session_id}/data-breakpoints",
    operation_id="setDataBreakpoint",
    summary="Set data breakpoint",
    responses=answers(models.DataBreakpointItem, *BODY, *FRAME, "BREAKPOINT_INVALID_CONDITION"),
)
async def set_data_breakpoint(request: Request, session_id: SessionId, body: models.DataBreakpointRequest) -> Response:
    """Stop when a value changes or is read (reason `data_breakpoint`). It ends with what it watches, such as a
    function's local variable, or with the program."""
    return await ask(request, session_id, "set_data_breakpoint", body.params())


@router.get(
    "/sessions/{session_id}/data-breakpoints",
    operation_id="listDataBreakpoints",
    summary="List data breakpoints",
    responses=answers(models.DataBreakpointList, *SESSION),
)
async def list_data_breakpoints(request: Request, session_id: SessionId) -> Response:
    """Those that there are."""
    return await ask(request, session_id, "list_data_breakpoints")


@router.delete(
    "/sessions/{session_id}/data-breakpoints",
    operation_id="clearDataBreakpoints",
    summary="Remove all data breakpoints",
    responses=answers(models.DataBreakpointsRemoved, *SESSION),
)
async def clear_data_breakpoints(request: Request, session_id: SessionId) -> Response:
    """Remove all of them."""
    return await ask(request, session_id, "remove_data_breakpoints")


@router.delete(
    "/sessions/{session_id}/data-breakpoints/{data_breakpoint_id}",
    operation_id="removeDataBreakpoint",
    summary="Remove data breakpoint",
    responses=answers(models.DataBreakpointsRemoved, *SESSION, "BREAKPOINT_NOT_FOUND"),
)
async def remove_data_breakpoint(
    request: Request, session_id: SessionId, data_breakpoint_id: DataBreakpointId
) -> Response:
    """Remove one."""
    return await ask(request, session_id, "remove_data_breakpoints", {"data_breakpoint_id": data_breakpoint_id})


@router.post(
    "/sessions/{session_id}/record",
    operation_id="record",
    summary="Record",
    responses=answers(models.Recording, *BODY, *FRAME),
)
async def record(request: Request, session_id: SessionId, body: models.RecordRequest | None = None) -> Response:
    """Record what a paused program does from here on, so that it can be stepped back. It runs much slower then."""
    return await ask(request, session_id, "record", body.params() if body else {})


BACK = answers(StopReport, *CODES, description="Went back, and where it is now")


@router.post("/sessions/{session_id}/step-back", operation_id="stepBack", summary="Step back", responses=BACK)
async def step_back(
    request: Request, session_id: SessionId, query: Waiting, body: models.BackRequest | None = None
) -> Response:
    """One line back in what was recorded. Waits unless told otherwise."""
    return await resume(request, session_id, "step_back", query, body)


@router.post(
    "/sessions/{session_id}/reverse-continue",
    operation_id="reverseContinue",
    summary="Continue backwards",
    responses=BACK,
)
async def reverse_continue(
    request: Request, session_id: SessionId, query: Waiting, body: models.BackRequest | None = None
) -> Response:
    """Back to the breakpoint before, or to where the recording began. Waits unless told otherwise."""
    return await resume(request, session_id, "reverse_continue", query, body)
