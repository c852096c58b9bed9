"""Starts the relay: checks first, says where it is, ends cleanly."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn

from ..app import create_app
from ..config import ConfigError, Settings, check_bind, load_settings, sources_of
from ..logs import configure
from ..relay.lock import AlreadyRunning
from ..relay.service import Relay

FIRST_SCREEN = """\
OpenCode Debug Relay {version}

  API       http://{address}/api/v1
  Docs      http://{address}/docs
  Data      {data_dir}
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
        await super().shutdown(sockets)

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
    try:
        settings = load_settings(**overrides)
        check_bind(settings)
        listener = listen(settings)
    except ConfigError as error:
        return fail(str(error))
    try:
        return run(settings, listener, sources_of(settings, **overrides))
    except AlreadyRunning as error:
        return fail(str(error))
    finally:
        listener.close()


def fail(message: str) -> int:
    print(f"opencode-debugger: {message}", file=sys.stderr)
    return 1


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


def run(settings: Settings, listener: socket.socket, sources: dict[str, str]) -> int:
    from .. import __version__

    configure(settings.log_level)
    relay = Relay(settings, sources)
    relay.lock()
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    print(
        FIRST_SCREEN.format(version=__version__, address=f"{host}:{settings.port}", data_dir=settings.data_dir),
        file=sys.stderr,
        flush=True,
    )
    server = Server(
        uvicorn.Config(
            create_app(relay, settings),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=75,
            ws="none",
        ),
        relay,
    )
    server.run(sockets=[listener])
    return 0 if server.started else 1
