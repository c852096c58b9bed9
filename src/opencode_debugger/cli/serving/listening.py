"""The relay's address: a port, or a unix socket that nobody else can open or put in the place of ours."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from ...config import ConfigError, Settings
from ...files import make_folder, take_lock

BACKLOG = 2048
LONGEST_PATH = 107
"""Bytes that the kernel takes, on Linux."""
LOCKED = 2.0
"""Seconds that another relay may take to look: everybody who may look into the folder can hold its lock."""


@contextlib.contextmanager
def bind_address(settings: Settings) -> Iterator[tuple[socket.socket, Settings]]:
    """Bound before anything else is started, so that a place that is taken costs nothing. Yields the settings with the
    port that it is, if any was asked for."""
    address = settings.host, settings.port
    with listening_on_path(Path(settings.uds)) if settings.uds else listening_on_port(*address) as listener:
        bound = {} if settings.uds else {"port": listener.getsockname()[1]}
        yield listener, settings.model_copy(update=bound)


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
        advice = "If a relay is running there already, use it; otherwise choose another --port."
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}. {advice}") from error
    return listener


# A unix socket.


@contextlib.contextmanager
def listening_on_path(path: Path) -> Iterator[socket.socket]:
    """Removed in the end, unless there is another in its place."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            made = bind_to_path(listener, path)
        except OSError as error:
            raise cannot_listen(path, error.strerror or str(error)) from error
        try:
            yield listener
        finally:
            with contextlib.suppress(OSError), lock_held(path.parent):
                if os.path.samestat(os.lstat(path), made):
                    path.unlink()


def bind_to_path(listener: socket.socket, path: Path) -> os.stat_result:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise cannot_listen(path, f"the path has more than {LONGEST_PATH} bytes")
    make_folder(path.parent)
    found = os.stat(path.parent)
    is_others = found.st_uid not in (os.geteuid(), 0)
    if is_others or (found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX):
        # Who can rename its entries could put a socket there, and be told tokens.
        raise cannot_listen(path, f"others can change what is in {path.parent}")
    with lock_held(path.parent):
        remove_stale(path)
        before = os.umask(0o177)  # so it is never there with more rights than it is to have
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        return os.lstat(path)


def remove_stale(path: Path) -> None:
    """Remove the socket of a relay that was killed. One that answers is not touched, and neither is anything else."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise cannot_listen(path, "something else is there, or it is somebody else's")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise cannot_listen(path, "a relay is listening there already. Use it")


@contextlib.contextmanager
def lock_held(folder: Path) -> Iterator[None]:
    """Relays that start at the same time look one after the other."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        take_lock(descriptor, LOCKED, "somebody keeps its folder locked")
        yield
    finally:
        os.close(descriptor)


def cannot_listen(path: Path, why: str) -> ConfigError:
    return ConfigError(f"cannot listen on {path}: {why}; or choose another --uds, such as one in the data folder.")
