"""Starts the relay: checks first, says where it is, ends cleanly."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette

from ...app import create_app
from ...auth.access import Access
from ...auth.local import ensure_local_token
from ...config import MIB, ConfigError, Settings, check_bind, is_loopback, load
from ...debuggers.process.loopback_peers import way_to_tell
from ...debuggers.process.program_process import adopt_orphans
from ...doors.transport.entrance import Entrance, Guest
from ...doors.transport.uvicorn_http import Http
from ...doors.transport.uvicorn_websocket import BoundedWebSocket, Reader, cut_slowest
from ...files import NotPrivate
from ...logs import configure_logs
from ...persistence.local_token import VARIABLE, token_file
from ...persistence.token_store import TokenStore
from ...relay.folder_lock import AlreadyRunning
from ...relay.service import Relay
from .failure import fail
from .listening import bind_address

FAREWELL = 0.5
TICKS_PER_SECOND = 10
MANY = 50
"""Connections whose end frees so much memory that it is worth giving back."""
LOG = logging.getLogger(__name__)
FIRST_SCREEN = """\
OpenCode Debug Relay {version}

  {page}API       {url}/api/v1{extra}
  Docs      {url}/docs
  Data      {data_dir}
  Token     {token}
  Stop      Ctrl-C (ends all sessions and their programs)

