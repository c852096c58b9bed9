"""Mends how pydevd sends: one packet a message instead of header and body apart, which wakes the reader once."""

from __future__ import annotations

from typing import Any


def install() -> None:
    from _pydevd_bundle.pydevd_constants import HTTP_JSON_PROTOCOL, get_protocol
    from _pydevd_bundle.pydevd_net_command import NetCommand

    original = NetCommand.send

    def send(self: Any, sock: Any) -> None:
        if self._after_send or get_protocol() != HTTP_JSON_PROTOCOL:
            original(self, sock)
        else:
            sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(self._as_bytes), self._as_bytes))

    NetCommand.send = send
