"""An IDE that speaks the EZ protocol: starts the debugger, sends commands, holds each event against the table."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from relays import RUN_ID, RUN_MARKER
from waiting import wait_until

from opencode_debugger.ez.messages import check_event

SECONDS = 20.0
COMMAND = [sys.executable, "-m", "opencode_debugger"]

Event = dict[str, Any]


class Ide:
    """`extended` says whether it may be told what is not in the document."""

    def __init__(self, *argv: str | Path, extended: bool = False, env: dict[str, str] | None = None) -> None:
        self.extended = extended
        self.events: list[str] = []
        self.text = ""
        """what the program printed"""
        self._buffer = b""
        self._is_over = False
        env = {**os.environ, RUN_MARKER: RUN_ID, **(env or {})}
        pipe = subprocess.PIPE
        command = [*COMMAND, *map(str, argv)]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, bufsize=0)

    @classmethod
    def of(cls, file: Path, *argv: str, extended: bool = False, **options: Any) -> Ide:
        """That has told what it wants to debug."""
        ide = cls("debugserver", file, *argv, extended=extended, **options)
        ide.send("initialize", file=str(file), **({"capabilities": []} if extended else {}))
        ide.expect("initialized")
        return ide

    def __enter__(self) -> Ide:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    # Commands.

    def send(self, command: str, /, **params: Any) -> None:
        self.write(json.dumps({"type": "command", "command": command, "params": params}) + "\n")

    def write(self, data: str | bytes) -> None:
        assert self.process.stdin is not None
        rest = memoryview(data.encode() if isinstance(data, str) else data)
        while rest:
            rest = rest[self.process.stdin.write(rest) :]

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    # Events.

    def line(self, seconds: float = SECONDS) -> bytes | None:
        """The next line; nothing at the end."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer and not self._is_over:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.process.stdout], [], [], left)[0], f"nothing came: {self.events}"
            data = os.read(self.process.stdout.fileno(), 65536)
            self._is_over = not data
            self._buffer += data
        line, found, self._buffer = self._buffer.partition(b"\n")
        assert found or not line, f"half a line: {line!r}"
        return line if found else None

    def next(self) -> Event:
        line = self.line()
        assert line is not None, f"it has ended: {self.events}"
        event: Event = json.loads(line)
        problem = check_event(event, extensions=self.extended)
        assert problem is None, f"{problem} in {line[:300]!r}"
        self.events.append(event["event"])
        self.text += event["data"]["text"] if event["event"] == "output" else ""
        return event

    def expect(self, name: str, /, **data: Any) -> dict[str, Any]:
        """That comes next, with at least this data."""
        event = self.next()
        assert event["event"] == name, event
        assert {key: event["data"].get(key) for key in data} == data, event
        return dict(event["data"])

    def until(self, name: str, /, **data: Any) -> dict[str, Any]:
        """The next of that name, whatever comes before it."""
        while True:
            event = self.next()
            if event["event"] == name:
                assert {key: event["data"].get(key) for key in data} == data, event
                return dict(event["data"])
            assert event["event"] != "exited", event

    def refused(self, command: str, message: str = "", /, **params: Any) -> str:
        """Sends a command that cannot be carried out; gives what is said about it."""
        self.send(command, **params)
        said = self.until("error", command=command)["message"]
        assert message in said, said
        return str(said)

    def stopped(self, reason: str, line: int, **data: Any) -> dict[str, Any]:
        stop = self.until("stopped", reason=reason, **data)
        assert stop["location"]["line"] == line, stop
        return stop

    def ends(self) -> int:
        """Says its last words and ends; its exit code."""
        while self.line() is not None:
            pass
        return self.process.wait(SECONDS)

    def errors(self) -> str:
        """What it wrote to stderr, once it has ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Soon."""
    return wait_until(lambda: not is_running(pid))
