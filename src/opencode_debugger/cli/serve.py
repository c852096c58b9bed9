"""Starts the relay: checks first, says where it is, ends cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn

from ..app import create_app
from ..auth.access import Access
from ..auth.local import VARIABLE, ensure_local_token, token_file
from ..config import MIB, ConfigError, Settings, check_bind, is_loopback, load_settings, sources_of
from ..files import NotPrivate
from ..logs import configure
from ..persistence.tokens import TokenStore
from ..relay.lock import AlreadyRunning
from ..relay.service import Relay
from ..streams.http import Http
from ..streams.wire import Wire
from .failure import fail
from .tls import tls_context

FAREWELL = 0.5
LOG = logging.getLogger(__name__)
FIRST_SCREEN = """\
OpenCode Debug Relay {version}

  API       {url}/api/v1
  Docs      {url}/docs
  Data      {data_dir}
  Token     {token}
  Stop      Ctrl-C (ends all sessions and their programs)

"""


class Server(uvicorn.Server):
    """Being told to stop is no failure: uvicorn would raise the signal again when it is done."""

    def __init__(self, config: uvicorn.Config, relay: Relay) -> None:
        super().__init__(config)
        self._relay = relay
        relay.on_shutdown = self._stop

    def _stop(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams end, which would go on for ever; then sessions, so that whoever waits for one is answered."""
        self.config.app.state.closing.set()  # type: ignore[union-attr]
        await self._relay.close()
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


def serve(**overrides: Any) -> int:
    """Runs until it is told to stop. The exit code says whether it ran at all."""
    os.environ.pop(VARIABLE, None)  # of clients: nothing that is started here is to have it
    try:
        settings = load_settings(**overrides)
        check_bind(settings)
        tls = tls_context(settings)
        listener = listen(settings)
    except ConfigError as error:
        return fail(str(error))
    try:
        configure(settings.log_level)
        relay = Relay(settings, sources_of(settings, **overrides))
        access = take_folder(settings, relay)
        return run(settings, relay, access, listener, tls)
    except (AlreadyRunning, ConfigError) as error:
        return fail(str(error))
    finally:
        listener.close()


def listen(settings: Settings) -> socket.socket:
    """Bound before anything else is started, so that a taken port costs nothing."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}. "
            f"If a relay is running there already, use it; otherwise choose another --port."
        ) from error
    return listener


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
    )
    server.run(sockets=[listener])
    return 0 if server.started else 1


def greet(settings: Settings) -> None:
    from .. import __version__

    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    shown = FIRST_SCREEN.format(
        version=__version__,
        url=f"{'https' if settings.certfile else 'http'}://{host}:{settings.port}",
        data_dir=settings.data_dir,
        token=f"{token_file(settings.data_dir)} ({'needed' if settings.require_token else 'for WebSockets'})",
    )
    print(shown, file=sys.stderr, flush=True)
    if not is_loopback(settings.host) and not settings.certfile:
        LOG.warning("tokens travel unencrypted: give --certfile and --keyfile, or trust every machine in between")
