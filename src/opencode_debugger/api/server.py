"""Routes about the server itself."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..models.envelope import to_json
from ..models.server import Health, Info
from .answers import answers, enveloped, relay_of
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
    info = {**relay_of(request).info(), "endpoints": endpoints(request.app)}
    return enveloped(to_json(info))
