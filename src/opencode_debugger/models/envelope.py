"""The envelope around every answer, and the messages of output and event streams, as bytes."""

from typing import Any

import msgspec

from ..errors import RelayError
from ..logs import without_tokens
from ..text.render import render_error
from ..timestamps import current_time

_encode = msgspec.json.Encoder(enc_hook=repr, decimal_format="number").encode


def to_json(value: Any) -> bytes:
    """JSON of anything: what UTF-8 or JSON cannot express becomes text that says so."""
    try:
        return _encode(value)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _encode(_make_expressible(value))


def _make_expressible(value: Any, depth: int = 0) -> Any:
    if isinstance(value, msgspec.Struct):
        value = {name: item for name, item in msgspec.structs.asdict(value).items() if item is not msgspec.UNSET}
    if isinstance(value, dict) and depth < 20:
        return {_make_expressible(str(key)): _make_expressible(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and depth < 20:
        return [_make_expressible(item, depth + 1) for item in value]
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text.encode("utf-8", "replace").decode()


def success_answer(data: bytes, request_id: str) -> bytes:
    return b'{"success":true,"data":%b,"error":null,"meta":%b}' % (data, _answer_meta(request_id))


def failure_answer(error: RelayError, request_id: str) -> bytes:
    told = without_tokens(to_json(error.to_dict()))
    return b'{"success":false,"data":null,"error":%b,"meta":%b}' % (told, _answer_meta(request_id))


def failure_text(error: RelayError) -> str:
    return without_tokens(render_error(error.to_dict()).encode(errors="replace")).decode(errors="replace")


def _answer_meta(request_id: str) -> bytes:
    return b'{"request_id":%b,"timestamp":"%b"}' % (_encode(request_id), current_time().encode())


# Streams.


class LogMessage(msgspec.Struct, omit_defaults=True):
    """A piece of output, or of stream `relay` what is missing there."""

    stream: str
    text: str
    timestamp: str
    cursor: str | None = None
    dropped: int | None = None
    cleared: int | None = None


class Message(msgspec.Struct, omit_defaults=True):
    """Something that happened, or what became of a command."""

    session_id: str
    kind: str
    payload: Any
    timestamp: str
    cursor: str | None = None


encode = msgspec.json.Encoder().encode


def encode_message(session_id: str, kind: str, payload: Any) -> bytes:
    """One that is made now."""
    content = payload if isinstance(payload, msgspec.Raw) else msgspec.Raw(to_json(payload))
    return encode(Message(session_id, kind, content, current_time()))
