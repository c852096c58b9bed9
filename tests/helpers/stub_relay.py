"""A relay without sessions, and the REST door in front of it on a real port."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn

from opencode_debugger.answers.server import Health, Info
from opencode_debugger.app import create_app
from opencode_debugger.auth.access import Access
from opencode_debugger.config import Settings
from opencode_debugger.errors import RelayError
from opencode_debugger.relay.about import server_info


class StubProfiles:
    """Knows none."""

    async def listed(self) -> dict[str, Any]:
        return {"profiles": [], "total": 0}

    async def get(self, name: str) -> dict[str, Any]:
        raise RelayError("PROFILE_NOT_FOUND", f"Profile '{name}' not found")

    async def save(self, name: str, wishes: dict[str, Any], replace: bool) -> dict[str, Any]:
        return {"name": name, "breakpoints": [], "exception_breakpoints": []}

    async def apply(self, name: str, session_id: str, replace: bool) -> dict[str, Any]:
        return await self.get(name)

    async def delete(self, name: str) -> dict[str, Any]:
        return await self.get(name)


class StubRuns:
    """Runs nothing."""

    async def run(self, **wishes: Any) -> bytes:
        return b'{"session_id":"sess_3","status":"running","pid":1}'

    async def attach(self, **wishes: Any) -> bytes:
        return b'{"session_id":"sess_3","status":"running","attached":true,"pid":1,"program":null}'


class StubRelay:
    """Remembers the last call and answers with it; sessions named after an error raise it."""

    def __init__(self) -> None:
        self.last: tuple[str, Any] = ("", None)
        self.status = "healthy"
        self.running = False
        self.profiles = StubProfiles()
        self.runs = StubRuns()

    async def create_session(self, **options: Any) -> bytes:
        self.last = ("create_session", options)
        return b'{"session_id":"sess_1","status":"created","created_at":"2026-01-13T10:30:00.000Z"}'

    async def list_processes(self, kind: str, offset: int, limit: int, filter: str | None = None) -> bytes:
        self.last = ("list_processes", {"filter": filter, "kind": kind, "offset": offset, "limit": limit})
        return b'{"items":[],"total":0,"offset":0,"limit":100,"has_more":false}'

    async def import_session(self, **given: Any) -> bytes:
        self.last = ("import_session", given)
        return b'{"session_id":"sess_2","status":"created","created_at":"2026-01-13T10:30:00.000Z","warnings":[]}'

    async def clone_session(self, session_id: str, name: str | None = None) -> bytes:
        self.last = ("clone_session", {"name": name})
        return b'{"session_id":"sess_2","status":"created","created_at":"2026-01-13T10:30:00.000Z"}'

    async def export_session(self, session_id: str, include_env: bool) -> bytes:
        self.last = ("export_session", {"include_env": include_env})
        return b"{}"

    async def update_session(self, session_id: str, **changes: Any) -> bytes:
        return await self.call(session_id, "update_session", changes)

    async def list_sessions(
        self, offset: int, limit: int, status: str | None = None, parent_session_id: str | None = None
    ) -> bytes:
        self.last = ("list_sessions", {"status": status, "offset": offset, "limit": limit})
        return b'{"items":[],"total":0,"offset":0,"limit":100,"has_more":false}'

    async def delete_session(self, session_id: str, force: bool) -> bytes:
        self.last = ("delete_session", {"force": force})
        return b'{"session_id":"sess_1","deleted":true}'

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes:
        self.last = (operation, params)
        if session_id == "broken":
            raise ZeroDivisionError("a secret")
        if session_id == "unknown":
            raise RelayError("SESSION_NOT_FOUND", "Session with ID 'unknown' not found", session_id=session_id)
        if session_id == "odd":
            raise RelayError("DEBUGPY_ERROR", "lone \ud800", status=502, value=10**30)
        return b'{"status":"paused"}'

    def health(self) -> Health:
        return Health(status=self.status, version="1", uptime_seconds=1, active_sessions=0, debugpy_available=True)

    async def info(self) -> Info:
        return server_info(Settings())

    def config(self) -> dict[str, Any]:
        return {"settings": {}, "config_file": "/config.json"}

    async def update_config(self, changes: dict[str, Any], persist: bool) -> dict[str, Any]:
        self.last = ("update_config", {**changes, "persist": persist})
        return {**self.config(), "changed": [], "persisted": persist, "warnings": []}

    def shutdown(self, keep_sessions: bool = False, timeout: float = 15) -> dict[str, Any]:
        self.last = ("shutdown", {"keep_sessions": keep_sessions, "timeout": timeout})
        return {"shutting_down": True, "keep_sessions": keep_sessions, "sessions": []}

    async def start(self) -> None:
        self.running = True

    async def stop(self) -> None:
        self.running = False


@dataclass
class StubSettings:
    host: str = "127.0.0.1"
    port: int = 5679
    allowed_origins: tuple[str, ...] = ("https://trusted.example",)
    max_body_bytes: int = 10_000
    certfile: str = ""
    uds: str = ""
    page_links: bool = False
    page_address: str = "http://127.0.0.1:5679"


class NoTokens:
    """Knows none."""

    def find(self, hash: str) -> None:
        return None

    def note_use(self, token: Any) -> None: ...

    def clock(self) -> float:
        return 0.0


ACCESS = Access(NoTokens(), is_required=False)


class Door:
    """The REST door, served on a free port."""

    def __init__(self, port: int, relay: StubRelay) -> None:
        self.port = port
        self.relay = relay
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60)

    def raw(self, request: bytes) -> bytes:
        """Exactly these bytes on the wire, and everything that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(request.replace(b"PORT", str(self.port).encode()))
            answer = b""
            while data := connection.recv(65536):
                answer += data
        return answer


@contextmanager
def served(access: Access = ACCESS) -> Iterator[Door]:
    listener = socket.create_server(("127.0.0.1", 0))
    relay = StubRelay()
    app = create_app(relay, StubSettings(), access)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    door = Door(listener.getsockname()[1], relay)
    try:
        door.client.get("/api/v1/health")
        yield door
    finally:
        door.client.close()
        server.should_exit = True
        thread.join(10)
        listener.close()



class Endless(StubRelay):
    """A session that never stops writing."""

    async def call(self, session_id: str, operation: str, params: dict[str, Any]) -> bytes:
        if operation != "follow_output":
            return await super().call(session_id, operation, params)
        await asyncio.sleep(0)
        entry = {"category": "stdout", "output": "x" * 10_000, "timestamp": "2026-01-13T10:30:00.000Z"}
        page = {"entries": [entry] * 20, "next_cursor": "bzE=", "has_more": True, "dropped": 0, "cleared": 0}
        return json.dumps(page).encode()
