"""The same program through the relay's REST API: a real relay process and a client that keeps its connection."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil

from bench.processes import end, family
from bench.target import BREAK, EXPRESSION, NEVER, PROGRAM

PATIENCE = 30.0
LOCATION = {"fields": ["location"]}


class RelayProcess:
    """A relay as a user starts it, with a data folder of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        command = [sys.executable, "-m", "opencode_debugger", "serve", "--log-level", "warning"]
        data = str(folder / "data")
        command += ["--port", str(self.port), "--data-dir", data]
        self.client_environment = {"OPENCODE_DEBUG_DATA_DIR": data}
        """with which commands find this relay"""
        settings = {"OPENCODE_DEBUG_MAX_SESSIONS": "100", "OPENCODE_DEBUG_SPARE_INTERPRETERS": "true"}
        with open(folder / "relay.log", "wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                Client(self.port).call("GET", "/health")
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("the relay did not start")

    def stop(self) -> None:
        others = family(self.process.pid)
        self.process.terminate()
        end(self.process, others, PATIENCE)

    def runners(self, session_ids: set[str]) -> list[psutil.Process]:
        """The processes that hold these sessions: each was started with its session's folder."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        alive = [process for process in below if process.is_running()]
        named = [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
        return [process for process in named if Path(process.cmdline()[-1]).name in session_ids]


class Client:
    """One connection, kept open; the data of an answer, or an error."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else msgspec.json.encode(body)
        headers = {} if data is None else {"Content-Type": "application/json"}
        self._http.request(method, "/api/v1" + path, data, headers)
        answer = msgspec.json.decode(self._http.getresponse().read())
        if not answer["success"]:
            raise RuntimeError(f"{method} {path}: {answer['error']}")
        return answer["data"]

    def close(self) -> None:
        self._http.close()


class Session:
    """One session of the relay, driven over REST."""

    def __init__(self, port: int) -> None:
        self._client = Client(port)
        self.id = ""
        self._scope = 0

    def _get(self, path: str) -> Any:
        return self._client.call("GET", f"/sessions/{self.id}{path}")

    def _post(self, path: str, body: Any) -> Any:
        return self._client.call("POST", f"/sessions/{self.id}{path}", body)

    def create(self) -> None:
        self.id = self._client.call("POST", "/sessions", {"python_path": sys.executable})["session_id"]

    def launch(self) -> None:
        self._breakpoint(BREAK)
        self._check(self._post("/launch", {"script": PROGRAM, "wait": PATIENCE, **LOCATION}))

    def _breakpoint(self, line: int) -> None:
        answer = self._post("/breakpoints", {"source": {"path": PROGRAM}, "line": line})
        assert answer["verified"], answer

    def _check(self, stop: dict[str, Any]) -> None:
        assert stop["status"] == "paused" and stop["current_location"]["line"], stop

    def step(self) -> None:
        self._check(self._post("/step-over", LOCATION))

    def step_report(self) -> None:
        stop = self._post("/step-over", None)
        assert stop["locals"] and stop["stack"] and stop["source"], stop

    def report(self) -> None:
        assert self._get("/report")["locals"]

    def stack(self) -> None:
        assert self._get("/stacktrace")["frames"]

    def scopes(self) -> None:
        self._scope = self._get("/scopes")["scopes"][0]["variables_reference"]

    def variables(self) -> None:
        self._has_numbers(self._get(f"/variables?variables_reference={self._scope}"))

    def local_variables(self) -> None:
        self._has_numbers(self._get("/frames/0/variables"))

    def _has_numbers(self, found: dict[str, Any]) -> None:
        assert any(variable["name"] == "numbers" for variable in found["variables"]), found

    def evaluate(self) -> None:
        assert self._post("/evaluate", {"expression": EXPRESSION, "context": "watch"})["result"]

    def set_breakpoint(self) -> None:
        self._breakpoint(NEVER)

    def status(self) -> None:
        assert self._get("/status")["status"] == "paused"

    def resume(self) -> None:
        self._check(self._post("/continue", {"wait": PATIENCE, **LOCATION}))

    def close(self) -> None:
        if self.id:
            self._client.call("DELETE", f"/sessions/{self.id}?force=true")
        self._client.close()
