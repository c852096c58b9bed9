"""The same program under raw DAP: through stock `debugpy.adapter`, and with the debugger connected straight to us."""

from __future__ import annotations

import importlib.util
import os
import secrets
import select
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from bench.processes import end, family
from bench.target import BREAK, EXPRESSION, NEVER, PROGRAM

PATIENCE = 30.0
CLIENT = {"clientID": "bench", "adapterID": "debugpy", "pathFormat": "path", "linesStartAt1": True}
OPTIONS = {"justMyCode": False, "showReturnValue": True}


class Wire:
    """A blocking DAP conversation: one thread, no more than is needed."""

    def __init__(self, send: Callable[[bytes], object], receive: Callable[[], bytes]) -> None:
        self._send = send
        self._receive = receive
        self._buffer = b""
        self._seq = 0
        self._events: deque[dict[str, Any]] = deque()
        self._answers: dict[int, dict[str, Any]] = {}

    def send(self, command: str, arguments: dict[str, Any] | None = None) -> int:
        self._seq += 1
        message = {"seq": self._seq, "type": "request", "command": command, "arguments": arguments or {}}
        body = msgspec.json.encode(message)
        self._send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return self._seq

    def answer(self, seq: int) -> Any:
        while seq not in self._answers:
            self._read()
        answer = self._answers.pop(seq)
        if not answer["success"]:
            raise RuntimeError(f"{answer['command']}: {answer.get('message')}")
        return answer.get("body")

    def request(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        return self.answer(self.send(command, arguments))

    def event(self, name: str) -> Any:
        """The next event of that name; others before it are let go."""
        while True:
            while self._events:
                event = self._events.popleft()
                if event["event"] == name:
                    return event.get("body")
            self._read()

    def _read(self) -> None:
        header, found, rest = self._buffer.partition(b"\r\n\r\n")
        length = int(header.rpartition(b":")[2]) if found else 0
        while not found or len(rest) < length:
            data = self._receive()
            if not data:
                raise RuntimeError("the debugger closed the connection")
            self._buffer += data
            header, found, rest = self._buffer.partition(b"\r\n\r\n")
            length = int(header.rpartition(b":")[2]) if found else 0
        self._buffer = rest[length:]
        message = msgspec.json.decode(rest[:length])
        if message["type"] == "event":
            self._events.append(message)
        elif message["type"] == "response":
            self._answers[message["request_seq"]] = message


class Raw:
    """What both raw ways do once they are connected."""

    wire: Wire
    process: subprocess.Popen[bytes]

    def __init__(self) -> None:
        self._thread = 0
        self._frame = 0
        self._scope = 0

    def _to_first_stop(self) -> None:
        launched = self.wire.send("launch", self._launch_options())
        self.wire.event("initialized")
        self._set_breakpoints(BREAK)
        self.wire.request("setExceptionBreakpoints", {"filters": ["uncaught"]})
        self.wire.request("configurationDone")
        self.wire.answer(launched)
        self._stopped()

    def _launch_options(self) -> dict[str, Any]:
        return OPTIONS

    def _set_breakpoints(self, *lines: int) -> None:
        wanted = [{"line": line} for line in lines]
        self.wire.request("setBreakpoints", {"source": {"path": PROGRAM}, "breakpoints": wanted})

    def _stopped(self) -> None:
        self._thread = self.wire.event("stopped")["threadId"]
        self.stack()

    def stack(self) -> None:
        frames = self.wire.request("stackTrace", {"threadId": self._thread})["stackFrames"]
        self._frame = frames[0]["id"]

    def scopes(self) -> None:
        scopes = self.wire.request("scopes", {"frameId": self._frame})["scopes"]
        self._scope = scopes[0]["variablesReference"]

    def variables(self) -> None:
        found = self.wire.request("variables", {"variablesReference": self._scope})["variables"]
        assert any(variable["name"] == "numbers" for variable in found), found

    def local_variables(self) -> None:
        self.scopes()
        self.variables()

    def report(self) -> None:
        self.stack()
        self.local_variables()

    def step(self) -> None:
        self.wire.request("next", {"threadId": self._thread})
        self._stopped()

    def step_report(self) -> None:
        self.step()
        self.local_variables()

    def resume(self) -> None:
        self.wire.send("continue", {"threadId": self._thread})
        self._stopped()

    def evaluate(self) -> None:
        asked = {"expression": EXPRESSION, "frameId": self._frame, "context": "watch"}
        assert self.wire.request("evaluate", asked)["result"]

    def set_breakpoint(self) -> None:
        self._set_breakpoints(BREAK, NEVER)


class StockAdapter:
    """`python -m debugpy.adapter` on its pipes, as editors and other relays start it; initialized."""

    def __init__(self, python: str, environment: dict[str, str], patience: float) -> None:
        self.process = subprocess.Popen(
            [python, "-m", "debugpy.adapter"],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout
        self._out = self.process.stdout.fileno()
        self._patience = patience
        self.wire = Wire(self.process.stdin.write, self._receive)
        self.wire.request("initialize", CLIENT)

    def _receive(self) -> bytes:
        if not select.select([self._out], [], [], self._patience)[0]:
            raise TimeoutError("debugpy.adapter does not answer")
        return os.read(self._out, 65536)

    def close(self) -> None:
        others = family(self.process.pid)
        with suppress(OSError, RuntimeError):
            self.wire.request("disconnect", {"terminateDebuggee": True})
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        end(self.process, others, patience=5)
        self.process.stdout.close()


class Stock(Raw):
    """The program through the stock adapter."""

    def create(self) -> None:
        self._adapter = StockAdapter(sys.executable, {}, PATIENCE)
        self.wire, self.process = self._adapter.wire, self._adapter.process

    def launch(self) -> None:
        self._to_first_stop()

    def _launch_options(self) -> dict[str, Any]:
        return {**OPTIONS, "program": PROGRAM, "python": sys.executable, "console": "internalConsole"}

    def close(self) -> None:
        self._adapter.close()


class Direct(Raw):
    """The program's debugger connects back to us: the least that any client can do."""

    def create(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)

    def launch(self) -> None:
        found = importlib.util.find_spec("debugpy")
        assert found is not None and found.origin is not None
        address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        command = [sys.executable, "-Xfrozen_modules=off", str(Path(found.origin).parent), "--connect", address]
        command += ["--adapter-access-token", secrets.token_hex(16), "--wait-for-client", PROGRAM]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._socket = self._listener.accept()[0]
        self._listener.close()
        self._socket.settimeout(PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.wire = Wire(self._socket.sendall, self._receive)
        self.wire.request("pydevdAuthorize", {"debugServerAccessToken": None})
        self.wire.request("initialize", CLIENT)
        self._to_first_stop()

    def _receive(self) -> bytes:
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return self._socket.recv(65536)

    def close(self) -> None:
        end(self.process, [])
        self._socket.close()
