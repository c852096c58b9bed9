"""Routes about processes that one could attach to."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..models.processes import ProcessList
from ..models.queries import ProcessQuery
from .answers import answers, enveloped, relay_of
from .parameters import tagged

router = tagged("Program Control")


@router.get("/processes", operation_id="listProcesses", summary="List processes", responses=answers(ProcessList))
async def list_processes(request: Request, query: Annotated[ProcessQuery, Query()]) -> Response:
    """Your Python programs, or with `kind` others, and what stands in the way of attaching to each. They are looked at,
    never touched."""
    return enveloped(await relay_of(request).list_processes(query.filter, query.kind, query.offset, query.limit))
