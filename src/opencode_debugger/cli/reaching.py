"""Where the relay is and with which token it is asked: what was given, else the one that runs here."""

from __future__ import annotations

import json
import os
import socket
import ssl
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ..adapters.peers import is_other_user
from ..auth.local import VARIABLE, NoToken, own_token

PREFIX = "OPENCODE_DEBUG_"
API = "/api/v1"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
WILDCARDS = ("0.0.0.0", "::", "")
UNIX = "unix:"
HERE = f"http://localhost{API}"
"""What a relay is called that listens on a unix socket."""


class Problem(Exception):
    """Why it cannot be done, and what to do, in one line."""


class Address(NamedTuple):
    url: str
    """of the API"""
    token: str
    is_here: bool
    cafile: str | None = None
    """certificates to trust besides those of the system"""
    uds: str | None = None
    """unix socket under which it is reached, instead of what the address says"""

    @property
    def trust(self) -> ssl.SSLContext | None:
        if not self.url.startswith("https:"):
            return None
        context = ssl.create_default_context()
        if self.cafile is not None:
            try:
                context.load_verify_locations(self.cafile)
            except OSError as error:  # what is wrong with its content is one, too
                raise Problem(f"the certificates in {self.cafile} cannot be read: {error}") from None
        return context

    @property
    def shown(self) -> str:
        return self.uds or self.url

    def connected(self) -> socket.socket | None:
        """A connection, where one is not made by the address."""
        if self.uds is None:
            return None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self.uds)
            if is_other_user(connection):  # who came after our relay had gone: he is not told the token
                raise Problem(f"{self.uds} is the socket of another user")
        except (OSError, Problem):
            connection.close()
            raise
        return connection

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def stream(self, path: str) -> str:
        """The same for a WebSocket."""
        return "ws" + self.url.removeprefix("http") + path


class Place(NamedTuple):
    """Where a relay is: the same as in Address."""

    url: str
    cafile: str | None = None
    uds: str | None = None


def find(server: str | None, token_file: Path | None, data_dir: Path | None, cafile: Path | None = None) -> Address:
    folder = data_dir or Path(os.environ.get(PREFIX + "DATA_DIR") or "~/.opencode-debugger")
    folder = folder.expanduser().absolute()
    url, own, uds = understood(server) if server else running(folder)
    host = urlsplit(url).hostname or ""
    is_here = host in LOOPBACK
    token = chosen_token(token_file, folder, is_here, host)
    if not is_here and url.startswith("http:"):
        print(f"opencode-debugger: the token goes to {host} unencrypted; use https:// if you can", file=sys.stderr)
    return Address(url, token, is_here, str(cafile.expanduser()) if cafile else own, uds)


def understood(server: str) -> Place:
    """With or without the path of the API."""
    if server.startswith(UNIX):
        return Place(HERE, uds=os.path.expanduser(server.removeprefix(UNIX)))
    parts = urlsplit(server if "://" in server else f"http://{server}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.rstrip("/") not in ("", API):
        raise Problem(f"--server {server} is not the address of a relay, such as https://build.example.org:5679")
    return Place(f"{parts.scheme}://{parts.netloc}{API}")


def running(folder: Path) -> Place:
    """The relay that holds the data folder says there where it is, and by which certificate it is known."""
    scheme, certfile = "http", None
    host, port = os.environ.get(PREFIX + "HOST") or "127.0.0.1", os.environ.get(PREFIX + "PORT") or "5679"
    try:
        about = json.loads((folder / "relay.lock").read_bytes())
        host, port = str(about["host"]), str(about["port"])
        scheme, certfile = about.get("scheme", scheme), about.get("certfile")
        if "uds" in about:
            return Place(HERE, uds=str(about["uds"]))
    except (OSError, ValueError, TypeError, KeyError):
        pass  # it has never run here: what the settings say is as good as anything
    if host in WILDCARDS:
        host = "127.0.0.1"
    return Place(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{API}", certfile)


def chosen_token(token_file: Path | None, folder: Path, is_here: bool, host: str) -> str:
    """The local one goes to no other machine."""
    if token_file is not None:
        try:
            token = token_file.expanduser().read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(f"--token-file {token_file} cannot be read: {error}") from None
        if not token:
            raise Problem(f"--token-file {token_file} is empty")
        return token
    if not is_here and not os.environ.get(VARIABLE):
        raise Problem(
            f"{host} needs a token of its own: make one there with `opencode-debugger token create`, "
            f"and give it with --token-file or {VARIABLE}"
        )
    try:
        return own_token(folder)
    except NoToken as error:
        raise Problem(str(error)) from None
