"""Finds the port on which the debugpy of a process listens, without connecting: its first caller would be its client.

`debugpy --listen` leaves listening to an adapter process of its own, which has two ports: one for clients, one to which
the debugged process is connected.
"""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

from .attach_target import command

_LISTEN, _ESTABLISHED = "0A", "01"


class Socket(NamedTuple):
    state: str
    local: int
    remote: int


class Sockets:
    """The TCP sockets of this machine as they are now."""

    def __init__(self) -> None:
        self._by_inode: dict[str, Socket] = {}
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with contextlib.suppress(OSError), open(table) as file:
                next(file)
                for line in file:
                    words = line.split()
                    local, remote = (int(words[index].rpartition(":")[2], 16) for index in (1, 2))
                    self._by_inode[words[9]] = Socket(words[3], local, remote)

    def has_listener(self, port: int) -> bool:
        return any(socket.state == _LISTEN and socket.local == port for socket in self._by_inode.values())

    def of_process(self, pid: int) -> list[Socket]:
        found = []
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{fd}")
                    if target.startswith("socket:["):
                        socket = self._by_inode.get(target[8:-1])
                        found += [socket] if socket else []
        return found


class Listening:
    """The processes that have a debugpy which listens."""

    def __init__(self) -> None:
        self._sockets = Sockets()
        pids: list[int] = []
        self._clients_port: dict[int, int] = {}
        """by the port to which a debugged process is connected"""
        with contextlib.suppress(OSError):
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        for pid in pids:
            argv = command(pid)
            if not is_adapter(argv):
                continue
            ports = {socket.local for socket in self._sockets.of_process(pid) if socket.state == _LISTEN}
            given = int(argv[argv.index("--port") + 1]) if "--port" in argv[:-1] else 0
            for port in ports - {given}:
                others = {given} & ports or ports - {port}
                if len(others) == 1:
                    self._clients_port[port] = others.pop()

    def port_of(self, pid: int) -> int | None:
        if not self._clients_port:
            return None
        connected = (socket.remote for socket in self._sockets.of_process(pid) if socket.state == _ESTABLISHED)
        return next((self._clients_port[port] for port in connected if port in self._clients_port), None)


def is_adapter(argv: list[str]) -> bool:
    return "--for-server" in argv and any(word.endswith(("debugpy/adapter", "debugpy.adapter")) for word in argv)


def debugpy_port(pid: int) -> int | None:
    return Listening().port_of(pid)
