"""The folder of a session: its socket, its log, its last words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

SOCKET = "rpc.sock"
LOG = "runner.log"
FINAL = "final.json"
DETACHED = "detached"
"""A file that says: the program was let go, what carries the session's marker is nobody's to end."""
LONGEST_SOCKET_PATH = 100


@contextlib.contextmanager
def socket_address(folder: Path) -> Iterator[str]:
    """A path of the socket that is short enough for the kernel, however deep the folder is."""
    path = str(folder / SOCKET)
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)
