"""`/sessions/{id}/tunnel`: the session's tunnel through the relay, bytes both ways, for clients on any machine."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from ..errors import RelayError
from ..relay.following import KEEP_ALIVE
from .connection import DONE, GOING_AWAY, Close, Connection, stream

OPERATION = "tunnel"
CHUNK = 65536

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@stream(OPERATION)
async def tunnel(connection: Connection) -> Close:
    reader, writer = await connection.start(entered(connection))
    try:
        return await connection.until_either(
            outward(connection, reader), inward(connection, writer), watched(connection)
        )
    finally:
        writer.close()


async def entered(connection: Connection) -> Line:
    """The session's own port, with its token shown."""
    about = msgspec.json.decode(await connection.relay.call(connection.session_id, "info", {"with_token": True}))
    debugger = about.get("debugger") or {}
    if not debugger.get("token"):
        raise RelayError(
            "INVALID_SESSION_STATE",
            f"There is no tunnel: session is {about['status']}, and only a program that lives has one",
            current_state=about["status"],
        )
    host, _, port = debugger["uri"].removeprefix("tcp://").rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port), limit=CHUNK)
    except OSError:
        raise RelayError("INVALID_SESSION_STATE", "There is no tunnel: the program has just ended") from None
    writer.write(f"Bearer {debugger['token']}\n".encode())
    return reader, writer


async def outward(connection: Connection, reader: asyncio.StreamReader) -> Close:
    try:
        while data := await reader.read(CHUNK):
            await connection.send_bytes(data)
    except ConnectionError:
        pass  # cut off: what came before that was sent on
    return Close(DONE, "")


async def inward(connection: Connection, writer: asyncio.StreamWriter) -> Close:
    """Taken only as fast as the debugger reads."""
    try:
        while True:
            message = await connection.receive()
            connection.caller.require(OPERATION)
            writer.write(message if isinstance(message, bytes) else message.encode())
            await writer.drain()
    except ConnectionError:
        return Close(DONE, "")


async def watched(connection: Connection) -> Close:
    """Until the relay closes, or the token is good no longer."""
    while not connection.closing.is_set():
        connection.caller.require(OPERATION)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KEEP_ALIVE):
                await connection.closing.wait()
    return Close(GOING_AWAY, "SHUTTING_DOWN")
