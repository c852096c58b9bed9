"""What is done to the breakpoints of a session is done to those that are saved for its project."""

from __future__ import annotations

import asyncio

import msgspec

from ..persistence.breakpoints import BreakpointStore, definition_of

CHANGES = frozenset(
    {"set_breakpoints", "remove_breakpoint", "clear_breakpoints", "change_breakpoint", "apply_breakpoints"}
)


async def follow(store: BreakpointStore, root: str | None, operation: str, answer: bytes) -> None:
    """An operation of a session, by its answer."""
    if root is not None and operation in CHANGES:
        await asyncio.to_thread(_follow, store, root, operation, answer)


def _follow(store: BreakpointStore, root: str, operation: str, answer: bytes) -> None:
    said = msgspec.json.decode(answer)
    if operation in ("remove_breakpoint", "clear_breakpoints"):
        store.remove(root, [definition_of(gone) for gone in said.get("removed", [said])])
        return
    if operation == "change_breakpoint":
        if said.get("moved_from"):
            store.remove(root, [{**said, "line": said["moved_from"]}])
        said = {"breakpoints": [said]}
    store.remove(root, [definition_of(gone) for gone in said.get("removed", ())])
    store.upsert(root, [definition_of(each) for each in said["breakpoints"]])
