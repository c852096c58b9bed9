"""Calls that set, change and list breakpoints."""

from __future__ import annotations

from . import arguments
from .conversation import Conversation, Told

FILTERS = ("raised", "uncaught", "user_unhandled", "test_failure")


async def change_breakpoints(conversation: Conversation, given: arguments.ChangeBreakpoints) -> Told:
    """Do what is asked, in the order remove, add, disable, enable; without anything list what there is."""
    session = await conversation.find_session(given.session)
    told: list[Told] = []
    for name in given.remove:
        if name == "all":
            told.append(await conversation.tell("clear_breakpoints", {}, session))
        else:
            told.append(await conversation.tell("remove_breakpoint", {"breakpoint_id": name}, session))
    if given.add:
        told.append(await conversation.tell("set_breakpoints", {"breakpoints": given.add}, session))
    for names, enabled in ((given.disable, False), (given.enable, True)):
        for name in names:
            params = {"breakpoint_id": name, "enabled": enabled}
            told.append(await conversation.tell("change_breakpoint", params, session))
    if given.exceptions is not None:
        told.append(await _stop_on_exceptions(conversation, given.exceptions, session))
    if not told:
        return await conversation.tell("list_breakpoints", {}, session)
    return Told("\n".join(each.text for each in told), [each.data for each in told], None, session)


async def _stop_on_exceptions(conversation: Conversation, names: list[str], session: str) -> Told:
    """Stop on these kinds of exceptions and classes, and on no others."""
    told = await conversation.tell("remove_exception_breakpoints", {}, session)
    filters = [name for name in names if name in FILTERS]
    classes = [name for name in names if name not in FILTERS]
    if not names:
        return told
    params = {"filters": filters or ["raised"]} | ({"exceptions": classes} if classes else {})
    return await conversation.tell("set_exception_breakpoint", params, session)
