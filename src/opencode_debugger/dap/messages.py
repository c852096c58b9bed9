"""DAP messages as types: what goes into a frame and what comes out of one."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec


class Request(msgspec.Struct, tag_field="type", tag="request"):
    seq: int
    command: str
    arguments: dict[str, Any] = {}


class Response(msgspec.Struct, tag_field="type", tag="response"):
    request_seq: int
    success: bool = True
    command: str = ""
    message: str | None = None
    body: Any = None
    seq: int = 0


class Event(msgspec.Struct, tag_field="type", tag="event"):
    event: str
    body: Any = None
    seq: int = 0


Message = Request | Response | Event

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

encode = msgspec.json.encode


class MessageError(Exception):
    """A frame whose content is no DAP message."""


def decode_message(body: bytes) -> Message:
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError:
        pass
    try:
        return cast(Message, msgspec.convert(decode_json(body), Message))
    except (msgspec.MsgspecError, ValueError) as error:
        raise MessageError(f"{error} in {body[:80]!r}") from error


def decode_json(text: bytes | str) -> Any:
    """Any JSON of a Python program: it may hold halves of characters, as odd file names do; they come as \\udcff."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return _make_encodable(json.loads(text))


def _make_encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_make_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_make_encodable(name): _make_encodable(item) for name, item in value.items()}
    return value
