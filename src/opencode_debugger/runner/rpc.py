"""JSON-RPC 2.0, one JSON a line: the frame between relay and runner."""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import RelayError
from ..operations.asking_client import AskingClient

NOBODY = AskingClient()
FAILED = -32000
GIVE_UP = "give_up"
"""Notification that nobody waits for the answer to a call any more."""
PING = "is_there"
"""Call that is answered at once by whoever can answer at all."""
PREPARE = "prepare"
"""Call to a runner without a session: have an interpreter ready for a launch like the last one."""
LAUNCHED = "launched"
"""Notification of a launch that others may be like."""
LONGEST = 64 * 1024 * 1024
"""Bytes of one line."""
GARBAGE = (ValueError, RecursionError)
"""What reading raises that is no call or no reply: msgspec's errors, bytes that are no UTF-8, a line without end."""


class LineBuffer:
    """Collects bytes and gives back each complete line once."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Raises ValueError if a line does not end."""
        first, *others = data.split(b"\n")
        self._begun.append(first)
        self._size += len(first)
        if self._size > LONGEST:
            raise ValueError(f"a line of more than {LONGEST} bytes")
        if not others:
            return []
        lines = [b"".join(self._begun), *others[:-1]]
        self._begun, self._size = [others[-1]], len(others[-1])
        return lines


class Call(msgspec.Struct, omit_defaults=True):
    """A request, or without an id a notification."""

    method: str
    params: dict[str, Any] = {}
    id: int | None = None
    jsonrpc: str = msgspec.field(default="")
    session: str | None = None
    """which of the runner's sessions; the program's if left out"""
    may_run: bool = False
    """whether it may run code of the program or of its debugger: see debuggers/run_permission.py"""
    door: str = ""
    """through which it came, and in whose words advice is given: see operations/door_words.py"""
    client: str = ""
    """what the client calls itself"""
    wheel: str = ""
    """shows that the client holds the wheel of the session"""


class Fault(msgspec.Struct):
    code: int
    message: str
    data: dict[str, Any] | None = None

    @classmethod
    def of(cls, error: RelayError) -> Fault:
        return cls(FAILED, error.message, {**error.to_dict(), "status": error.status})

    def to_error(self) -> RelayError:
        try:
            return RelayError.from_dict(self.data or {})
        except (KeyError, TypeError):
            return RelayError("INTERNAL_ERROR", self.message)


class Incoming(msgspec.Struct):
    """A line that a client may read: a reply, or a notification."""

    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    """as it came: the relay hands it on without looking into it"""
    error: Fault | None = None
    method: str | None = None
    params: dict[str, Any] = {}


class LastWords(msgspec.Struct):
    """The last words about a session that expired, and those of its program's children."""

    last_status: str
    reason: str | None
    name: str | None
    children: dict[str, LastWords] = {}


class Described(msgspec.Struct):
    """A session as a relay must know it to take it over."""

    project_root: str | None
    info: dict[str, Any]
    timeout_seconds: float
    children: list[Described] = []
    saves_breakpoints: bool = True


decode_call = msgspec.json.Decoder(Call).decode
decode_incoming = msgspec.json.Decoder(Incoming).decode


def encode_call(
    method: str, params: dict[str, Any], id: int | None = None, session: str | None = None, may_run: bool = False,
    client: AskingClient = NOBODY,
) -> bytes:
    call = Call(method, params, id, "2.0", session, may_run, client.door, client.name, client.wheel)
    return msgspec.json.encode(call) + b"\n"


def frame_result(id: int, result: bytes) -> bytes:
    encoded = b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (id, result)
    return encoded if len(encoded) <= LONGEST else encode_fault(id, Fault.of(too_long("answer")))


def too_long(what: str) -> RelayError:
    return RelayError("PAYLOAD_TOO_LARGE", f"The {what} is larger than {LONGEST} bytes", suggestion="Ask for less")


def encode_fault(id: int, fault: Fault) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"error":%b}\n' % (id, msgspec.json.encode(fault))
