"""Path parameters, and the router every tag starts from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BeforeValidator, Field

from ..models.fields import MAX_INTEGER, integer_text
from .answers import JsonBytes
from .route import RelayRoute

PREFIX = "/api/v1"

_id = (Field(ge=0, le=MAX_INTEGER), BeforeValidator(integer_text))

SessionId = Annotated[str, Path(description="Session identifier.", max_length=128, examples=["sess_a1b2c3d4"])]
BreakpointId = Annotated[str, Path(description="Breakpoint identifier.", max_length=128, examples=["bp_1"])]
DataBreakpointId = Annotated[str, Path(description="Data breakpoint identifier.", max_length=128, examples=["dbp_1"])]
WatchId = Annotated[str, Path(description="Watch identifier.", max_length=128, examples=["w_1"])]
ThreadId = Annotated[int, *_id, Path(description="Thread identifier.", examples=[1])]
FrameId = Annotated[int, *_id, Path(description="Frame: 0 is the top.", examples=[0])]
Reference = Annotated[int, *_id, Path(description="Reference from a scope or a variable.", examples=[1000])]


def tagged(tag: str) -> APIRouter:
    return APIRouter(prefix=PREFIX, tags=[tag], route_class=RelayRoute, default_response_class=JsonBytes)
