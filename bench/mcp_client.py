"""A client of MCP servers on stdio, as little as there can be: JSON lines, one request at a time."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.processes import end, family

PATIENCE = 60.0
PROTOCOL = "2025-06-18"


class McpClient:
    """A server that it starts, and its tools."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str]) -> None:
        with open(log, "wb") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=log.parent,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                start_new_session=True,
            )
        self._received = b""
        self._last_id = 0
        self.calls = 0
        self.answer_bytes = 0
        """of all answers of tools, as they come on the wire"""

    def initialize(self) -> None:
        client = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return the text of its answer."""
        self.calls += 1
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {text}")
        return text

    def request(self, method: str, params: dict[str, Any]) -> Any:
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        while True:
            line = self._read_line()
            message = msgspec.json.decode(line)
            if message.get("id") == self._last_id and "method" not in message:
                self.answer_bytes += len(line)
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._received:
            if not select.select([self._process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the server does not answer")
            received = os.read(self._process.stdout.fileno(), 1 << 16)
            if not received:
                raise RuntimeError("the server has ended")
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        return line

    def close(self) -> None:
        others = family(self._process.pid)
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        end(self._process, others, patience=5)
        self._process.stdout.close()
