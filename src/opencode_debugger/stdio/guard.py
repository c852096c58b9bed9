"""A process that outlives this one for a moment, if it must: it clears away what a killed debugger has left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal

from ..adapters import processes


class Guard:
    """Waits for the end of a pipe that only we hold open: then we are gone, however that came."""

    def __init__(self, marker: str, folder: str) -> None:
        reading, self._held = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._held)
                _watch(reading, marker, folder)
            finally:
                os._exit(0)
        os.close(reading)
        processes.OWN.add(self._pid)

    def dismiss(self) -> None:
        """All has been ended already."""
        processes.OWN.discard(self._pid)
        os.close(self._held)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _watch(pipe: int, marker: str, folder: str) -> None:
    os.setsid()  # what is typed in a terminal is not for it
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, 64)
    while os.read(pipe, 1):
        pass
    processes.end_marked(marker)
    shutil.rmtree(folder, ignore_errors=True)
