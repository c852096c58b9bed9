"""The debugger as a process: started by an IDE, ends with it, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from ..adapters.processes import adopt_orphans, reap_adopted
from ..core.settings import Limits
from .door import Door
from .guard import Guard
from .settings import limits
from .wire import take_over

REAP = 5.0
"""Seconds between looks at orphans that may have ended."""


def run(file: str | None, args: list[str]) -> int:
    found = limits()
    session_id = f"ez_{os.urandom(4).hex()}"
    reading, writing = take_over()
    guard = Guard(session_id)
    adopt_orphans()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    asyncio.run(_serve(reading, writing, session_id, found, file, args))
    guard.dismiss()
    return 0


async def _serve(reading: int, writing: int, session_id: str, found: Limits, file: str | None, args: list[str]) -> None:
    door = Door(reading, writing, session_id, found, file, args)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, door.end)
    reaping = loop.create_task(_reap())
    await door.serve()
    reaping.cancel()


async def _reap() -> None:
    """What the program's processes leave behind is ours, and ends at some time."""
    while True:
        await asyncio.sleep(REAP)
        reap_adopted()
