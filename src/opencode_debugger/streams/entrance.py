"""The entrance: accepts connections, turns away whoever is not to come in, and keeps room for who comes next."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple, Protocol, cast

from ..adapters.peers import is_other_user
from ..errors import RelayError
from .http import refusal_of

LOG = logging.getLogger(__name__)

AT_ONCE = 16
"""Connections that are accepted before others get their turn."""
KEPT_FREE = 4
"""One in so many descriptors is kept for what is not a connection: each session needs some."""
HANDSHAKE = 10.0
"""Seconds for the handshake of TLS."""
REST = 1.0
"""Seconds without accepting after the system could not give a descriptor."""
FAREWELL = 1.0
"""Seconds for whoever is turned away to read why."""
MOST_LEAVING = 16
"""Those who are told why at the same time; more are turned away without a word."""
OTHER_USER = "This relay is for processes of the user who runs it, and you are another, or have hung up already"
FULL = "There are as many connections as the relay can have, and all of them are in use"


class Guest(Protocol):
    """What connections are to the entrance."""

    transport: asyncio.Transport

    @property
    def idle_since(self) -> float | None:
        """Since when nothing is done for it; None while something is."""


class Arrival(NamedTuple):
    """A connection whose handshake is not done."""

    since: float
    sender: object


class Entrance:
    def __init__(
        self,
        listener: socket.socket,
        guests: Iterable[Guest],
        make_guest: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None = None,
        allow_other_users: bool = False,
    ) -> None:
        self._listener = listener
        self._guests = guests
        self._make_guest = make_guest
        self._tls = tls
        self._allow_other_users = allow_other_users
        self._arriving: dict[asyncio.Task[None], Arrival] = {}
        self._leaving: set[asyncio.Protocol] = set()
        self._room = room_for_connections()
        self._resting: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        """No more are accepted; those who are in stay."""
        self._loop.remove_reader(self._listener)
        if self._resting is not None:
            self._resting.cancel()
        for task in self._arriving:
            task.cancel()

    # Who comes.

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                LOG.warning("a connection could not be accepted: %s", error.strerror)
                self._rest()
                return
            connection.setblocking(False)
            # The system gives out the lowest descriptor that is free: its number says how many are in use.
            is_full = connection.fileno() >= self._room
            self._look_at(connection, is_full)
            if is_full:
                return  # what was ended for it is closed before the next comes

    def _rest(self) -> None:
        """Whoever waits stays ready to be accepted: without a pause nothing else would be done."""
        self._make_room()
        self._loop.remove_reader(self._listener)
        self._resting = self._loop.call_later(REST, self._loop.add_reader, self._listener, self._accept)

    def _look_at(self, connection: socket.socket, is_full: bool) -> None:
        if not self._allow_other_users and is_other_user(connection):
            self._turn_away(connection, RelayError("OTHER_USER", OTHER_USER))
        elif is_full and not self._make_room():
            self._turn_away(connection, RelayError("TOO_MANY_CONNECTIONS", FULL))
        else:
            self._let_in(connection, self._make_guest())

    def _let_in(self, connection: socket.socket, guest: asyncio.Protocol) -> None:
        task = self._loop.create_task(self._arrive(connection, guest))
        self._arriving[task] = Arrival(self._loop.time(), sender_of(connection))
        task.add_done_callback(self._arriving.pop)

    async def _arrive(self, connection: socket.socket, guest: asyncio.Protocol) -> None:
        patience = HANDSHAKE if self._tls else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: guest, connection, ssl=self._tls, ssl_handshake_timeout=patience
            )
        except (OSError, asyncio.CancelledError) as error:
            LOG.debug("a connection did not come about: %r", error)
            connection.close()
            self._leaving.discard(guest)

    def _turn_away(self, connection: socket.socket, error: RelayError) -> None:
        if len(self._leaving) < MOST_LEAVING:
            LOG.warning("a connection was turned away: %s", error.message)
            self._let_in(connection, TurnedAway(self._leaving, refusal_of(error)))
        else:
            connection.close()

    # Who has to go.

    def _make_room(self) -> bool:
        """Ends connections for which nothing is done: some of whoever has most of them, the oldest first."""
        found: dict[object, list[tuple[float, Callable[[], object]]]] = defaultdict(list)
        if self._tls:  # without it nobody is arriving for longer than a moment
            for task, arrival in self._arriving.items():
                if not task.cancelling():
                    found[arrival.sender].append((arrival.since, task.cancel))
        for guest in self._guests:
            if (idle_since := guest.idle_since) is not None and not guest.transport.is_closing():
                sender = sender_of(guest.transport.get_extra_info("socket"))
                found[sender].append((idle_since, guest.transport.abort))
        if not found:
            return False
        most = max(found.values(), key=lambda several: len(several))
        most.sort(key=itemgetter(0))
        for _, end in most[: len(most) // 8 + 1]:
            end()
        return True


class TurnedAway(asyncio.Protocol):
    """Somebody who is told why. What they send is taken, or they might never read it."""

    def __init__(self, leaving: set[asyncio.Protocol], answer: bytes) -> None:
        self._leaving = leaving
        self._answer = answer
        leaving.add(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)
        transport.write(self._answer)
        if transport.can_write_eof():
            transport.write_eof()
        self._end = asyncio.get_running_loop().call_later(FAREWELL, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.cancel()
        self._leaving.discard(self)


def room_for_connections() -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit - limit // KEPT_FREE if limit != resource.RLIM_INFINITY else 1_000_000


def sender_of(connection: socket.socket) -> object:
    """Where a connection comes from: an address, or the network that one machine may have all of (IPv6)."""
    with contextlib.suppress(OSError):
        name = connection.getpeername()
        if isinstance(name, tuple):
            return name[0] if "." in name[0] else socket.inet_pton(socket.AF_INET6, name[0].partition("%")[0])[:8]
    return None
