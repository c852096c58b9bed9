"""`ocdb use SESSION`: makes a session the current one of this folder."""

from __future__ import annotations

from typing import Any

from ..agents.conversation import LastSession, run_now
from .command_table import Command
from .dispatch import show
from .relay_access import RelayOptions, open_conversation


def use_session(command: Command, given: dict[str, Any]) -> int:
    options, session = RelayOptions.take_from(given), given["named"]
    conversation = open_conversation(options, LastSession(), given.get("reveal", False))
    told = run_now(conversation.tell("status", {}, session))
    options.memory().make_current(session)
    show(told, given.get("json", False))
    return 0
