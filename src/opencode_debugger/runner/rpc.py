"""JSON-RPC 2.0, one JSON a line: the frame between relay and runner."""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import RelayError

FAILED = -32000
GIVE_UP = "give_up"
"""Notification that nobody waits for the answer to a call any more."""


class Lines:
    """Collects bytes and gives back each complete line once."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        first, *others = data.split(b"\n")
        self._begun.append(first)
        if not others:
            return []
        lines = [b"".join(self._begun), *others[:-1]]
        self._begun = [others[-1]]
        return lines


class Call(msgspec.Struct, omit_defaults=True):
    """A request, or without an id a notification."""

    method: str
    params: dict[str, Any] = {}
    id: int | None = None
    jsonrpc: str = msgspec.field(default="")
    session: str | None = None
    """which of the runner's sessions; the program's if left out"""


class Fault(msgspec.Struct):
    code: int
    message: str
    data: dict[str, Any] | None = None

    @classmethod
    def of(cls, error: RelayError) -> Fault:
        return cls(FAILED, error.message, {**error.to_dict(), "status": error.status})

    def to_error(self) -> RelayError:
        if self.data is None:
            return RelayError("INTERNAL_ERROR", self.message)
        return RelayError.from_dict(self.data)


class Reply(msgspec.Struct):
    """The result stays as it came: the relay hands it on without looking into it."""

    id: int
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Fault | None = None


class Incoming(msgspec.Struct):
    """What a client may read: a reply, or a notification."""

    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Fault | None = None
    method: str | None = None
    params: dict[str, Any] = {}


_calls = msgspec.json.Decoder(Call)
_incoming = msgspec.json.Decoder(Incoming)

decode_call = _calls.decode
decode_incoming = _incoming.decode


def encode_call(method: str, params: dict[str, Any], id: int | None = None, session: str | None = None) -> bytes:
    return msgspec.json.encode(Call(method, params, id, "2.0", session)) + b"\n"


def encode_result(id: int, result: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (id, msgspec.json.encode(result))


def encode_fault(id: int, fault: Fault) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"error":%b}\n' % (id, msgspec.json.encode(fault))
