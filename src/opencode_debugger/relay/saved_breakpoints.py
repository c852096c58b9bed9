"""What is done to the breakpoints of a session is done to those that are saved for its project."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from ..errors import RelayError
from ..persistence.breakpoints import BreakpointStore
from .held import Held

CHANGES = frozenset(
    {"set_breakpoints", "remove_breakpoint", "clear_breakpoints", "change_breakpoint", "apply_breakpoints"}
)
LAUNCHES = frozenset({"launch", "restart"})
"""Then breakpoints follow their lines in files that were edited."""


NOT_SAVED = (
    "This holds for the session, but was not saved for its project, whose next session will not know it: {why}. "
    "Free some space on the disk of the data folder, or make the folder writable, and send it again"
)


class Unsaved(msgspec.Struct):
    """What a session has done to its breakpoints since it was last asked."""

    changed: list[dict[str, Any]]
    gone: list[dict[str, Any]]


async def save(store: BreakpointStore, held: Held) -> str | None:
    """Saves what is not saved yet; says why, if that could not be done."""
    if held.project_root is None or not held.saves_breakpoints:
        return None
    async with held.saving:
        try:
            answer = await held.handle.call("unsaved_breakpoints")
        except RelayError:
            return None  # it has just ended: there is nobody to be told
        unsaved = msgspec.json.decode(answer, type=Unsaved)
        why = await asyncio.to_thread(store.change, held.project_root, unsaved.changed, unsaved.gone)
    return None if why is None else NOT_SAVED.format(why=why)


async def follow(store: BreakpointStore, held: Held, operation: str, answer: bytes) -> bytes:
    """The answer of an operation of a session; which says so if its breakpoints could not be saved."""
    if operation not in CHANGES | LAUNCHES:
        return answer
    warning = await save(store, held)
    if warning is None:
        return answer
    said = msgspec.json.decode(answer)
    told = {"warnings": [*said.get("warnings", []), warning]} if operation in LAUNCHES else {"warning": warning}
    return msgspec.json.encode({**said, **told})