"""


@dataclass
class IdleTime:
    """How long the relay goes on with nothing to do; for ever if that is no time at all."""

    minutes: float
    _since: float | None = None
    _requests: int = 0

    def is_over(self, is_used: bool, requests: int, now: float) -> bool:
        """Tell whether it was not used for so long; `requests` is how many were answered so far."""
        if is_used or self._since is None or requests != self._requests:
            self._since, self._requests = now, requests
        is_over = self.minutes > 0 and now - self._since >= self.minutes * 60
        if is_over:
            LOG.info("ending: there was no session and no request for %g minutes", self.minutes)
        return is_over


class RelayServer(uvicorn.Server):
    """Being told to stop is no failure: uvicorn would raise the signal again when it is done."""

    def __init__(
        self, config: uvicorn.Config, relay: Relay, idle_time: IdleTime, allow_other_users: bool = False
    ) -> None:
        super().__init__(config)
        self._relay = relay
        self._idle_time = idle_time
        self._allow_other_users = allow_other_users
        self._connections_before, self._most_connections = 0, 0
        """a second ago; since memory was given back"""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Let clients in by our own entrance: uvicorn's lets everybody in."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)
        self.servers = []
        assert sockets is not None
        guests, allowed = cast(set[Guest], self.server_state.connections), self._allow_other_users
        self._entrances = [Entrance(each, guests, self._make_guest, self.config.ssl, allowed) for each in sockets]
        self.started = True

    def _make_guest(self) -> Http:
        # Many may come and go between two looks.
        self._most_connections = max(self._most_connections, len(self.server_state.connections) + 1)
        return Http(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def on_tick(self, counter: int) -> bool:
        self.should_exit |= self._relay.is_to_end
        if counter % TICKS_PER_SECOND == 0:
            connections = cast(set[Reader], self.server_state.connections)
            cut_slowest(connections, asyncio.get_running_loop().time())
            self._count_guests(len(connections))
            self.should_exit |= self._has_idled()
        return await super().on_tick(counter)

    def _has_idled(self) -> bool:
        """Tell whether nobody has needed the relay for as long as it was told to wait."""
        guests = cast(set[Guest], self.server_state.connections)
        is_used = self._relay.has_sessions or any(guest.idle_since is None for guest in guests)
        return self._idle_time.is_over(is_used, self.server_state.total_requests, asyncio.get_running_loop().time())

    def _count_guests(self, connections: int) -> None:
        """Give memory back when many have gone and no more are going: those would keep theirs."""
        has_many_fewer = self._most_connections >= MANY and connections < self._most_connections // 2
        if has_many_fewer and connections >= self._connections_before:
            # Connections go in circles that only the collector finds, and what is freed stays with the process (glibc).
            gc.collect()
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).malloc_trim(0)
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


def run_relay(env_file: Path | None = None, **overrides: Any) -> int:
    """Runs until it is told to stop. The exit code says whether it ran at all."""
    os.environ.pop(VARIABLE, None)  # of clients: nothing that is started here is to have it
    try:
        settings, sources, notes = load(env_file, **overrides)
        check_bind(settings)
        tls = tls_context(settings)
        with bind_address(settings) as (listener, settings):
            configure_logs(settings.log_level, settings.log_format)
            adopt_orphans()
            for note in notes:
                LOG.warning(note)
            relay = Relay(settings, sources)
            access, local_token = take_folder(settings, relay)
            print_greeting(settings, access.sign_ins.make_code(local_token)[0] if settings.require_token else "")
            config = server_config(create_app(relay, settings, access), tls)
            server = RelayServer(config, relay, IdleTime(settings.idle_exit_minutes), settings.allow_other_users)
            server.run(sockets=[listener])
            return 0 if server.started else 1
    except (AlreadyRunning, ConfigError) as error:
        return fail(str(error))


def take_folder(settings: Settings, relay: Relay) -> tuple[Access, str]:
    """The data folder is ours alone, of all users and of all relays, and has the local token, whose hash is returned
    too."""
    tokens = TokenStore(settings.data_dir)
    try:
        tokens.check()
        relay.lock()
        local_token = ensure_local_token(tokens)
    except NotPrivate as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        message = f"cannot use the data folder {settings.data_dir}: {error.strerror} ({error.filename})."
        raise ConfigError(f"{message} Make it writable, or choose another --data-dir.") from error
    return Access(tokens, settings.require_token), local_token


def server_config(app: Starlette, tls: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, proxy_headers=False, http=Http,
        timeout_graceful_shutdown=5, timeout_keep_alive=75, ws=BoundedWebSocket, ws_max_size=16 * MIB,
        # Who is slow reads pings late; who does not read at all is noticed by the wire itself.
        ws_ping_timeout=None, ws_per_message_deflate=False,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )


def print_greeting(settings: Settings, code: str) -> None:
    """Say where it is; a code in the address of the page signs a browser in, once."""
    from ... import __version__

    url = "http://localhost" if settings.uds else settings.page_address
    shown = FIRST_SCREEN.format(
        version=__version__, url=url, data_dir=settings.data_dir,
        page="" if settings.uds else f"Page      {url}/{f'?code={code}' if code else ''}\n  ",
        token=f"{token_file(settings.data_dir)} ({'needed' if settings.require_token else 'for WebSockets'})",
        extra=f"\n  Socket    {settings.uds} (curl --unix-socket)" if settings.uds else "",
    )
    print(shown, file=sys.stderr, flush=True)
    print_warnings(settings)


def print_warnings(settings: Settings) -> None:
    """Warn of what the system, or the way in which the relay was started, leaves open."""
    if settings.uds:
        return
    if not is_loopback(settings.host) and not settings.certfile:
        LOG.warning("tokens travel unencrypted: give --certfile and --keyfile, or trust every machine in between")
    if not settings.require_token and (settings.allow_other_users or way_to_tell() is None):
        why = "they were allowed" if settings.allow_other_users else "this system does not tell whose a connection is"
        LOG.warning("other users of this machine can run programs as you: %s. Safer: --uds, or --require-token", why)


# The certificate for HTTPS, checked before anything starts.


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the server's TLS context, or None if it is not asked to speak TLS."""
    if not settings.certfile:
        if settings.keyfile:
            raise ConfigError("--keyfile is of no use without --certfile: give the certificate as well")
        return None
    if settings.uds:
        raise ConfigError("a unix socket is for this machine alone, and needs no --certfile: leave one of them out")
    for option, path in (("certfile", settings.certfile), ("keyfile", settings.keyfile)):
        try:
            if path:
                open(path, "rb").close()
        except OSError as error:
            raise ConfigError(f"--{option} {path}: {error.strerror}. Give a PEM file that you may read") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.certfile, settings.keyfile or None, password=no_password)
    except (PasswordNeeded, ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(explained_error(settings, error)) from error
    return context


class PasswordNeeded(Exception):
    """A password would be asked for on the terminal, where nobody may be."""


def no_password() -> bytes:
    raise PasswordNeeded


def explained_error(settings: Settings, error: Exception) -> str:
    key = settings.keyfile or settings.certfile
    reason = getattr(error, "reason", None)
    if reason == "KEY_VALUES_MISMATCH":
        return f"--keyfile {key} is not the key of the certificate {settings.certfile}: give the one that is"
    if isinstance(error, PasswordNeeded):
        return f"--keyfile {key} has a password: give one without, such as: openssl pkey -in {key} -out key.pem"
    if reason in ("EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"):
        return f"--certfile {settings.certfile} is too weak ({reason.lower().replace('_', ' ')}): make a new one"
    if not settings.keyfile:
        return f"--certfile {settings.certfile} has no usable certificate and key: give --keyfile, or PEM files"
    return f"--certfile {settings.certfile} and --keyfile {key} are not a certificate and its key in PEM format"
