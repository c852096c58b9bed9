"""The debugger as a process: started by an IDE, ends with it, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import tempfile
from pathlib import Path

import msgspec

from ...debuggers.process import program_process
from ...default_settings import DATA_FOLDER, PREFIX, Limits
from ...files import withhold_folder
from ...operations.advice import spelling
from .ez_shapes import ez_call
from .stdio_door import DoorOptions, StdioDoor
from .stdio_wire import take_over

ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run_server(file: str | None, args: list[str]) -> int:
    limits = session_limits()
    withhold_folder(data_folder())
    session_id = f"ez_{os.urandom(4).hex()}"
    reading, writing = take_over()
    with tempfile.TemporaryDirectory(prefix="ocdb-", ignore_cleanup_errors=True) as folder:
        guard = CleanupGuard(session_id, folder)
        program_process.adopt_orphans()
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
        asyncio.run(_serve_session(reading, writing, DoorOptions(session_id, limits, folder, file, args)))
        guard.dismiss()
    return 0


async def _serve_session(reading: int, writing: int, options: DoorOptions) -> None:
    spelling.set(ez_call)
    door = StdioDoor(reading, writing, options)
    loop = asyncio.get_running_loop()
    for number in ENDS:
        loop.add_signal_handler(number, door.end_session)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)  # what came while this was starting is heard now
    serving = loop.create_task(door.serve_client())
    while not serving.done():
        await asyncio.wait([serving], timeout=5.0)
        program_process.reap_adopted()  # what the program's processes leave behind is ours, and ends at some time
    serving.result()


class CleanupGuard:
    """A process that outlives this one for a moment, if it must: it clears away what a killed debugger has left.

    It waits for the end of a pipe that only we hold open: then we are gone, however that came."""

    def __init__(self, marker: str, folder: str) -> None:
        reading, self._held = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._held)
                _wait_for_end(reading, marker, folder)
            finally:
                os._exit(0)
        os.close(reading)
        program_process.OWN.add(self._pid)

    def dismiss(self) -> None:
        """Let it go: all has been ended already."""
        program_process.OWN.discard(self._pid)
        os.close(self._held)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _wait_for_end(pipe: int, marker: str, folder: str) -> None:
    os.setsid()  # what is typed in a terminal is not for it
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, 64)
    while os.read(pipe, 1):
        pass
    program_process.end_marked(marker)
    shutil.rmtree(folder, ignore_errors=True)


# The settings that concern a session, read without what the relay reads its own with, which takes its time.


class Unusable(Exception):
    """A setting that cannot be used, in one line."""


def session_limits() -> Limits:
    """The environment over config.json over the defaults."""
    names = Limits.__struct_fields__
    stored: object = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        stored = json.loads((data_folder() / "config.json").read_bytes())
    given = {name: stored[name] for name in names if name in stored} if isinstance(stored, dict) else {}
    given |= {name: value for name in names if (value := os.environ.get(PREFIX + name.upper()))}
    try:
        return msgspec.convert(given, Limits, strict=False)
    except msgspec.ValidationError as error:
        raise Unusable(f"a setting cannot be used: {error}") from None


def data_folder() -> Path:
    return Path(os.environ.get(PREFIX + "DATA_DIR") or DATA_FOLDER).expanduser()
