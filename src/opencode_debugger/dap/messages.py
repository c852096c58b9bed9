"""DAP messages as types: what goes into a frame and what comes out of one."""

from __future__ import annotations

from typing import Any

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


def decode(body: bytes) -> Message:
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MessageError(f"{error} in {body[:80]!r}") from error
