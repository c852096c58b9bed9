"""The way from the program to its runner: a unix socket, where each shows the other a secret before anything else.

Also the first of our code in a program that is attached to: it imports nothing before it has a thread of its own.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = 30.0
"""Seconds for the runner to let us in."""
LONGEST_PATH = 100
"""Bytes of a path that every system takes for a socket."""


def reach(folder: str, name: str, token: str, greeting: str, user: int | None) -> Any:
    """A connection to the runner. Raises OSError if that is gone, or if somebody else is in its place."""
    import _socket
    import os

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    descriptor = None
    try:
        sock.settimeout(PATIENCE)
        path = os.path.join(folder, name) if folder else name
        if folder and len(os.fsencode(path)) > LONGEST_PATH and os.path.isdir("/proc/self/fd"):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            path = "/proc/self/fd/%d/%s" % (descriptor, name)
        _dial(sock, path)
        _check(sock, token, greeting, user)
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return sock


def _dial(sock: Any, path: str) -> None:
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


def _check(sock: Any, token: str, greeting: str, user: int | None) -> None:
    """Whether it is the runner who listens: as its user, and knowing what only we and it know."""
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
    """The next connection that pydevd makes is to the runner; those of the program's own debugpy are as ever."""
    start_client = pydevd.start_client

    def start_once(host: str, port: int) -> Any:
        pydevd.start_client = start_client
        return reach(**way)

    pydevd.start_client = start_once


def end_late_threads() -> None:
    """A debugger that is told to go ends the threads that it knows: those that have begun to run. Of the others, one
    would keep the program from ending."""
    import threading

    active: Any = threading._active  # type: ignore[attr-defined]  # `enumerate` hides them
    for thread in list(active.values()):
        debugger = getattr(thread, "py_db", None)
        if debugger is not None:
            debugger.created_pydb_daemon_threads[thread] = 1
            if debugger.pydb_disposed:
                thread.do_kill_pydev_thread()
