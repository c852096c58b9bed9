"""Puts the relay's doors together into one application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .auth.access import Access
from .auth.guard import Guard
from .config import Settings
from .doors.page.static_files import static_routes
from .doors.rest import docs_page, openapi
from .doors.rest.faults import HANDLERS
from .doors.rest.front_page import text_routes
from .doors.rest.responses import JsonBytes
from .doors.rest.routes import operation_routes
from .doors.websocket.streams import routes as streams
from .models.envelope import to_json
from .relay.service import Relay

if TYPE_CHECKING:
    from .doors.mcp.http_endpoint import McpEndpoint


def create_app(service: Relay, settings: Settings, access: Access) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = Starlette(
        routes=[
            *operation_routes(), *streams, *docs_routes(settings.port), *text_routes(settings.uds), *static_routes(),
            McpRoute(settings.max_body_bytes),
        ],
        middleware=[Middleware(Guard, settings=settings, access=access)], exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.relay = service
    app.state.access = access
    app.state.closing = asyncio.Event()
    app.state.page_links = settings.page_links
    app.state.page_address = settings.page_address
    return app


class McpRoute(Route):
    """The MCP server, which is loaded when it is first asked for: others are served meanwhile."""

    def __init__(self, max_body_bytes: int) -> None:
        super().__init__("/mcp", self.answer_request, methods=["GET", "POST", "DELETE"])
        self.methods = {"GET", "POST", "DELETE"}  # without HEAD
        self._max_body_bytes = max_body_bytes
        self._making = asyncio.Lock()
        self._endpoint: McpEndpoint | None = None
        self.app = self.answer_request

    async def answer_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._making:
            if self._endpoint is None:
                module = await asyncio.to_thread(import_module, "opencode_debugger.doors.mcp.http_endpoint")
                self._endpoint = module.McpEndpoint(scope["app"], self._max_body_bytes)
        await self._endpoint.answer_request(scope, receive, send)


def docs_routes(port: int) -> list[Route]:
    # Made when it is first asked for, which takes a second: others are served meanwhile.

    @cache
    def schema() -> bytes:
        return to_json(openapi.openapi_document(port))

    @cache
    def page() -> str:
        return docs_page.render_page(openapi.openapi_document(port))

    async def get_schema(request: Request) -> Response:
        return JsonBytes(await asyncio.to_thread(schema))

    async def get_page(request: Request) -> Response:
        return HTMLResponse(await asyncio.to_thread(page), headers={"Content-Security-Policy": docs_page.POLICY})

    return [Route("/openapi.json", get_schema), Route("/docs", get_page)]
