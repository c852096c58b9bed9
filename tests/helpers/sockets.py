"""WebSocket clients for tests: a real one, and one that writes frames by hand."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from relays import Api, Relay, Session
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

PATIENCE = 20.0
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def local_token(relay: Relay) -> str:
    return (relay.data_dir / "local-token").read_text().strip()


def address(relay: Relay, path: str, **query: Any) -> str:
    return f"ws://127.0.0.1:{relay.port}{path}" + (f"?{urlencode(query)}" if query else "")


class Socket:
    """A real client: each message is JSON, and every wait ends."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def next(self) -> dict[str, Any]:
        message = json.loads(self.connection.recv(PATIENCE))
        assert isinstance(message, dict)
        return message

    def until(self, *kinds: str) -> dict[str, Any]:
        """The next message of one of these kinds."""
        while True:
            message = self.next()
            if message["kind"] in kinds:
                return message

    def rest(self) -> list[dict[str, Any]]:
        """All that comes until it is closed."""
        found = []
        with contextlib.suppress(ConnectionClosed):
            while True:
                found.append(self.next())
        return found

    def send(self, command: Any) -> None:
        self.connection.send(command if isinstance(command, (str, bytes)) else json.dumps(command))

    def ask(self, action: str, **params: Any) -> dict[str, Any]:
        """What became of a command, as `result` or `error`."""
        self.send({"action": action, **params})
        return self.until("result", "error")

    def data(self, action: str, **params: Any) -> Any:
        answer = self.ask(action, **params)
        assert answer["kind"] == "result", answer
        return answer["payload"]["data"]

    def closed(self) -> tuple[int, str]:
        """Code and reason, once all is read."""
        self.rest()
        return self.connection.close_code or 0, self.connection.close_reason or ""


@contextlib.contextmanager
def opened(relay: Relay, path: str, token: str | None = None, **query: Any) -> Iterator[Socket]:
    headers = {"Authorization": f"Bearer {token or local_token(relay)}"}
    options: dict[str, Any] = {"compression": None, "max_size": None, "ping_interval": None, "close_timeout": 0.5}
    with connect(address(relay, path, **query), additional_headers=headers, **options) as connection:
        yield Socket(connection)


@contextlib.contextmanager
def logs_of(relay: Relay, session: Session, **query: Any) -> Iterator[Socket]:
    with opened(relay, f"/sessions/{session.id}/logs", **query) as found:
        yield found


@contextlib.contextmanager
def debug_of(relay: Relay, session: Session, **query: Any) -> Iterator[Socket]:
    with opened(relay, f"/sessions/{session.id}/debug", **query) as found:
        yield found


@contextlib.contextmanager
def own_relay(tmp_path: Path, **settings: Any) -> Iterator[tuple[Relay, Api]]:
    relay = Relay(tmp_path / "data", **settings).start()
    try:
        with Api(relay.base_url) as api:
            yield relay, api
    finally:
        ended = relay.stop()
    assert ended == 0
    assert "Traceback" not in relay.log.read_text()


class RawSocket:
    """A client by hand: says and reads frames, and whatever else one may put on a wire."""

    def __init__(self, relay: Relay, path: str, token: str | None = None, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", relay.port))
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Authorization: Bearer {token or local_token(relay)}\r\n\r\n".encode()
        )
        read = b""
        while b"\r\n\r\n" not in read:
            read += self._more()
        self.head, _, self._read = read.partition(b"\r\n\r\n")
        self._at = 0

    def __enter__(self) -> RawSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _more(self) -> bytes:
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError
        return data

    def _exactly(self, count: int) -> bytes:
        while len(self._read) - self._at < count:
            self._read, self._at = self._read[self._at :] + self._more(), 0
        self._at += count
        return self._read[self._at - count : self._at]

    def frame(self) -> tuple[int, bytes]:
        first, second = self._exactly(2)
        length = second & 127
        if length == 126:
            (length,) = struct.unpack("!H", self._exactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._exactly(8))
        return first & 15, self._exactly(length)

    def close_code(self) -> int:
        """Reads on to the close frame."""
        while True:
            opcode, payload = self.frame()
            if opcode == CLOSE:
                return int(struct.unpack("!H", payload[:2])[0])

    def messages(self) -> list[bytes]:
        """The text messages until the close frame."""
        found = []
        while True:
            opcode, payload = self.frame()
            if opcode == CLOSE:
                return found
            if opcode == TEXT:
                found.append(payload)

    def until(self, ending: bytes) -> bytes:
        """Everything, as it comes, up to these bytes."""
        parts = [self._read[self._at :]]
        while not b"".join(parts[-2:]).endswith(ending):
            parts.append(self._more())
        return b"".join(parts)

    def send(self, opcode: int, payload: bytes, **options: Any) -> None:
        self.socket.sendall(made(opcode, payload, **options))


def made(opcode: int, payload: bytes, is_masked: bool = True, is_final: bool = True) -> bytes:
    """A frame of a client."""
    mask = os.urandom(4) if is_masked else b""
    bit = 0x80 if is_masked else 0
    size = len(payload)
    if size < 126:
        length = bytes((bit | size,))
    elif size < 65536:
        length = struct.pack("!BH", bit | 126, size)
    else:
        length = struct.pack("!BQ", bit | 127, size)
    if is_masked:
        key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        payload = (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big")
    return bytes(((0x80 if is_final else 0) | opcode,)) + length + mask + payload
