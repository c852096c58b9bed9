"""What is done to the breakpoints of a session is done to those that are saved for its project."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from ..persistence.breakpoints import BreakpointStore, definition_of

CHANGES = frozenset(
    {"set_breakpoints", "remove_breakpoint", "clear_breakpoints", "change_breakpoint", "apply_breakpoints"}
)


NOT_SAVED = (
    "This holds for the session, but was not saved for its project, whose next session will not know it: {why}. "
    "Free some space on the disk of the data folder, or make the folder writable, and send it again"
)


async def follow(store: BreakpointStore, root: str | None, operation: str, answer: bytes) -> bytes:
    """An operation of a session, by its answer; which says so if it could not be saved."""
    if root is None or operation not in CHANGES:
        return answer
    said = msgspec.json.decode(answer)
    why = await asyncio.to_thread(_follow, store, root, operation, said)
    return answer if why is None else msgspec.json.encode({**said, "warning": NOT_SAVED.format(why=why)})


def _follow(store: BreakpointStore, root: str, operation: str, said: dict[str, Any]) -> str | None:
    if operation in ("remove_breakpoint", "clear_breakpoints"):
        return store.remove(root, [definition_of(gone) for gone in said.get("removed", [said])])
    gone, there = [definition_of(gone) for gone in said.get("removed", ())], said.get("breakpoints", ())
    if operation == "change_breakpoint":
        gone, there = [{**said, "line": said["moved_from"]}] if said.get("moved_from") else [], [said]
    why = store.remove(root, gone)
    return store.upsert(root, [definition_of(each) for each in there]) or why
