"""`ocdb diff A B`: compares two recorded runs, of one session or of two."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..agents.conversation import LastSession, run_now
from .command_arguments import WrongUsage
from .command_table import Command
from .dispatch import show
from .exit_codes import code_of_answer
from .exporting import is_file_name, opened_session
from .relay_access import RelayOptions, open_conversation

SESSION = "sess_"
"""How ids of sessions begin."""


class NamedRun(NamedTuple):
    """A recording as the command line names it: SESSION, SESSION/RECORDING or RECORDING."""

    session: str | None
    recording: str | None

    @classmethod
    def read(cls, text: str) -> NamedRun:
        session, _, recording = text.partition("/")
        return cls(session, recording or None) if session.startswith(SESSION) else cls(None, text)


def compare_runs(command: Command, given: dict[str, Any]) -> int:
    """Ask the session of the first recording to compare it with the second; one alone with the current session's."""
    options, named = RelayOptions.take_from(given), given.get("session")
    *first, other = given["runs"]
    if len(first) > 1:
        raise WrongUsage("give two recordings to compare, or one to compare with that of the current session")
    conversation = open_conversation(options, LastSession(), given.get("reveal", False))
    opened = bool(first) and not first[0].startswith(SESSION) and is_file_name(first[0])
    if opened:
        run = NamedRun(opened_session(conversation, first[0]), None)
    else:
        run = NamedRun.read(first[0]) if first else NamedRun(None, None)
    if run.session is None:
        conversation.memory = options.memory(named)
    if is_file_name(other) and not other.startswith(SESSION):
        other = os.path.abspath(other)
    params = {name: given[name] for name in ("budget",) if name in given}
    params |= {"other": other} | ({"recording": run.recording} if run.recording else {})
    session = run.session or run_now(conversation.find_session(named))
    try:
        told = run_now(conversation.tell("diff", params, session))
    finally:
        if opened:
            run_now(conversation.tell("delete_session", {}, session))
    show(told, given.get("json", False))
    return code_of_answer(told.data)
