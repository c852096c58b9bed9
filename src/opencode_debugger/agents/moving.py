"""Calls that make the program run and stop, and feed its input."""

from __future__ import annotations

from typing import Any

from . import arguments
from .conversation import Conversation, Told, only_given, seconds_to_wait

STEPS = {"over": "step_over", "into": "step_into", "out": "step_out", "back": "step_back"}


async def go_on(conversation: Conversation, given: arguments.Continue) -> Told:
    session = await conversation.find_session(given.session)
    if given.input is not None or given.eof:
        return await _send_input(conversation, given, session)
    if given.action == "wait":
        return await conversation.tell("report", only_given(wait=seconds_to_wait(given.wait)), session)
    params = only_given(thread_id=given.thread) if given.action != "restart" else {}
    wait = given.wait if given.action == "pause" else seconds_to_wait(given.wait)
    return await conversation.tell(given.action, params | only_given(wait=wait), session)


async def step(conversation: Conversation, given: arguments.Step) -> Told:
    session = await conversation.find_session(given.session)
    thread = only_given(thread_id=given.thread)
    if given.to is not None:
        params = _parse_place(given.to) | thread | only_given(wait=seconds_to_wait(given.wait))
        return await conversation.tell("run_to", params, session)
    if given.until is not None:
        kind = "into" if given.kind == "into" else "over"
        params = only_given(expression=given.until, kind=kind, max_steps=given.count, timeout=given.wait)
        return await conversation.tell("step_until", params | thread, session)
    params = only_given(count=given.count, target=given.target, wait=seconds_to_wait(given.wait))
    return await conversation.tell(STEPS[given.kind], params | thread, session)


async def _send_input(conversation: Conversation, given: arguments.Continue, session: str) -> Told:
    """Send a line to the program; without one, only that there is no more."""
    line = given.input
    text = "" if line is None or (not line and given.eof) else line if line.endswith("\n") else line + "\n"
    params = {"input": text, "eof": given.eof, "wait": seconds_to_wait(given.wait)}
    return await conversation.tell("stdin", params, session)


def _parse_place(place: str) -> dict[str, Any]:
    """LINE, FILE:LINE, FILE~TEXT, or ~TEXT in the current file."""
    file, tilde, text = place.partition("~")
    if tilde:
        return only_given(file=file or None, text=text.strip().strip('"'))
    file, _, line = place.rpartition(":")
    if line.isdecimal():
        return only_given(file=file or None, line=int(line))
    return {"text": place}
