"""The envelope around every answer."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from .shape import UNSET, Answer, Maybe, said

DataT = TypeVar("DataT")


class Meta(Answer):
    request_id: Annotated[str, said("Your X-Request-ID, or a UUID.", "550e8400-e29b-41d4-a716-446655440000")]
    timestamp: Annotated[str, said("When the answer was made: UTC, milliseconds.", "2026-01-13T10:30:00.123Z")]


class Envelope(Answer, Generic[DataT]):
    success: Annotated[Literal[True], said("Always true: the call did what it says.", True)]
    data: Annotated[DataT, said("The answer.")]
    error: Annotated[None, said("Always null.")]
    meta: Annotated[Meta, said("About this request.")]


class FieldProblem(Answer):
    field: Annotated[str, said("Where, such as breakpoints[0].line.", "breakpoints[0].line")]
    message: Annotated[str, said("What is wrong there.", "Line number must be a positive integer")]
    value: Annotated[Maybe[Any], said("What was sent, shortened if long.", -5)] = UNSET


class ErrorDetails(Answer):
    suggestion: Annotated[str, said("What to call or change next.", "Use GET /api/v1/sessions to list active sessions")]
    errors: Annotated[Maybe[list[FieldProblem]], said(
        "Every field that is wrong, for a request that is not valid.")] = UNSET


class ApiError(Answer):
    code: Annotated[str, said("Error code, as listed in docs/errors.md.", "SESSION_NOT_FOUND")]
    message: Annotated[str, said("What happened.", "Session with ID 'sess_invalid' not found")]
    details: Annotated[ErrorDetails, said("More about it, depending on the code.")]


class ErrorEnvelope(Answer):
    success: Annotated[Literal[False], said("Always false.", False)]
    data: Annotated[None, said("Always null.")]
    error: Annotated[ApiError, said("What went wrong.")]
    meta: Annotated[Meta, said("About this request.")]
