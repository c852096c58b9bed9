"""Connects the program to its runner by a unix socket, where each shows the other a secret before anything else.

Also the first of our code in a program that is attached to: it imports nothing before it has a thread of its own.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

PATIENCE = 30.0
"""Seconds for the runner to let us in."""


def reach(folder: str, name: str, token: str, greeting: str, user: int | None) -> socket:
    """Return a connection to the runner. Raises OSError if that is gone, or if somebody else is in its place."""
    import _socket
    import os

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    descriptor = None
    try:
        sock.settimeout(PATIENCE)
        path = os.path.join(folder, name) if folder else name
        # Every system takes paths of so many bytes for a socket.
        if folder and len(os.fsencode(path)) > 100 and os.path.isdir("/proc/self/fd"):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            path = "/proc/self/fd/%d/%s" % (descriptor, name)
        _connect_patiently(sock, path)
        _check_runner(sock, token, greeting, user)
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return sock


def _connect_patiently(sock: socket, path: str) -> None:
    import time

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            sock.connect(path)
            return
        except BlockingIOError:  # so many call at once that they cannot even wait in line
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _check_runner(sock: socket, token: str, greeting: str, user: int | None) -> None:
    """Check that the runner is who listens: as its user, and knowing what only we and it know."""
    import _socket
    import sys

    if user is not None and hasattr(_socket, "SO_PEERCRED"):
        listener = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # process, user, group
        if int.from_bytes(listener[4:8], sys.byteorder) != user:
            raise OSError("the socket belongs to another user")
    sock.sendall(token.encode())
    said = b""
    while len(said) < len(greeting):
        data = sock.recv(len(greeting) - len(said))
        if not data:
            raise OSError("the runner does not want us")
        said += data
    if said != greeting.encode():
        raise OSError("somebody else listens in place of the runner")


def instead_of_tcp(pydevd: Any, way: Any) -> None:
    """Make pydevd's next connection one to the runner; those of the program's own debugpy are as ever."""
    start_client = pydevd.start_client

    def start_once(host: str, port: int) -> socket:
        pydevd.start_client = start_client
        return reach(**way)

    pydevd.start_client = start_once


def end_late_threads() -> None:
    """End threads of a leaving debugger that would keep the program from ending.

    It ends those that it knows itself, which are those that have begun to run.
    """
    import threading

    active: Any = threading._active  # type: ignore[attr-defined]  # `enumerate` hides them
    for thread in list(active.values()):
        debugger = getattr(thread, "py_db", None)
        if debugger is not None:
            debugger.created_pydb_daemon_threads[thread] = 1
            if debugger.pydb_disposed:
                thread.do_kill_pydev_thread()
