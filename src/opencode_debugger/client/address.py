"""Where a relay is, and connections to it."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl

API = "/api/v1"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
UNIX = "unix:"
HERE = f"http://localhost{API}"
"""What a relay is called that listens on a unix socket."""
PORTS = {"http": 80, "https": 443}
RENEWAL = "end it with `ocdb call shutdown keep_sessions=true`, and the next call starts one of this version"
CONNECTING = 10.0
ACCEPTING = 10.0
"""Seconds for the relay to accept a connection, before which the kernel does not say whose it is."""


class Problem(Exception):
    """Why it cannot be done, and what to do, in one line."""


class Address(NamedTuple):
    url: str
    """of the API"""
    cafile: str | None = None
    """certificates to trust besides those of the system"""
    uds: str | None = None
    """unix socket under which it is reached, instead of what the address says"""
    token: str = ""
    """empty if there is none"""
    version: str = ""
    """of the relay, if its data folder says it"""
    is_own: bool = False
    """it is that of our data folder: whoever listens there must be a process of ours"""
    has_local_token: bool = False
    """the token is that of a data folder of ours: no process but ours is told it"""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        parts = urlsplit(self.url)
        return parts.port or PORTS[parts.scheme]

    @property
    def netloc(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def is_here(self) -> bool:
        return self.host in LOOPBACK

    @property
    def tls_trust(self) -> ssl.SSLContext | None:
        if not self.url.startswith("https:"):
            return None
        import ssl  # here, because it takes long to load

        context = ssl.create_default_context()
        if self.cafile is not None:
            try:
                context.load_verify_locations(self.cafile)
            except OSError as error:  # what is wrong with its content is one, too
                raise Problem(f"the certificates in {self.cafile} cannot be read: {error}") from None
        return context

    @property
    def shown_url(self) -> str:
        return self.uds or self.url

    @property
    def token_headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def connect_socket(self) -> socket.socket | None:
        """A connection, where one is not made by the address."""
        return None if self.uds is None else self.open_socket()

    def open_socket(self) -> socket.socket:
        """Connect. Whoever came to listen there after our relay had gone is not told the token."""
        connection = self._connect()
        try:
            if (self.uds is not None or self.is_own or self.has_local_token) and _is_others(connection):
                raise Problem(f"{self.shown_url} is the socket of another user")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> socket.socket:
        if self.uds is None:
            # As text, the name would have the codec for international ones loaded.
            host: Any = self.host.encode() if self.host.isascii() else self.host
            connection = socket.create_connection((host, self.port), CONNECTING)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self.uds)
        except OSError:
            connection.close()
            raise
        return connection


def address_of(server: str) -> Address:
    """Read an address that was given, with or without the path of the API."""
    if server.startswith(UNIX):
        return Address(HERE, uds=os.path.expanduser(server.removeprefix(UNIX)))
    parts = urlsplit(server if "://" in server else f"http://{server}")
    if parts.scheme not in PORTS or not parts.hostname or parts.path.rstrip("/") not in ("", API):
        raise Problem(f"--server {server} is not the address of a relay, such as https://build.example.org:5679")
    return Address(f"{parts.scheme}://{parts.netloc}{API}")


def _is_others(connection: socket.socket) -> bool:
    """Tell whose the other end is. A port's is nobody's until the connection is accepted."""
    from ..debuggers.process import loopback_peers

    deadline = time.monotonic() + ACCEPTING
    while loopback_peers.is_other_user(connection):
        if connection.family == socket.AF_UNIX or time.monotonic() > deadline:
            return True
        connection.getpeername()  # fails if it is over
        time.sleep(0.002)
    return False


def unreachable_text(address: Address, error: Exception) -> str:
    """Say why no relay is reached there, and what to do."""
    causes = [type(cause).__name__ for cause in (error, getattr(error, "reason", None))]
    if "SSLCertVerificationError" in causes:
        return f"the certificate of {address.shown_url} is not trusted ({error}): give its own with --cafile"
    if any(name.startswith("SSL") for name in causes):
        return f"what answers at {address.shown_url} does not speak TLS ({error}): is it http?"
    start = "start one with `opencode-debugger serve`, or" if address.is_here else "check the address, or"
    return f"no relay answers at {address.shown_url} ({error}): {start} give another --server"
