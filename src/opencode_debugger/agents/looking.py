"""Calls that look at a program: values, stacks, threads, source, output."""

from __future__ import annotations

from typing import Any

import msgspec

from ..operations.operation import ID
from . import arguments
from .conversation import Conversation, Told, only_given

LONGEST_HEAD = 200
"""Characters of a value that is looked into: what is inside comes behind."""


async def evaluate(conversation: Conversation, given: arguments.Evaluate) -> Told:
    session = await conversation.find_session(given.session)
    params = only_given(expression=given.expression, timeout=given.timeout, **_frame_params(given))
    return await conversation.tell("evaluate", params, session)


async def look(conversation: Conversation, given: arguments.Look) -> Told:
    """Show what is inside a value, or all locals of a frame."""
    session = await conversation.find_session(given.session)
    page = only_given(start=given.start or None, count=given.count, name=given.filter)
    if given.expression is None:
        frame = {**_frame_params(given), "frame_id": given.frame or 0}
        return await conversation.tell("frame_variables", only_given(**frame) | page, session)
    told = await conversation.tell("evaluate", only_given(expression=given.expression, **_frame_params(given)), session)
    reference = told.data.get("variables_reference")
    if not reference:
        return told
    inside = await conversation.tell("variables", {"variables_reference": reference, **page}, session)
    whole = told.text if len(told.text) <= LONGEST_HEAD else f"{told.text[:LONGEST_HEAD]}…"
    return inside._replace(text=f"{whole}\n{inside.text}", data={**told.data, **inside.data})


async def stack(conversation: Conversation, given: arguments.Stack) -> Told:
    session = await conversation.find_session(given.session)
    if given.of != "thread":
        return await conversation.tell(given.of, {}, session)
    params = only_given(thread_id=given.thread, task_id=given.task, start_frame=given.start or None, levels=given.count)
    return await conversation.tell("stack_trace", params, session)


async def source(conversation: Conversation, given: arguments.Source) -> Told:
    session = await conversation.find_session(given.session)
    params = only_given(path=given.file, frame_id=given.frame)
    if given.line is not None:
        lines = {"start_line": max(1, given.line - given.around), "end_line": given.line + given.around}
        return await conversation.tell("source", params | lines, session)
    if given.file is None:
        first = await conversation.asker.ask("source", {ID: session, **params, "start_line": 1, "end_line": 1})
        line = msgspec.json.decode(first).get("current_line") or 1  # the lean answer has none
        params |= {"start_line": max(1, line - given.around), "end_line": line + given.around}
    return await conversation.tell("source", params, session)


async def output(conversation: Conversation, given: arguments.Output) -> Told:
    session = await conversation.find_session(given.session)
    return await conversation.tell("output", only_given(tail=given.last, category=given.stream), session)


def _frame_params(given: arguments.OfFrame) -> dict[str, Any]:
    return {"frame_id": given.frame, "thread_id": given.thread, "task_id": given.task}
