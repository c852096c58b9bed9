"""What handlers return, and how answers and errors are described in OpenAPI."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from .. import logs
from ..errors import CATALOGUE
from ..models import envelope
from .service import RelayService

JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")

COMMON = (
    "INVALID_PARAMETER",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "ORIGIN_NOT_ALLOWED",
    "PAYLOAD_TOO_LARGE",
    "HOST_NOT_ALLOWED",
    "INTERNAL_ERROR",
)
BODY = ("INVALID_REQUEST", "UNSUPPORTED_MEDIA_TYPE")
SESSION = ("SESSION_NOT_FOUND", "SESSION_EXPIRED", "DEBUGPY_ERROR", "DEBUGPY_TIMEOUT", "SHUTTING_DOWN")
NEW_SESSION = ("SESSION_LIMIT_REACHED", "SESSION_NOT_STARTED", "SHUTTING_DOWN")
STATE = ("INVALID_SESSION_STATE", "NOT_SUPPORTED")
ATTACH = ("ATTACH_FAILED", "ATTACH_REFUSED", "ATTACH_TIMEOUT", "DEBUGPY_ERROR", "DEBUGPY_TIMEOUT")
# Codes that a route may also give with another status than the catalogue's.
ALSO = {"DEBUGPY_ERROR": (502, "Connection to the debugger lost")}


class JsonBytes(JSONResponse):
    """A response whose body is JSON already."""

    def __init__(self, body: bytes, status_code: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.status_code = status_code
        self.body = body
        self.background = None
        self.raw_headers = [JSON_TYPE, (b"content-length", b"%d" % len(body)), *headers]


def enveloped(data: bytes, status_code: int = 200) -> JsonBytes:
    return JsonBytes(envelope.success(data, logs.request_id.get()), status_code)


def relay_of(request: Request) -> RelayService:
    relay: RelayService = request.app.state.relay
    return relay


async def ask(request: Request, session_id: str, operation: str, params: dict[str, Any] | None = None) -> JsonBytes:
    """One operation of one session, answered as it comes."""
    return enveloped(await relay_of(request).call(session_id, operation, params or {}))


def answers(model: type[Any], *codes: str, status: int = 200, description: str = "Done") -> dict[int | str, Any]:
    """OpenAPI responses of a route: its answer, and each error it can give."""
    described: dict[int | str, Any] = {status: {"model": envelope.Envelope[model], "description": description}}  # type: ignore[valid-type]
    for error_status, text in sorted(_by_status((*COMMON, *codes)).items()):
        described[error_status] = {"model": envelope.ErrorEnvelope, "description": text}
    return described


def _by_status(codes: Iterable[str]) -> dict[int, str]:
    texts: dict[int, list[str]] = {}
    for code in codes:
        texts.setdefault(CATALOGUE[code].status, []).append(f"`{code}`")
        if code in ALSO:
            status, reason = ALSO[code]
            texts.setdefault(status, []).append(f"`{code}` ({reason})")
    return {status: ", ".join(parts) for status, parts in texts.items()}
