"""Calls that ask a recorded run, and run a program to have one."""

from __future__ import annotations

import os
from typing import Any

from ..errors import RelayError
from . import arguments
from .conversation import Conversation, Told, only_given
from .starting import run

ANSWER_BUDGET = 3000
"""characters of an answer"""
ERRORS_BUDGET = 1000
"""of these for exceptions, if a program was run"""
CHANGES_BUDGET = 400
"""characters of where one name was given or changed"""
NEEDS = {
    "calls": "a function", "life": "the number of a call", "origin": "a value or a name", "diff": "another session",
}
"""what questions are about"""
EXPORTED = ".ocrec"
"""how the name of an exported recording ends"""
SUBJECTS = {"calls": "function", "origin": "value", "diff": "other"}
"""how operations call it"""


async def trace(conversation: Conversation, given: arguments.Trace) -> Told:
    """Answer a question to the recording of a session, or of a program that is run for it."""
    if given.command is None and given.test is None:
        session = await conversation.find_session(given.session)
        return await _ask(conversation, given, session, ANSWER_BUDGET)
    ran = await run(conversation, _recorded_run(given))
    try:
        return await _answer_about_run(conversation, given, ran)
    except RelayError as error:
        if error.code != "RECORDING_NOT_FOUND":
            raise
        return ran._replace(text=f"{ran.text}\n{error.message}")  # how it ended tells why


async def _answer_about_run(conversation: Conversation, given: arguments.Trace, ran: Told) -> Told:
    session = ran.session_id or ""
    if given.question == "trace":
        return await _tell_what_matters(conversation, given, ran)
    asked = await _ask(conversation, given, session, ANSWER_BUDGET)
    return asked._replace(text=f"{_first_line(ran)}\n{asked.text}", status=ran.status, session_id=session)


async def _tell_what_matters(conversation: Conversation, given: arguments.Trace, ran: Told) -> Told:
    """Answer with how the program ended, and how that came about."""
    session = ran.session_id or ""
    course = await tell_course(conversation, session, given)
    return Told(f"{_first_line(ran)}\n{course.text}", {"run": ran.data, **course.data}, ran.status, session)


async def tell_course(conversation: Conversation, session: str, given: arguments.Trace) -> Told:
    """Tell the exceptions that nothing handled, and the call tree."""
    errors = await conversation.tell("errors", {"budget": ERRORS_BUDGET, "unhandled": True}, session)
    failed = errors.text if errors.data.get("errors") else ""
    tree = await _ask(conversation, given, session, ANSWER_BUDGET - len(failed))
    return Told("\n".join(filter(None, [failed, tree.text])), {"errors": errors.data, "trace": tree.data})


async def tell_changes(conversation: Conversation, session: str, name: str) -> Told | None:
    """Tell where what has a name was given or changed; None if that was not recorded."""
    found = await conversation.tell("origin", {"value": name, "budget": CHANGES_BUDGET}, session)
    return found if found.data.get("kind") == "name" and found.data.get("sightings") else None


def _recorded_run(given: arguments.Trace) -> arguments.Run:
    record: dict[str, Any] = {"lines": given.lines}
    return arguments.Run(
        command=given.command, test=given.test, cwd=given.cwd, wait=given.wait, stop_on="nothing",
        options={"record": record})


def _first_line(ran: Told) -> str:
    return ran.text.partition("\n")[0]


async def _ask(conversation: Conversation, given: arguments.Trace, session: str, budget: int) -> Told:
    if given.question in NEEDS and given.of is None:
        suggestion = f"Name {NEEDS[given.question]} in of"
        raise RelayError("MISSING_PARAMETER", f"{given.question} needs {NEEDS[given.question]}", suggestion=suggestion)
    params = {"budget": budget, **_about(given)} | only_given(where=given.where)
    if given.question == "diff" and given.of is not None:
        params["other"] = _recording_named(given.of, conversation.asker.base)
    return await conversation.tell(given.question, params, session)


def _about(given: arguments.Trace) -> dict[str, Any]:
    """Return what the question is about, as the operation takes it."""
    if given.of is None:
        return {}
    number = given.of.removeprefix("#")
    if given.question == "trace":
        return {"call": int(number)} if number.isdecimal() else {"function": given.of}
    if given.question == "life":
        return {"call_id": number}
    return {SUBJECTS[given.question]: given.of} if given.question in SUBJECTS else {}


def _recording_named(of: str, base: str | None) -> str:
    """Return the session or recording that is meant; a file, by its whole path."""
    is_file = of.endswith(EXPORTED) or os.path.isabs(of)
    return os.path.join(base or "", of) if is_file else of
