"""Routes about the server itself."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..config import CHOOSING_PROGRAMS
from ..models.configuration import (
    Configuration,
    ConfigurationChanged,
    ShutdownRequest,
    ShuttingDown,
    UpdateConfigRequest,
)
from ..models.envelope import to_json
from ..models.server import Health, Info
from .answers import BODY, answers, enveloped, relay_of
from .nearest import endpoints
from .parameters import tagged

router = tagged("Server")

HEALTH = answers(Health, description="Server is healthy")
HEALTH[503] = {"model": HEALTH[200]["model"], "description": "Server is unhealthy"}


@router.get("/health", operation_id="getHealth", summary="Health check", responses=HEALTH)
async def get_health(request: Request) -> Response:
    """Whether the server is up and can debug."""
    health = relay_of(request).health()
    return enveloped(to_json(health), 200 if health["status"] == "healthy" else 503)


@router.get("/info", operation_id="getInfo", summary="Server information", responses=answers(Info))
async def get_info(request: Request) -> Response:
    """Versions, what this relay can do, and every endpoint."""
    info = {**await relay_of(request).info(), "endpoints": endpoints(request.app)}
    return enveloped(to_json(info))


@router.get("/config", operation_id="getConfig", summary="Get settings", responses=answers(Configuration))
async def get_config(request: Request) -> Response:
    """The settings in force: values, defaults, where each comes from, and whether it can be changed here."""
    return enveloped(to_json(relay_of(request).config()))


@router.patch(
    "/config",
    operation_id="updateConfig",
    summary="Change settings",
    responses=answers(ConfigurationChanged, *BODY, "STORAGE_FAILED"),
)
async def update_config(request: Request, body: UpdateConfigRequest) -> Response:
    """Change settings while the relay runs: all that are given, or none.

    They last until it ends; with `persist` config.json has them for the next start as well. A setting that says which
    program runs (`default_python_path`) needs the scope sessions:write too."""
    changes = body.changes()
    if changes.keys() & CHOOSING_PROGRAMS:
        request.scope["caller"].require("choose_programs")
    return enveloped(to_json(await relay_of(request).update_config(changes, body.persist)))


@router.post(
    "/shutdown",
    operation_id="shutdown",
    summary="Shut down",
    status_code=202,
    responses=answers(ShuttingDown, *BODY, status=202, description="The relay is shutting down"),
)
async def shutdown(request: Request, body: ShutdownRequest | None = None) -> Response:
    """End the relay, after this answer: with all sessions and their programs, unless told to keep them.

    Requests that wait are answered first. The body may be left out."""
    wishes = body or ShutdownRequest()
    return enveloped(to_json(relay_of(request).shutdown(wishes.keep_sessions, wishes.timeout)), 202)
