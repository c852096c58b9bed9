"""Whose process is at the other end of a loopback connection."""

from __future__ import annotations

import contextlib
import os
import socket
import sys

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
TIME_WAIT = "06"


def is_other_user(connection: socket.socket) -> bool:
    """Where the system tells (Linux). Who is gone already, or cannot be found, counts as another."""
    if not os.path.exists(TABLES[0]):
        return False
    return peer_uid(connection) != os.geteuid()


def peer_uid(connection: socket.socket) -> int | None:
    """The owner of the socket at the other end."""
    there, here = address(connection.getpeername()), address(connection.getsockname())
    for table in TABLES:
        with contextlib.suppress(OSError), open(table) as rows:
            for row in rows:
                fields = row.split()
                if fields[1].endswith(there) and fields[2].endswith(here) and fields[3] != TIME_WAIT:
                    is_there = fields[9] != "0"  # one that its process has closed belongs to nobody
                    return int(fields[7]) if is_there else None
    return None


def address(name: tuple[str, int]) -> str:
    """As the kernel's table writes it; in the one of IPv6 more stands before it."""
    return f"{int.from_bytes(socket.inet_aton(name[0]), sys.byteorder):08X}:{name[1]:04X}"
