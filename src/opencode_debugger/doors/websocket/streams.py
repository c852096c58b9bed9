"""The streams of a session: output, events and commands, the tunnel; at the root and beside the REST routes."""

import asyncio
import contextlib
from collections.abc import Iterator

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from ...errors import RelayError
from ...models.envelope import LogMessage, Message, encode, encode_message
from ...models.requests.queries import DebugQuery, LogsQuery
from ...relay.followers import KEEP_ALIVE, Following, Happened, Page, Written, events_of, output_of
from ...timestamps import current_time
from .commands import Commands
from .connection import DONE, GOING_AWAY, REFUSED, Close, Connection, stream_endpoint

RELAY = "relay"
"""The stream of messages that the program did not write."""
CHUNK = 65536

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


# What the program wrote, then what it writes.


@stream_endpoint("logs")
async def logs(connection: Connection) -> Close:
    query = connection.read_query(LogsQuery)
    has_cursors = query.cursors or query.since is not None
    only = {"category": query.stream} if query.stream else {}
    following = output_of(connection.as_reader, beyond_end=query.keep_open, cursors=has_cursors, **only)
    first = await connection.start_following(following.page(query.since))
    return await connection.until_either(send_output(connection, following, first), connection.ignore_messages())


async def send_output(connection: Connection, following: Following[Written], first: Page[Written]) -> Close:
    async for page in following.pages(first):
        connection.caller.require("logs")
        await connection.wire.send_texts(output_texts(page))
        if page.end is not None:
            how = page.end["signal"] or f"exit code {page.end['exit_code']}"
            return Close(DONE, f"terminated: {page.end['reason']}, {how}")
    return Close(GOING_AWAY, "SHUTTING_DOWN")


def output_texts(page: Page[Written]) -> Iterator[bytes]:
    if page.dropped:
        text = f"{page.dropped} messages are missing here: they were dropped before you read them\n"
        yield encode(LogMessage(RELAY, text, current_time(), dropped=page.dropped))
    if page.cleared:
        text = f"{page.cleared} messages are missing here: a client cleared the output\n"
        yield encode(LogMessage(RELAY, text, current_time(), cleared=page.cleared))
    for entry in page.entries:
        yield encode(LogMessage(entry.category, entry.output, entry.timestamp, entry.cursor))


# Commands that are carried out, and events as they happen.


@stream_endpoint("debug")
async def debug(connection: Connection) -> Close:
    query = connection.read_query(DebugQuery)
    only = {"kinds": kinds} if (kinds := query.params().get("kinds")) else {}
    following = events_of(connection.as_reader, **only)
    first = await connection.start_following(following.page(query.since, from_now=not query.replay))
    has_cursors = query.cursors or query.since is not None
    commands = Commands(connection)
    try:
        sending = send_events(connection, following, first, has_cursors)
        return await connection.until_either(sending, commands.listen_for_commands())
    except RelayError as error:
        if error.code != "UNAUTHORIZED":
            await commands.settle_running()  # one of them may have ended the session
        raise
    finally:
        await commands.stop_waiting()


async def send_events(
    connection: Connection, following: Following[Happened], first: Page[Happened], has_cursors: bool
) -> Close:
    async for page in following.pages(first):
        connection.caller.require("debug")
        await connection.wire.send_texts(event_texts(connection.session_id, page, has_cursors))
    return Close(GOING_AWAY, "SHUTTING_DOWN")


def event_texts(session_id: str, page: Page[Happened], has_cursors: bool) -> Iterator[bytes]:
    for why, count in page.missing_entries:
        yield encode_message(session_id, why, {"count": count})
    for entry in page.entries:
        cursor = entry.cursor if has_cursors else None
        yield encode(Message(session_id, entry.type, entry.body, entry.timestamp, cursor))


# The session's tunnel through the relay, bytes both ways, for clients on any machine.


@stream_endpoint("tunnel")
async def tunnel(connection: Connection) -> Close:
    reader, writer = await connection.start_following(entered(connection))
    try:
        works = outward(connection, reader), inward(connection, writer), watched(connection)
        return await connection.until_either(*works)
    finally:
        writer.close()


async def entered(connection: Connection) -> Line:
    """The session's own port, with its token shown."""
    about = msgspec.json.decode(await connection.relay.call(connection.session_id, "info", {"with_token": True}))
    debugger = about.get("debugger") or {}
    if not debugger.get("token"):
        message = f"There is no tunnel: session is {about['status']}, and only a program that lives has one"
        raise RelayError("INVALID_SESSION_STATE", message, current_state=about["status"])
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
            await connection.wire.send_bytes(data)
    except ConnectionError:
        pass  # cut off: what came before that was sent on
    return Close(DONE, "")


async def inward(connection: Connection, writer: asyncio.StreamWriter) -> Close:
    """Taken only as fast as the debugger reads."""
    try:
        while True:
            message = await connection.receive()
            connection.caller.require("tunnel")
            writer.write(message if isinstance(message, bytes) else message.encode())
            await writer.drain()
    except ConnectionError:
        return Close(DONE, "")


async def watched(connection: Connection) -> Close:
    """Wait until the relay closes, or the token is good no longer."""
    while not connection.closing.is_set():
        connection.caller.require("tunnel")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KEEP_ALIVE):
                await connection.closing.wait()
    return Close(GOING_AWAY, "SHUTTING_DOWN")


# Their routes.


async def unknown(websocket: WebSocket) -> None:
    """Opened first, as all are, so that clients see why it is closed."""
    await websocket.accept()
    await websocket.close(REFUSED, "ROUTE_NOT_FOUND")


routes = [
    WebSocketRoute(f"{prefix}/sessions/{{session_id}}/{name}", endpoint)
    for prefix in ("", "/api/v1")
    for name, endpoint in (("logs", logs), ("debug", debug), ("tunnel", tunnel))
]
routes.append(WebSocketRoute("/{path:path}", unknown))
