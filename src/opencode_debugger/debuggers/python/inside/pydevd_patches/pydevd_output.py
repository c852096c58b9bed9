"""Repairs what pydevd writes: its log and warnings stay off the program's stderr, and its hands off sys.stdout.

A message is one packet instead of header and body apart, which wakes the reader once.
"""

from __future__ import annotations

import contextlib
from typing import Any


def _keep_debug_stream(reinitialize: bool = False) -> None:
    """Do nothing: it stays off the program's stderr."""


def install() -> None:
    import pydevd_tracing
    from _pydev_bundle import pydev_log
    from _pydevd_bundle import pydevd_io
    from _pydevd_bundle.pydevd_constants import HTTP_JSON_PROTOCOL, get_protocol
    from _pydevd_bundle.pydevd_net_command import NetCommand

    # While it evaluates for us it would put itself in place of sys.stdout, and let go of that under other threads.
    pydevd_io.redirect_stream_to_pydb_io_messages_context = contextlib.nullcontext
    pydevd_tracing.TracingFunctionHolder._warn = False
    pydev_log._LoggingGlobals._debug_stream = pydev_log.NULL
    pydev_log._LoggingGlobals._debug_stream_initialized = True
    pydev_log.initialize_debug_stream = _keep_debug_stream
    original = NetCommand.send

    def send(self: Any, sock: Any) -> None:
        if self._after_send or get_protocol() != HTTP_JSON_PROTOCOL:
            original(self, sock)
        else:
            sock.sendall(framed_message(self._as_bytes))

    NetCommand.send = send


def framed_message(text: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
