"""Where the streams are: at the root and beside the REST routes."""

from __future__ import annotations

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from .connection import REFUSED
from .debug import debug
from .logs import logs
from .tunnel import tunnel

STREAMS = {"logs": logs, "debug": debug, "tunnel": tunnel}


async def unknown(websocket: WebSocket) -> None:
    """Opened first, as all are, so that clients see why it is closed."""
    await websocket.accept()
    await websocket.close(REFUSED, "ROUTE_NOT_FOUND")


routes = [
    WebSocketRoute(f"{prefix}/sessions/{{session_id}}/{name}", endpoint)
    for prefix in ("", "/api/v1")
    for name, endpoint in STREAMS.items()
]
routes.append(WebSocketRoute("/{path:path}", unknown))
