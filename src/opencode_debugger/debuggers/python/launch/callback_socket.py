"""The unix socket on which programs call their runner: nobody else reaches it, or gets anywhere on it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from typing import TypedDict, cast

from ....dap.channel import Channel
from ....errors import RelayError
from ....files import socket_address
from ...process.loopback_peers import ROOT, peer_uid

INTRODUCTION = 10.0
"""Seconds for a caller to show a token."""
BACKLOG = 1000
"""A pool may start all its workers at once."""

Admit = Callable[[], asyncio.Protocol | None]


class Way(TypedDict):
    """All that a program has to know to reach its runner: see inside/rpc/runner_connection.py."""

    folder: str
    name: str
    token: str
    greeting: str
    user: int | None


class CallBack:
    """Lets in the program's debugger; later those of its children, or whoever else it was told to expect.

    In a folder that is the user's alone; or, for a program that cannot see that, under a name that no file has."""

    def __init__(self, folder: str | None, new_channel: Callable[[], Channel]) -> None:
        secret = os.urandom(4).hex()
        self.folder = folder or ""
        self.name = f"call-{secret}" if folder else f"\0opencode-debugger-{secret}"
        self.greeting = _new_secret()
        self.user: int | None = os.geteuid()
        """whose the socket is, as the program sees it; None if that cannot be said"""
        self.users = {os.geteuid(), ROOT}
        """who may call at all"""
        self._new_channel = new_channel
        self.admits: dict[str, Admit] = {}
        """by token, what makes the one who talks to whoever shows it"""
        self._token = self.expect(self._debugger_called)
        self.callers: set[Caller] = set()
        """who has not shown a token yet"""
        self._has_called = False
        """the program's own debugger"""
        self._first: Channel | None = None
        self._is_taken = False
        self._new_child: Callable[[], Channel] | None = None

    def way(self, token: str | None = None) -> Way:
        own = token or self._token
        return {"folder": self.folder, "name": self.name, "token": own, "greeting": self.greeting, "user": self.user}

    @property
    def note_path(self) -> str:
        """Return the path of a file for programs that are told nothing but that path."""
        return os.path.join(self.folder, f"below-{self.name}.json")

    def expect(self, admit: Admit) -> str:
        """Return the token by which somebody is let in, and talks to what is made for him then."""
        token = _new_secret()
        self.admits[token] = admit
        return token

    async def __aenter__(self) -> CallBack:
        loop = asyncio.get_running_loop()
        self.debugger: asyncio.Future[Channel] = loop.create_future()
        try:
            self._server = await loop.create_server(lambda: Caller(self), sock=self._bound_socket(), backlog=BACKLOG)
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"The session's folder cannot be used: {error.strerror}") from error
        return self

    def _bound_socket(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if self.folder:
                with socket_address(self.folder, self.name) as address:
                    sock.bind(address)
                    os.chmod(address, 0o600)
            else:
                sock.bind(self.name)
        except OSError:
            sock.close()
            raise
        return sock

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None or self._new_child is None:
            self.close()

    def take(self) -> Channel:
        """Return the debugger that called first: from now on it is the taker's to close."""
        self._is_taken = True
        return self.debugger.result()

    def stay_open(self, new_child: Callable[[], Channel], only_children: bool = False) -> None:
        """Let in every further debugger that knows the token: it talks to the channel that is made for it then.

        With `only_children` that is the first one too: the program itself has no debugger."""
        self._new_child = new_child
        self._has_called = self._has_called or only_children

    def close(self) -> None:
        """Let in nobody any more, and send away whoever has come and was not taken."""
        self._server.close()
        if self.folder:
            for path in (os.path.join(self.folder, self.name), self.note_path):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        for caller in list(self.callers):
            caller.send_away()
        if self._first is not None and not self._is_taken:
            self._first.close()

    def _debugger_called(self) -> Channel | None:
        if not self._has_called:
            self._has_called, self._first = True, self._new_channel()
            return tell_when_connected(self._first, self.debugger.set_result)
        return self._new_child() if self._new_child is not None else None


def tell_when_connected(channel: Channel, tell: Callable[[Channel], None]) -> Channel:
    channel.connected.add_done_callback(lambda connected: None if connected.cancelled() else tell(channel))
    return channel


def _new_secret() -> str:
    return os.urandom(16).hex()


TOKEN_LENGTH = len(_new_secret())


class Caller(asyncio.Protocol):
    """Somebody of whom nothing is known yet: he has a token's length and a moment to show that he is expected."""

    def __init__(self, callback: CallBack) -> None:
        self._callback = callback
        self._said = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._late = asyncio.get_running_loop().call_later(INTRODUCTION, self.send_away)
        self._callback.callers.add(self)
        if peer_uid(transport.get_extra_info("socket")) not in self._callback.users:
            self.send_away()

    def data_received(self, data: bytes) -> None:
        self._said += data
        if len(self._said) < TOKEN_LENGTH:
            return
        admit = self._callback.admits.get(self._said.decode("latin-1"))
        talker = admit() if admit is not None else None  # nobody talks to strangers
        if talker is None:
            self.send_away()
            return
        self._gone()
        self._transport.write(self._callback.greeting.encode())
        self._transport.set_protocol(talker)
        talker.connection_made(self._transport)

    def send_away(self) -> None:
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone()

    def _gone(self) -> None:
        self._late.cancel()
        self._callback.callers.discard(self)
