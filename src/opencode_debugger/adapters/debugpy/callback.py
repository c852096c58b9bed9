"""Where programs call their runner: a unix socket that nobody else reaches, and on which nobody else gets anywhere."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from ...dap.channel import Channel
from ...errors import RelayError
from ...files import socket_address, write_file
from ..peers import ROOT, peer_uid

INTRODUCTION = 10.0
"""Seconds for a caller to show a token."""
BACKLOG = 1000
"""A pool may start all its workers at once."""

Admit = Callable[[], asyncio.Protocol | None]


class CallBack:
    """Lets in the program's debugger; later those of its children, or whoever else it was told to expect.

    In a folder that is the user's alone; or, for a program that cannot see that, under a name that no file has."""

    def __init__(self, folder: str | None, new_channel: Callable[[], Channel]) -> None:
        secret = os.urandom(4).hex()
        self.folder = folder or ""
        self.name = f"call-{secret}" if folder else f"\0opencode-debugger-{secret}"
        self.greeting = _secret()
        self.user: int | None = os.geteuid()
        """whose the socket is, as the program sees it; None if that cannot be said"""
        self.users = {os.geteuid(), ROOT}
        """who may call at all"""
        self._new_channel = new_channel
        self._admits: dict[str, Admit] = {}
        self._token = self.expect(self._debugger_called)
        self._callers: set[Caller] = set()
        self._has_called = False
        """the program's own debugger"""
        self._first: Channel | None = None
        self._is_taken = False
        self._on_child: Callable[[Channel], None] | None = None

    def way(self, token: str | None = None) -> dict[str, Any]:
        """What a program has to know: see inside/reaching.py."""
        who = {"token": token or self._token, "greeting": self.greeting, "user": self.user}
        return {"folder": self.folder, "name": self.name, **who}

    @property
    def note_path(self) -> str:
        """Of a file for programs that are told nothing but where it is."""
        return os.path.join(self.folder, f"below-{self.name}.json")

    def leave_note(self, content: bytes) -> None:
        try:
            write_file(Path(self.note_path), content)
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"The session's folder cannot be used: {error.strerror}") from error

    def expect(self, admit: Admit) -> str:
        """The token by which somebody is let in, and talks to what is made for him then."""
        token = _secret()
        self._admits[token] = admit
        return token

    async def __aenter__(self) -> CallBack:
        loop = asyncio.get_running_loop()
        self.debugger: asyncio.Future[Channel] = loop.create_future()
        try:
            self._server = await loop.create_server(lambda: Caller(self), sock=self._bound(), backlog=BACKLOG)
        except OSError as error:
            raise RelayError("LAUNCH_FAILED", f"The session's folder cannot be used: {error.strerror}") from error
        return self

    def _bound(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if not self.folder:
                sock.bind(self.name)
                return sock
            with socket_address(self.folder, self.name) as address:
                sock.bind(address)
                os.chmod(address, 0o600)
        except OSError:
            sock.close()
            raise
        return sock

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None or self._on_child is None:
            self.close()

    def take(self) -> Channel:
        """The debugger that called first: from now on it is the taker's to close."""
        self._is_taken = True
        return self.debugger.result()

    def stay_open(self, on_child: Callable[[Channel], None]) -> None:
        """For every further debugger that knows the token."""
        self._on_child = on_child

    def expect_only_children(self, on_child: Callable[[Channel], None]) -> None:
        """The program itself has no debugger: whoever knows the token is a child of it."""
        self.stay_open(on_child)
        self._has_called = True

    def close(self) -> None:
        """Whoever comes now finds nobody; whoever has come and was not taken is sent away."""
        self._server.close()
        if self.folder:
            for path in (os.path.join(self.folder, self.name), self.note_path):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        for caller in list(self._callers):
            caller.send_away()
        if self._first is not None and not self._is_taken:
            self._first.close()

    def _debugger_called(self) -> Channel | None:
        if not self._has_called:
            self._has_called, self._first = True, self._new_channel()
            return self._told(self._first, self.debugger.set_result)
        return self._told(self._new_channel(), self._on_child) if self._on_child is not None else None

    def _told(self, channel: Channel, tell: Callable[[Channel], None]) -> Channel:
        channel.connected.add_done_callback(lambda connected: None if connected.cancelled() else tell(channel))
        return channel

    def admit(self, token: str) -> asyncio.Protocol | None:
        """What talks to whoever shows the token; nobody to strangers."""
        known = self._admits.get(token)
        return known() if known is not None else None

    def comes(self, caller: Caller) -> None:
        self._callers.add(caller)

    def goes(self, caller: Caller) -> None:
        self._callers.discard(caller)


def _secret() -> str:
    return os.urandom(16).hex()


TOKEN_LENGTH = len(_secret())


class Caller(asyncio.Protocol):
    """Somebody of whom nothing is known yet: he has a token's length and a moment to show that he is expected."""

    def __init__(self, callback: CallBack) -> None:
        self._callback = callback
        self._said = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._late = asyncio.get_running_loop().call_later(INTRODUCTION, self.send_away)
        self._callback.comes(self)
        if peer_uid(transport.get_extra_info("socket")) not in self._callback.users:
            self.send_away()

    def data_received(self, data: bytes) -> None:
        self._said += data
        if len(self._said) < TOKEN_LENGTH:
            return
        talker = self._callback.admit(self._said.decode("latin-1"))
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
        self._callback.goes(self)
