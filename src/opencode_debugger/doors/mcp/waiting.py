"""Tells a client that waits for a call how long it has been waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext

INTERVAL = 3.0
"""Seconds between two notices."""


@asynccontextmanager
async def telling_progress(context: ServerRequestContext[Any]) -> AsyncIterator[None]:
    """Tell it while the block is carried out, if the client has asked for that with a progress token."""
    if not context.meta or context.meta.get("progress_token") is None:
        yield
        return
    telling = asyncio.create_task(_tell_progress(context))
    try:
        yield
    finally:
        telling.cancel()


async def _tell_progress(context: ServerRequestContext[Any]) -> None:
    started = time.monotonic()
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client has gone
        while True:
            await asyncio.sleep(INTERVAL)
            seconds = time.monotonic() - started
            await context.session.report_progress(seconds, message=f"running, {seconds:.0f} s")
