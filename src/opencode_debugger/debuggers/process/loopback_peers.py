"""Tells whose process is at the other end of a connection from this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

ROOT = 0
"""Root is let in: it can do as any user, with us or without."""

LOOPBACK = (b"\x7f", bytes(15) + b"\x01")
"""How addresses begin that are this machine's in any case, of IPv4 and of IPv6."""
MAPPED = bytes(10) + b"\xff\xff"
"""How an address of IPv4 begins where a socket of IPv6 has it."""


class Ends(NamedTuple):
    """A TCP connection as the other side has it: addresses as they are on the wire, and ports."""

    there: tuple[bytes, int]
    here: tuple[bytes, int]

    @property
    def is_local(self) -> bool:
        """Tell whether both must be on this machine. If not they may be all the same, by another of its addresses."""
        return any(ip.startswith(LOOPBACK) for ip, _ in self) or self.there[0] == self.here[0]


def is_other_user(connection: socket.socket) -> bool:
    """Tell, where the system does. Who is gone already, or must be here and cannot be found, counts as another."""
    if connection.family == socket.AF_UNIX:
        return peer_uid(connection) not in (os.geteuid(), ROOT)
    try:
        way = way_to_tell()
    except OSError:
        return True  # not now: there are no descriptors left
    if way is None:
        return False
    ends = ends_of(connection)
    user = way(ends) if ends is not None else None
    if user is None:
        return ends is None or ends.is_local
    return user not in (os.geteuid(), ROOT)


def peer_uid(connection: socket.socket) -> int:
    """Return the user who connected to a unix socket."""
    if hasattr(socket, "SO_PEERCRED"):
        return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
    local_peercred, size = 1, 76  # of macOS: the version, then the user
    return int(struct.unpack_from("2I", connection.getsockopt(0, local_peercred, size))[1])


def ends_of(connection: socket.socket) -> Ends | None:
    """Return its ends; None for a connection that is over."""
    try:
        return Ends(packed_address(connection.getpeername()), packed_address(connection.getsockname()))
    except OSError:
        return None


def packed_address(name: tuple[str, int]) -> tuple[bytes, int]:
    ip = name[0].partition("%")[0]
    packed = socket.inet_pton(socket.AF_INET6 if ":" in ip else socket.AF_INET, ip)
    return packed.removeprefix(MAPPED), name[1]


@cache
def way_to_tell() -> Callable[[Ends], int | None] | None:
    """Return how this system tells whose a connection is, tried on one of our own; None if it does not (macOS)."""
    if not hasattr(socket, "AF_NETLINK"):
        return None
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.connect(own.getsockname())  # to itself: nobody else can be at the other end
        ends = ends_of(own)
        return next((way for way in (ask_kernel, read_tables) if ends and way(ends) == os.geteuid()), None)


# The kernel is asked for the one socket, which takes the same few microseconds however many there are.

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST = 1
ANY_COOKIE = b"\xff" * 8
HEAD = struct.Struct("=IHHII")
QUESTION = struct.Struct("=BBBxI")
SOCKET_ID = struct.Struct("!HH16s16s")
ANSWER = struct.Struct("=BBBB48s5I")
"""inet_diag_msg: family, state, timer, retransmissions, id; expiry, queues, user, inode"""
LISTENING = 10


def ask_kernel(ends: Ends) -> int | None:
    (there, there_port), (here, here_port) = ends
    family = socket.AF_INET if len(there) == 4 else socket.AF_INET6
    question = QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF)
    question += SOCKET_ID.pack(there_port, here_port, there, here) + bytes(4) + ANY_COOKIE
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, NETLINK_SOCK_DIAG) as kernel:
            kernel.send(HEAD.pack(HEAD.size + len(question), SOCK_DIAG_BY_FAMILY, REQUEST, 1, 0) + question)
            answer = kernel.recv(4096)
    except (OSError, AttributeError):
        return None  # there is no such socket here
    if HEAD.unpack_from(answer)[1] != SOCK_DIAG_BY_FAMILY:
        return None
    _, state, _, _, _, _, _, _, user, inode = ANSWER.unpack_from(answer, HEAD.size)
    return socket_owner(user, inode) if state != LISTENING else None


def socket_owner(user: int, inode: int) -> int | None:
    """Return whose a socket is: nobody's if its process has closed it. Without an inode it seems to be root's."""
    return user if inode else None


# Where the kernel cannot be asked, its tables are read, which takes longer the more connections there are.

TIME_WAIT = "06"


def read_tables(ends: Ends) -> int | None:
    there, here = (table_spellings(*end) for end in ends)
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table) as rows:
            for row in rows:
                fields = row.split()
                if fields[1] in there and fields[2] in here and fields[3] != TIME_WAIT:
                    return socket_owner(int(fields[7]), int(fields[9]))
    return None


def table_spellings(ip: bytes, port: int) -> set[str]:
    """Spell it as the tables do: words of four bytes, as this machine has numbers. That of IPv6 may have IPv4 too."""
    both = (ip, MAPPED + ip) if len(ip) == 4 else (ip,)
    words = [struct.unpack(f"={len(packed) // 4}I", packed) for packed in both]
    return {"".join(f"{word:08X}" for word in each) + f":{port:04X}" for each in words}
