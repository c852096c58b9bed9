"""A small DAP client over a socket, as an editor is one."""

from __future__ import annotations

import itertools
import json
import socket
import time
from collections.abc import Callable
from typing import Any

from relays import Session

SECONDS = 20.0


def connect(uri: str) -> socket.socket:
    host, _, port = uri.removeprefix("tcp://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=SECONDS)


class Failed(Exception):
    """The other side answered that it could not."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["format"])
        self.is_shown = error["showUser"]


class Dap:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.buffer = b""
        self.numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}

    @classmethod
    def of(cls, session: Session) -> Dap:
        """Through the session's own port."""
        debugger = session.get()["debugger"]
        sock = connect(debugger["uri"])
        sock.sendall(f"Bearer {debugger['token']}\n".encode())
        return cls(sock)

    def __enter__(self) -> Dap:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def attach(self, **options: Any) -> dict[str, Any]:
        """The handshake, as editors do it; gives the capabilities."""
        capabilities = self.request("initialize", adapterID="test", linesStartAt1=True, columnsStartAt1=True)
        self.request("attach", **options)
        self.event("initialized")
        return capabilities

    def ready(self) -> None:
        self.request("configurationDone")

    def send(self, command: str, **arguments: Any) -> int:
        seq = next(self.numbers)
        self.send_body(json.dumps({"seq": seq, "type": "request", "command": command, "arguments": arguments}).encode())
        return seq

    def send_body(self, body: bytes) -> None:
        self.sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.answer(self.send(command, **arguments))

    def answer(self, seq: int) -> dict[str, Any]:
        self._read_until(lambda: seq in self.answers)
        answer = self.answers.pop(seq)
        if not answer["success"]:
            raise Failed(answer["body"]["error"])
        return answer.get("body") or {}

    def event(self, name: str, **wanted: Any) -> dict[str, Any]:
        """The next one of that name whose body has these; those before it stay."""

        def find() -> dict[str, Any] | None:
            for event in self.events:
                body = event.get("body") or {}
                if event["event"] == name and all(body.get(key) == value for key, value in wanted.items()):
                    return event
            return None

        self._read_until(lambda: find() is not None)
        found = find()
        assert found is not None
        self.events.remove(found)
        return found.get("body") or {}

    def output(self, text: str) -> str:
        """What was written, once that is part of it."""

        def written() -> str:
            return "".join(e["body"]["output"] for e in self.events if e["event"] == "output")

        self._read_until(lambda: text in written())
        return written()

    def ended(self) -> bytes:
        """What comes until the other side hangs up."""
        self._read_until(lambda: False, until_end=True)
        return self.buffer

    def _read_until(self, is_there: Callable[[], bool], until_end: bool = False) -> None:
        deadline = time.monotonic() + SECONDS
        while not is_there():
            self.sock.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self.sock.recv(65536)
            except ConnectionResetError:
                data = b""
            except TimeoutError:
                raise AssertionError(f"it did not come; events: {self.events}") from None
            if not data:
                assert until_end, f"the connection ended; events: {self.events}, rest: {self.buffer!r}"
                return
            self.buffer += data
            self._take()

    def _take(self) -> None:
        while b"\r\n\r\n" in self.buffer:
            header, _, rest = self.buffer.partition(b"\r\n\r\n")
            length = int(header.removeprefix(b"Content-Length: "))
            if len(rest) < length:
                return
            message, self.buffer = json.loads(rest[:length]), rest[length:]
            if message["type"] == "event":
                self.events.append(message)
            else:
                self.answers[message["request_seq"]] = message

    # What editors ask for at a stop.

    def stack(self, thread_id: int) -> list[dict[str, Any]]:
        return list(self.request("stackTrace", threadId=thread_id)["stackFrames"])

    def locals(self, frame_id: int) -> dict[str, dict[str, Any]]:
        scope = self.request("scopes", frameId=frame_id)["scopes"][0]
        rows = self.request("variables", variablesReference=scope["variablesReference"])["variables"]
        return {row["name"]: row for row in rows}
