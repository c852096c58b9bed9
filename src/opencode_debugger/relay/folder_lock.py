"""One relay per data folder."""

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import msgspec

from ..files import set_aside


class AlreadyRunning(Exception):
    """Another relay holds the data folder."""


class FolderLock:
    """Held as long as the process lives: the kernel lets go of it however the process ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "relay.lock"
        self._descriptor: int | None = None

    def acquire(self, about: dict[str, Any]) -> None:
        if self._path.exists() and not self._path.is_file():
            set_aside(self._path, OSError(errno.EINVAL, "not a file"))
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = ""
            with contextlib.suppress(msgspec.DecodeError, KeyError, TypeError):
                theirs = msgspec.json.decode(os.pread(descriptor, 10_000, 0))
                where = theirs.get("uds") or f"{theirs['scheme']}://{theirs['host']}:{theirs['port']}"
                holder = f" at {where} (process {theirs['pid']})"
            os.close(descriptor)
            instead = "Use that one, stop it, or start this one with another --data-dir."
            raise AlreadyRunning(f"A relay is already running for {self._path.parent}{holder}. {instead}") from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, msgspec.json.encode(about))
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
