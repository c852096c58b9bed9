"""The envelope around every answer: as bytes for the wire, as models for the documentation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

import msgspec

from ..errors import RelayError
from ..logs import without_tokens
from .documented import Described, doc

DataT = TypeVar("DataT")

_encode = msgspec.json.Encoder(enc_hook=repr, decimal_format="number").encode


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_json(value: Any) -> bytes:
    """JSON of anything: what UTF-8 or JSON cannot express becomes text that says so."""
    try:
        return _encode(value)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _encode(_expressible(value))


def _expressible(value: Any, depth: int = 0) -> Any:
    if isinstance(value, dict) and depth < 20:
        return {_expressible(str(key)): _expressible(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and depth < 20:
        return [_expressible(item, depth + 1) for item in value]
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text.encode("utf-8", "replace").decode()


def success(data: bytes, request_id: str) -> bytes:
    return b'{"success":true,"data":%b,"error":null,"meta":%b}' % (data, _meta(request_id))


def failure(error: RelayError, request_id: str) -> bytes:
    told = without_tokens(to_json(error.to_dict()))
    return b'{"success":false,"data":null,"error":%b,"meta":%b}' % (told, _meta(request_id))


def _meta(request_id: str) -> bytes:
    return b'{"request_id":%b,"timestamp":"%b"}' % (_encode(request_id), now().encode())


class Meta(Described):
    request_id: str = doc("Your X-Request-ID, or a UUID.", "550e8400-e29b-41d4-a716-446655440000", ...)
    timestamp: str = doc("When the answer was made: UTC, milliseconds.", "2026-01-13T10:30:00.123Z", ...)


class Envelope(Described, Generic[DataT]):
    success: Literal[True] = doc("Always true: the call did what it says.", True, ...)
    data: DataT = doc("The answer.", None, ...)
    error: None = doc("Always null.", None, ...)
    meta: Meta = doc("About this request.", None, ...)


class FieldProblem(Described):
    field: str = doc("Where, such as breakpoints[0].line.", "breakpoints[0].line", ...)
    message: str = doc("What is wrong there.", "Line number must be a positive integer", ...)
    value: Any = doc("What was sent, shortened if long.", -5)


class ErrorDetails(Described):
    suggestion: str = doc("What to call or change next.", "Use GET /api/v1/sessions to list active sessions", ...)
    errors: list[FieldProblem] | None = doc("Every field that is wrong, for a request that is not valid.")


class ApiError(Described):
    code: str = doc("Error code, as listed in docs/errors.md.", "SESSION_NOT_FOUND", ...)
    message: str = doc("What happened.", "Session with ID 'sess_invalid' not found", ...)
    details: ErrorDetails = doc("More about it, depending on the code.", None, ...)


class ErrorEnvelope(Described):
    success: Literal[False] = doc("Always false.", False, ...)
    data: None = doc("Always null.", None, ...)
    error: ApiError = doc("What went wrong.", None, ...)
    meta: Meta = doc("About this request.", None, ...)
