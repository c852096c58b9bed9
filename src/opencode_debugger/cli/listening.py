"""Where the relay is reached: a port, or a unix socket that nobody else can open or put in the place of ours."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from ..config import ConfigError, Settings
from ..files import make_folder

BACKLOG = 2048
LONGEST_PATH = 107
"""Bytes that the kernel takes, on Linux."""
LOCKED = 2.0
"""Seconds that another relay may take to look."""


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """Bound before anything else is started, so that a place that is taken costs nothing."""
    if settings.uds:
        with listening_on_path(Path(settings.uds)) as listener:
            yield listener
    else:
        with listening_on_port(settings.host, settings.port) as listener:
            yield listener


def listening_on_port(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited by what is accepted
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror}. "
            f"If a relay is running there already, use it; otherwise choose another --port."
        ) from error
    return listener


# A unix socket.


@contextlib.contextmanager
def listening_on_path(path: Path) -> Iterator[socket.socket]:
    """Removed in the end, unless there is another in its place."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            made = bind_to_path(listener, path)
        except OSError as error:
            raise cannot(path, error.strerror or str(error)) from error
        try:
            yield listener
        finally:
            with contextlib.suppress(OSError), locked(path.parent):
                if is_same(os.lstat(path), made):
                    path.unlink()


def bind_to_path(listener: socket.socket, path: Path) -> os.stat_result:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise cannot(path, f"the path has more than {LONGEST_PATH} bytes")
    make_folder(path.parent)
    check_folder(path)
    with locked(path.parent):
        remove_stale(path)
        before = os.umask(0o177)  # so it is never there with more rights than it is to have
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        return os.lstat(path)


def check_folder(path: Path) -> None:
    """Whoever can rename what is in the folder could put a socket of his own there, and be told tokens."""
    found = os.stat(path.parent)
    is_others = found.st_uid not in (os.geteuid(), 0)
    if is_others or (found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX):
        raise cannot(path, f"others can change what is in {path.parent}")


def remove_stale(path: Path) -> None:
    """What a relay left that was killed. One that answers is not touched, and neither is anything else."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise cannot(path, "something else is there, or it is somebody else's")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise cannot(path, "a relay is listening there already. Use it")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Relays that start at the same time look one after the other."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> None:
    """Everybody who may look into the folder can hold its lock, for as long as he likes."""
    deadline = time.monotonic() + LOCKED
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, "somebody keeps its folder locked") from None
            time.sleep(0.01)


def is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def cannot(path: Path, why: str) -> ConfigError:
    return ConfigError(f"cannot listen on {path}: {why}; or choose another --uds, such as one in the data folder.")
