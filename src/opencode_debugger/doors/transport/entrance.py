"""The entrance: accepts connections, turns away whoever is not to come in, and keeps room for who comes next."""

import asyncio
import contextlib
import logging
import resource
import socket
import ssl
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, Protocol, cast

from ...debuggers.process.loopback_peers import is_other_user
from ...errors import RelayError
from ...wording import counted
from .uvicorn_http import refusal_of

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
BETWEEN_WARNINGS = 60.0
"""Seconds in which one warning tells of all who were turned away for the same reason: they are not to fill the log."""
OTHER_USER = "This relay is for processes of the user who runs it, and you are another, or have hung up already"
FULL = "There are as many connections as the relay can have, and all of them are in use"


class Guest(Protocol):
    """A connection, as far as the entrance deals with it."""

    transport: asyncio.Transport

    @property
    def idle_since(self) -> float | None:
        """Since when nothing is done for it; None while something is."""


class Arrival(NamedTuple):
    """A connection whose handshake is not done."""

    since: float
    sender: object


@dataclass(eq=False)
class Entrance:
    listener: socket.socket
    guests: Iterable[Guest]
    make_guest: Callable[[], asyncio.Protocol]
    tls: ssl.SSLContext | None = None
    allow_other_users: bool = False

    def __post_init__(self) -> None:
        self._arriving: dict[asyncio.Task[None], Arrival] = {}
        self._leaving: set[asyncio.Protocol] = set()
        self._warned_at: dict[str, float] = {}
        self._untold: Counter[str] = Counter()
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._room = limit - limit // KEPT_FREE if limit != resource.RLIM_INFINITY else 1_000_000
        self._resting: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self.listener.setblocking(False)
        self._loop.add_reader(self.listener, self._accept_waiting)

    def close(self) -> None:
        """No more are accepted; those who are in stay."""
        self._loop.remove_reader(self.listener)
        if self._resting is not None:
            self._resting.cancel()
        for task in self._arriving:
            task.cancel()

    # Who comes.

    def _accept_waiting(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _ = self.listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                LOG.warning("a connection could not be accepted: %s", error.strerror)
                # Whoever waits stays ready to be accepted, and nothing else would be done: that rests for a moment.
                self._make_room()
                self._loop.remove_reader(self.listener)
                self._resting = self._loop.call_later(REST, self._loop.add_reader, self.listener, self._accept_waiting)
                return
            connection.setblocking(False)
            # The system gives out the lowest descriptor that is free: its number says how many are in use.
            is_full = connection.fileno() >= self._room
            self._look_at(connection, is_full)
            if is_full:
                return  # what was ended for it is closed before the next comes

    def _look_at(self, connection: socket.socket, is_full: bool) -> None:
        if not self.allow_other_users and is_other_user(connection):
            self._turn_away(connection, RelayError("OTHER_USER", OTHER_USER))
        elif is_full and not self._make_room():
            self._turn_away(connection, RelayError("TOO_MANY_CONNECTIONS", FULL))
        else:
            self._let_in(connection, self.make_guest())

    def _let_in(self, connection: socket.socket, guest: asyncio.Protocol) -> None:
        task = self._loop.create_task(self._arrive(connection, guest))
        self._arriving[task] = Arrival(self._loop.time(), sender_of(connection))
        task.add_done_callback(self._arriving.pop)

    async def _arrive(self, connection: socket.socket, guest: asyncio.Protocol) -> None:
        patience = HANDSHAKE if self.tls else None
        try:
            made = self._loop.connect_accepted_socket
            await made(lambda: guest, connection, ssl=self.tls, ssl_handshake_timeout=patience)
        except (OSError, asyncio.CancelledError) as error:
            LOG.debug("a connection did not come about: %r", error)
            connection.close()
            self._leaving.discard(guest)

    def _turn_away(self, connection: socket.socket, error: RelayError) -> None:
        self._warn_of(error)
        if len(self._leaving) < MOST_LEAVING:
            self._let_in(connection, TurnedAway(self._leaving, refusal_of(error)))
        else:
            connection.close()

    def _warn_of(self, error: RelayError) -> None:
        self._untold[error.code] += 1
        now = self._loop.time()
        if now - self._warned_at.get(error.code, -BETWEEN_WARNINGS) >= BETWEEN_WARNINGS:
            self._warned_at[error.code] = now
            turned_away = counted(self._untold.pop(error.code), "connection was", "connections were")
            LOG.warning("%s turned away: %s", turned_away, error.message)

    # Who has to go.

    def _make_room(self) -> bool:
        """Ends connections for which nothing is done: some of whoever has most of them, the oldest first."""
        found: dict[object, list[tuple[float, Callable[[], object]]]] = defaultdict(list)
        if self.tls:  # without it nobody is arriving for longer than a moment
            for task, arrival in self._arriving.items():
                if not task.cancelling():
                    found[arrival.sender].append((arrival.since, task.cancel))
        for guest in self.guests:
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


def sender_of(connection: socket.socket) -> object:
    """Return where a connection comes from: an address, or the network that one machine may have all of (IPv6)."""
    with contextlib.suppress(OSError):
        name = connection.getpeername()
        if isinstance(name, tuple):
            return name[0] if "." in name[0] else socket.inet_pton(socket.AF_INET6, name[0].partition("%")[0])[:8]
    return None
