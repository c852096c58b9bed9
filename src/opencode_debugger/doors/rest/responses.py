"""Responses in the form that the client wants: JSON that is made already, lean JSON, or text."""

from collections.abc import Iterable

import msgspec
from starlette.responses import JSONResponse

from ... import logs
from ...errors import RelayError
from ...models import envelope
from ...text.lean import lean_answer
from ...text.render import render_answer
from .answer_form import AnswerForm

JSON_TYPE = (b"content-type", b"application/json; charset=utf-8")
TEXT_TYPE = (b"content-type", b"text/plain; charset=utf-8")
STATUS_HEADER = b"x-session-status"


class JsonBytes(JSONResponse):
    kind = JSON_TYPE

    def __init__(self, body: bytes, status_code: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self.status_code = status_code
        self.body = body
        self.background = None
        self.raw_headers = [self.kind, (b"content-length", b"%d" % len(body)), *headers]


class TextBytes(JsonBytes):
    """Text in place of JSON."""

    kind = TEXT_TYPE

    def __init__(self, text: str, status_code: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(f"{text}\n".encode(errors="replace"), status_code, headers)


class SessionState(msgspec.Struct):
    """What answers about a session begin with."""

    session_id: str | None = None
    status: str | None = None


def with_page_link(report: bytes, base: str) -> bytes:
    """Return a stop report, as JSON, with the address of its session's page at the end."""
    session_id = msgspec.json.decode(report, type=SessionState).session_id
    if session_id is None:
        return report
    return report[:-1] + b',"link":' + msgspec.json.encode(f"{base}/#/sessions/{session_id}") + b"}"


def formed_response(
    form: AnswerForm, operation: str, data: bytes, status_code: int = 200, base: str | None = None,
    budget: int | None = None,
) -> JsonBytes:
    """Respond with the JSON of an operation's answer; text has paths relative to the base, and keeps to the budget."""
    if form.is_text:
        state = msgspec.json.decode(data, type=SessionState)
        told = ((STATUS_HEADER, state.status.encode()),) if state.session_id and state.status else ()
        return TextBytes(render_answer(operation, data, base, form.reveal, budget), status_code, told)
    data = lean_answer(operation, data) if form.is_lean else data
    return JsonBytes(envelope.success_answer(data, logs.request_id.get()), status_code)


def refused_response(
    form: AnswerForm, error: RelayError, headers: Iterable[tuple[bytes, bytes]] = ()
) -> JsonBytes:
    if form.is_text:
        return TextBytes(envelope.failure_text(error), error.status, headers)
    return JsonBytes(envelope.failure_answer(error, logs.request_id.get()), error.status, headers)
