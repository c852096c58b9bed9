"""Starts the relay: checks first, says where it is, ends cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import uvicorn

from ..adapters.peers import way_to_tell
from ..adapters.processes import adopt_orphans
from ..app import create_app
from ..auth.access import Access
from ..auth.local import VARIABLE, ensure_local_token, token_file
from ..config import MIB, ConfigError, Settings, check_bind, is_loopback, load
from ..files import NotPrivate
from ..logs import configure
from ..persistence.tokens import TokenStore
from ..relay.lock import AlreadyRunning
from ..relay.service import Relay
from ..streams.entrance import Entrance, Guest
from ..streams.http import Http
from ..streams.wire import Reader, Wire, cut_slowest
from .failure import fail
from .listening import listening
from .tls import tls_context

FAREWELL = 0.5
TICKS_PER_SECOND = 10
MANY = 50
"""Connections whose end frees so much memory that it is worth giving back."""
LOG = logging.getLogger(__name__)
FIRST_SCREEN = """\
OpenCode Debug Relay {version}

  API       {url}/api/v1{extra}
  Docs      {url}/docs
  Data      {data_dir}
  Token     {token}
  Stop      Ctrl-C (ends all sessions and their programs)

"""


class Server(uvicorn.Server):
    """Being told to stop is no failure: uvicorn would raise the signal again when it is done."""

    def __init__(self, config: uvicorn.Config, relay: Relay, allow_other_users: bool = False) -> None:
        super().__init__(config)
        self._relay = relay
        self._allow_other_users = allow_other_users
        self._connections_before, self._most_connections = 0, 0
        """a second ago; since memory was given back"""
        relay.on_shutdown = self._stop

    def _stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """By our own entrance instead of uvicorn's, which lets everybody in."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)
        self.servers = []
        assert sockets is not None
        self._entrances = [self._entrance(listener) for listener in sockets]
        self.started = True

    def _entrance(self, listener: socket.socket) -> Entrance:
        def guest() -> Http:
            return Http(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

        guests = cast(set[Guest], self.server_state.connections)
        return Entrance(listener, guests, guest, self.config.ssl, self._allow_other_users)

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_SECOND == 0:
            connections = cast(set[Reader], self.server_state.connections)
            cut_slowest(connections, asyncio.get_running_loop().time())
            self._count(len(connections))
        return await super().on_tick(counter)

    def _count(self, connections: int) -> None:
        """Memory is given back when many have gone and no more are going: those would keep theirs."""
        has_many_fewer = self._most_connections >= MANY and connections < self._most_connections // 2
        if has_many_fewer and connections >= self._connections_before:
            give_memory_back()
            self._most_connections = 0
        self._connections_before = connections
        self._most_connections = max(self._most_connections, connections)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams end, which would go on for ever; then sessions, so that whoever waits for one is answered."""
        self.config.app.state.closing.set()  # type: ignore[union-attr]
        await self._relay.close()
        for entrance in self._entrances:
            entrance.close()
        hurry = asyncio.ensure_future(self._hang_up())
        await super().shutdown(sockets)
        hurry.cancel()

    async def _hang_up(self) -> None:
        """A client that is idle does not answer the farewell of TLS, and is not waited for."""
        await asyncio.sleep(FAREWELL)
        for connection in list(self.server_state.connections):
            if self.config.is_ssl and connection.transport.is_closing():
                connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def give_memory_back() -> None:
    """Connections go in circles that only the collector finds, and what is freed stays with the process (glibc)."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def serve(env_file: Path | None = None, **overrides: Any) -> int:
    """Runs until it is told to stop. The exit code says whether it ran at all."""
    os.environ.pop(VARIABLE, None)  # of clients: nothing that is started here is to have it
    try:
        settings, sources, notes = load(env_file, **overrides)
        check_bind(settings)
        tls = tls_context(settings)
        with listening(settings) as listener:
            configure(settings.log_level, settings.log_format)
            adopt_orphans()
            for note in notes:
                LOG.warning(note)
            relay = Relay(settings, sources)
            access = take_folder(settings, relay)
            return run(settings, relay, access, listener, tls)
    except (AlreadyRunning, ConfigError) as error:
        return fail(str(error))


def take_folder(settings: Settings, relay: Relay) -> Access:
    """The data folder is ours alone, of all users and of all relays, and has the local token."""
    tokens = TokenStore(settings.data_dir)
    try:
        tokens.check()
        relay.lock()
        ensure_local_token(tokens)
    except NotPrivate as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise ConfigError(
            f"cannot use the data folder {settings.data_dir}: {error.strerror} ({error.filename}). "
            f"Make it writable, or choose another --data-dir."
        ) from error
    return Access(tokens, settings.require_token)


def run(settings: Settings, relay: Relay, access: Access, listener: socket.socket, tls: ssl.SSLContext | None) -> int:
    greet(settings)
    server = Server(
        uvicorn.Config(
            create_app(relay, settings, access),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=75,
            proxy_headers=False,
            http=Http,
            ws=Wire,
            ws_max_size=16 * MIB,
            # Who is slow reads pings late; who does not read at all is noticed by the wire itself.
            ws_ping_timeout=None,
            ws_per_message_deflate=False,
            ssl_context_factory=None if tls is None else lambda *_: tls,
        ),
        relay,
        settings.allow_other_users,
    )
    server.run(sockets=[listener])
    return 0 if server.started else 1


def greet(settings: Settings) -> None:
    from .. import __version__

    shown = FIRST_SCREEN.format(
        version=__version__,
        url=url_of(settings),
        data_dir=settings.data_dir,
        token=f"{token_file(settings.data_dir)} ({'needed' if settings.require_token else 'for WebSockets'})",
        extra=f"\n  Socket    {settings.uds} (curl --unix-socket)" if settings.uds else "",
    )
    print(shown, file=sys.stderr, flush=True)
    warn(settings)


def url_of(settings: Settings) -> str:
    if settings.uds:
        return "http://localhost"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.certfile else 'http'}://{host}:{settings.port}"


def warn(settings: Settings) -> None:
    """Of what the system, or the way in which the relay was started, leaves open."""
    if settings.uds:
        return
    if not is_loopback(settings.host) and not settings.certfile:
        LOG.warning("tokens travel unencrypted: give --certfile and --keyfile, or trust every machine in between")
    if not settings.require_token and (settings.allow_other_users or way_to_tell() is None):
        why = "they were allowed" if settings.allow_other_users else "this system does not tell whose a connection is"
        LOG.warning("other users of this machine can run programs as you: %s. Safer: --uds, or --require-token", why)
