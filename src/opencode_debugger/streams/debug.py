"""`/sessions/{id}/debug`: commands that are carried out, and events as they happen."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import RelayError
from ..models.streams import DebugQuery, Message, encode, message
from ..relay.following import Following, Happened, Page, events_of
from .commands import Commands
from .connection import GOING_AWAY, Close, Connection, stream

OPERATION = "debug"


@stream(OPERATION)
async def debug(connection: Connection) -> Close:
    query = connection.query(DebugQuery)
    following = events_of(connection.relay, connection.closing, connection.session_id)
    following.options |= query.options()
    first = await connection.start(following.page(query.since, from_now=not query.replay))
    has_cursors = query.cursors or query.since is not None
    commands = Commands(connection)
    try:
        return await connection.until_either(send(connection, following, first, has_cursors), commands.listen())
    except RelayError as error:
        if error.code != "UNAUTHORIZED":
            await commands.settle()  # one of them may have ended the session
        raise
    finally:
        await commands.stop()


async def send(
    connection: Connection, following: Following[Happened], first: Page[Happened], has_cursors: bool
) -> Close:
    async for page in following.pages(first):
        connection.caller.require(OPERATION)
        await connection.send(texts(connection.session_id, page, has_cursors))
    return Close(GOING_AWAY, "SHUTTING_DOWN")


def texts(session_id: str, page: Page[Happened], has_cursors: bool) -> Iterator[bytes]:
    for why, count in page.missing:
        yield message(session_id, why, {"count": count})
    for entry in page.entries:
        cursor = entry.cursor if has_cursors else None
        yield encode(Message(session_id, entry.type, entry.body, entry.timestamp, cursor))
