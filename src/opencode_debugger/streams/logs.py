"""`/sessions/{id}/logs`: what the program wrote, then what it writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..models.envelope import now
from ..models.streams import LogMessage, LogsQuery, encode
from ..relay.following import Following, Page, Written, output_of
from .connection import DONE, GOING_AWAY, Close, Connection, stream

OPERATION = "logs"
RELAY = "relay"
"""The stream of messages that the program did not write."""


@stream(OPERATION)
async def logs(connection: Connection) -> Close:
    query = connection.query(LogsQuery)
    following = output_of(connection.relay, connection.closing, connection.session_id)
    has_cursors = query.cursors or query.since is not None
    following.options |= {"beyond_end": query.keep_open, "cursors": has_cursors}
    if query.stream:
        following.options["category"] = query.stream
    first = await connection.start(following.page(query.since))
    return await connection.until_either(send(connection, following, first), connection.ignore())


async def send(connection: Connection, following: Following[Written], first: Page[Written]) -> Close:
    async for page in following.pages(first):
        connection.caller.require(OPERATION)
        await connection.send(texts(page))
        if page.end is not None:
            return Close(DONE, how_it_ended(page.end))
    return Close(GOING_AWAY, "SHUTTING_DOWN")


def texts(page: Page[Written]) -> Iterator[bytes]:
    if page.dropped:
        text = f"{page.dropped} messages are missing here: they were dropped before you read them\n"
        yield encode(LogMessage(RELAY, text, now(), dropped=page.dropped))
    if page.cleared:
        text = f"{page.cleared} messages are missing here: a client cleared the output\n"
        yield encode(LogMessage(RELAY, text, now(), cleared=page.cleared))
    for entry in page.entries:
        yield encode(LogMessage(entry.category, entry.output, entry.timestamp, entry.cursor))


def how_it_ended(end: dict[str, Any]) -> str:
    how = end["signal"] or f"exit code {end['exit_code']}"
    return f"terminated: {end['reason']}, {how}"
