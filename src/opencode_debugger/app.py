"""Puts the relay's doors together into one application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from . import __version__
from .api import (
    assigning,
    breakpoints,
    code,
    docs_page,
    exception_breakpoints,
    execution,
    faults,
    inspection,
    machine,
    openapi,
    output,
    processes,
    profiles,
    program,
    server,
    sessions,
    watches,
)
from .api.answers import JsonBytes
from .api.service import RelayService
from .auth.access import Access
from .auth.guard import Guard, GuardSettings
from .models.envelope import to_json
from .streams.routes import routes as streams

ROUTERS = (
    server, sessions, execution, inspection, watches, assigning, code, program, processes, breakpoints,
    exception_breakpoints, profiles, machine, output,
)  # fmt: skip
DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def create_app(service: RelayService, settings: GuardSettings, access: Access) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title=openapi.TITLE,
        version=__version__,
        description=openapi.description(settings.port),
        openapi_tags=openapi.TAGS,
        license_info={"name": "MIT", "identifier": "MIT"},
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.relay = service
    app.state.access = access
    app.state.closing = asyncio.Event()
    # Not include_router: an included router is matched anew, twice, for each request.
    for module in ROUTERS:
        app.router.routes.extend(module.router.routes)
    app.router.routes.extend(streams)
    add_docs(app)
    faults.install(app)
    app.add_middleware(Guard, settings=settings, access=access)
    return app


def add_docs(app: FastAPI) -> None:
    @cache
    def schema() -> bytes:
        return to_json(openapi.schema(app))

    @cache
    def page() -> str:
        return docs_page.render(openapi.schema(app))

    # Made when it is first asked for, which takes a second: others are served meanwhile.

    async def get_schema(request: Request) -> Response:
        return JsonBytes(await asyncio.to_thread(schema))

    async def get_page(request: Request) -> Response:
        return HTMLResponse(await asyncio.to_thread(page), headers={"Content-Security-Policy": DOCS_POLICY})

    app.add_route("/openapi.json", get_schema, include_in_schema=False)
    app.add_route("/docs", get_page, include_in_schema=False)
