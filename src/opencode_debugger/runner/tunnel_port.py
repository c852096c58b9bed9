"""The tunnel of a session: a loopback port through which a client reaches its debugger, if it knows the token."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

from ..answers.sessions import TunnelInfo
from ..answers.shape import UNSET
from ..debuggers.process.loopback_peers import is_other_user
from ..debuggers.process.program_process import TUNNEL_TOKEN, TUNNEL_URI
from ..debuggers.run_permission import may_run
from ..operations.advice import advice
from ..session.session import Session

if TYPE_CHECKING:
    from ..doors.editor.editor_breakpoints import SharedBreakpoints

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
SCHEME = b"Bearer "
FIRST_LINE = 256
"""Bytes that the line with the token may have."""
PATIENCE = 3.0
"""Seconds to send it."""
CALLERS = 32
"""Connections at once that have shown the token."""
UNKNOWN = 32
"""Connections at once that have not, of the same user: the oldest goes when one more comes."""
STRANGERS = 4
"""Connections of other users that are told why they are turned away, at the same time."""
FAREWELL = 1.0
"""Seconds for clients to hear that the program has ended, and to leave."""


NO_TOKEN = (
    'the first line must be "Bearer TOKEN", with debugger.token of {info}; `opencode-debugger tunnel SESSION` sends it '
    "for you"
)


class Refused(Exception):
    """Why somebody is not let in, in one line."""


class TunnelPort:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._server: asyncio.Server | None = None
        self._uri = self._token = ""
        self._callers: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._inside: set[asyncio.Task[Any]] = set()
        self._unknown: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._strangers = 0
        self._shared: SharedBreakpoints | None = None

    async def open(self) -> dict[str, str]:
        if self._server is None:
            self._token = os.urandom(32).hex()
            self._server = await asyncio.start_server(self._called, HOST, 0, backlog=CALLERS)
            self._uri = f"tcp://{HOST}:{self._server.sockets[0].getsockname()[1]}"
        return {TUNNEL_URI: self._uri, TUNNEL_TOKEN: self._token}

    def info(self, with_token: bool) -> TunnelInfo:
        protocol = getattr(self._session.switch.current, "protocol", "dap")
        if self._server is None:
            return TunnelInfo(uri=None, state="closed", protocol=protocol)
        state, token = "connected" if self._inside else "listening", self._token if with_token else UNSET
        return TunnelInfo(uri=self._uri, state=state, protocol=protocol, token=token)

    def close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        self._server, self._token, self._shared = None, "", None
        asyncio.get_running_loop().call_later(FAREWELL, self._cut_off, list(self._callers))

    async def closed(self) -> None:
        self.close()
        callers = list(self._callers)
        if callers:
            await asyncio.wait(callers, timeout=FAREWELL)
            self._cut_off(callers)

    def _cut_off(self, callers: list[asyncio.Task[Any]]) -> None:
        for caller in callers:
            if caller in self._callers:
                self._callers[caller].transport.abort()
                caller.cancel()

    # Who comes.

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = asyncio.current_task()
        assert caller is not None
        self._callers[caller] = writer
        try:
            is_allowed = self._session.config.limits.allow_other_users
            if not is_allowed and is_other_user(writer.get_extra_info("socket")):
                await self._send_off(reader, writer)
                return
            await self._let_in(caller, reader, writer)
            may_run.set(True)  # the tunnel's token is told only to those who may
            self._inside.add(caller)
            await self._serve_client(reader, writer)
        except Refused as reason:
            logger.info("not let into the tunnel: %s", reason)
            await _turn_away(reader, writer, reason)
        except OSError as error:
            logger.debug("a client of the tunnel is gone: %s", error)
        except asyncio.CancelledError:
            if self._server is not None:
                raise  # else it was shown the door, and that is all
        except Exception:
            logger.exception("a client of the tunnel could not be served")
        finally:
            del self._callers[caller]
            self._inside.discard(caller)
            await _hang_up(writer)

    async def _send_off(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Costs us next to nothing, however many come."""
        if self._strangers >= STRANGERS:
            writer.transport.abort()
            return
        self._strangers += 1
        try:
            await _turn_away(reader, writer, Refused("this tunnel is for processes of the user who runs the session"))
        finally:
            self._strangers -= 1

    async def _let_in(
        self, caller: asyncio.Task[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._unknown) >= UNKNOWN:
            self._unknown.pop(next(iter(self._unknown))).transport.abort()
        self._unknown[caller] = writer
        try:
            line = await _first_line(reader)
        finally:
            self._unknown.pop(caller, None)
        import hmac  # here, because it brings OpenSSL, which most runners never need

        token = line.removeprefix(SCHEME).strip()
        known = self._token.encode()
        if not (known and line.startswith(SCHEME) and hmac.compare_digest(token, known)):
            raise Refused(advice(NO_TOKEN))
        if len(self._inside) >= CALLERS:
            raise Refused(f"there are {CALLERS} connections to this tunnel already: close one of them")

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._session.debuggee.touch()
        pass_on = getattr(self._session.switch.current, "pass_on", None)
        if pass_on is not None:
            await pass_on(reader, writer, self._session.debuggee.touch)
            return
        # Here, because most sessions never see a client of this kind.
        from ..doors.editor.editor_breakpoints import SharedBreakpoints
        from ..doors.editor.editor_door import EditorDoor

        self._shared = self._shared or SharedBreakpoints(self._session)
        await EditorDoor(self._session, self._shared, reader, writer).serve_client()


async def _first_line(reader: asyncio.StreamReader) -> bytes:
    """Byte by byte, as far as it goes: what comes behind it is for the debugger."""
    line = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while len(line) < FIRST_LINE and (byte := await reader.read(1)):
                if byte == b"\n":
                    return line
                line += byte
    return b""


async def _turn_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reason: Refused) -> None:
    """Takes what is still on its way: a connection that is closed over unread bytes loses its last words."""
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(f"ERROR {reason}\n".encode())
        writer.write_eof()
        async with asyncio.timeout(FAREWELL):
            while await reader.read(65536):
                pass


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection. What was written last still goes out, if the other end takes it."""
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(FAREWELL):
            await writer.wait_closed()
