"""The debugger as a process: started by an IDE, ends with it, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import tempfile
from collections.abc import Callable

from ..adapters.processes import adopt_orphans, reap_adopted
from ..files import withhold
from .door import Door
from .guard import Guard
from .settings import data_folder, limits
from .wire import take_over

ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
REAP = 5.0
"""Seconds between looks at orphans that may have ended."""


def run(file: str | None, args: list[str]) -> int:
    found = limits()
    withhold(data_folder())
    session_id = f"ez_{os.urandom(4).hex()}"
    reading, writing = take_over()
    with tempfile.TemporaryDirectory(prefix="ocdb-", ignore_cleanup_errors=True) as folder:
        guard = Guard(session_id, folder)
        adopt_orphans()
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
        asyncio.run(_serve(lambda: Door(reading, writing, session_id, found, folder, file, args)))
        guard.dismiss()
    return 0


async def _serve(make_door: Callable[[], Door]) -> None:
    door = make_door()
    loop = asyncio.get_running_loop()
    for number in ENDS:
        loop.add_signal_handler(number, door.end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)  # what came while this was starting is heard now
    reaping = loop.create_task(_reap())
    await door.serve()
    reaping.cancel()


async def _reap() -> None:
    """What the program's processes leave behind is ours, and ends at some time."""
    while True:
        await asyncio.sleep(REAP)
        reap_adopted()
