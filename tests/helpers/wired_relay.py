"""The door with our own wire, in this process."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import uvicorn
from relays import Relay
from stub_relay import StubRelay, StubSettings

from opencode_debugger.app import create_app
from opencode_debugger.auth.access import Access
from opencode_debugger.auth.tokens import hash_of, new_token
from opencode_debugger.doors.transport import uvicorn_websocket
from opencode_debugger.doors.transport.uvicorn_http import Http
from opencode_debugger.operations.scopes import ALL_SCOPES
from opencode_debugger.persistence.token_store import TokenStore


@contextlib.contextmanager
def served(relay: StubRelay, folder: Path) -> Iterator[tuple[uvicorn.Server, Relay, str]]:
    """The door with our wire, in this process; the Relay says only where."""
    store, token = TokenStore(folder), new_token()
    store.add("all", hash_of(token), list(ALL_SCOPES))
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(relay, StubSettings(), Access(store, False))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, http=Http, ws=uvicorn_websocket.BoundedWebSocket, lifespan="off")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield server, Relay(folder, listener.getsockname()[1]), token
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
    assert not thread.is_alive()
