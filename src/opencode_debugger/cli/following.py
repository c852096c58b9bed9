"""`ocdb output`: what the program wrote; with `-f` what it writes, until it ends."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from ..agents.conversation import Conversation, run_now
from ..answers.output import OutputPage
from ..operations.operation import ID
from ..operations.states import ENDED
from .command_table import Command
from .dispatch import ask_call
from .exit_codes import DONE, INTERRUPTED
from .relay_access import RelayOptions, open_conversation

SHOWN = 50
PAGE = 1000
PATIENCE = 20
"""Seconds of one question; a program that is silent is asked about again."""


def show_output(command: Command, given: dict[str, Any]) -> int:
    if not given.pop("follow", False):
        return ask_call(command, given)
    named = given.get("session")
    options = RelayOptions.take_from(given)
    conversation = open_conversation(options, options.memory(named), given.get("reveal", False))
    try:
        run_now(_follow(conversation, named, given))
    except KeyboardInterrupt:
        return INTERRUPTED
    return DONE


async def _follow(conversation: Conversation, named: str | None, given: dict[str, Any]) -> None:
    session = await conversation.find_session(named)
    which = {ID: session} | ({"category": given["stream"]} if "stream" in given else {})
    page = await _read_page(conversation, {**which, "tail": given.get("last", SHOWN)})
    has_ended = False
    while True:
        _write(page, given)
        if has_ended and not page.has_more:
            return
        # Asked before the next page, which then has all that was written before the end.
        has_ended = await _has_ended(conversation, session)
        page = await _read_page(
            conversation, {**which, "cursor": page.next_cursor, "limit": PAGE, "timeout": PATIENCE})


async def _read_page(conversation: Conversation, params: dict[str, Any]) -> OutputPage:
    return msgspec.json.decode(await conversation.asker.ask("output", params), type=OutputPage)


async def _has_ended(conversation: Conversation, session: str) -> bool:
    status = msgspec.json.decode(await conversation.asker.ask("status", {ID: session}))
    return status["status"] in ENDED


def _write(page: OutputPage, given: dict[str, Any]) -> None:
    for entry in page.entries:
        sys.stdout.write(msgspec.json.encode(entry).decode() + "\n" if given.get("json") else entry.output)
    if page.dropped:
        print(f"ocdb: {page.dropped} entries were dropped before they could be read", file=sys.stderr)
    sys.stdout.flush()
