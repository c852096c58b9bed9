"""Letting the program go, also back in a recording, and being right about where it is when gdb refuses to."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any

import gdb
import gdb.dap.events as _events
import gdb.dap.next as _next
import gdb.dap.startup as _startup

from .frames_and_scopes import select_place
from .gdb_breakpoints import tell_relay

if TYPE_CHECKING:
    from .row_types import Place, ValueRow

ABORTED = "Command aborted"
"""All that gdb says when a breakpoint cannot be put into the program: the reason it prints elsewhere."""
ANSWERED_BEFORE = ("next", "nexti", "step", "stepi")
"""Commands to whose request gdb answers before it carries them out, so that nobody hears that they failed."""


def halted_again() -> None:
    """gdb takes a program for running that it could not let go, and after a call within a call, as in `f("text")`,
    whose text is made by one."""
    thread = gdb.selected_thread()
    if thread is not None and thread.is_stopped():
        _events.inferior_running = False


def inserted_at_once() -> AbstractContextManager[None]:
    """Put breakpoints into the program now: what does not fit is an error now, and not when it goes on."""
    return gdb.with_parameter("breakpoint always-inserted", True)  # type: ignore[no-any-return]


def plain_words(error: Any) -> str:
    """gdb's complaint about breakpoints in one line."""
    return " ".join(str(error).replace("Warning:", "").split())


def _reason_of(error: Any) -> str:
    if ABORTED not in str(error):
        return str(error)
    try:
        with inserted_at_once():  # has all of them inserted once more, which says why that fails
            gdb.Breakpoint(f"*{gdb.newest_frame().pc()}", internal=True).delete()
    except gdb.error as reason:
        return plain_words(reason)
    return str(error)


def watch_data(place: Place, command: str) -> ValueRow:
    """Have a value watched; one that the processor has no room for is refused, so that the program can still go on."""
    select_place(place)
    before = {each.number for each in gdb.breakpoints()}
    try:
        with inserted_at_once():
            return {"value": str(gdb.execute(command, to_string=True))}
    except gdb.error as error:
        for each in gdb.breakpoints():
            if each.number not in before:
                each.delete()
        return {"error": plain_words(error)}


def turn_back() -> None:
    """Make what goes on next go back, until it stops."""
    gdb.execute("set exec-direction reverse")
    gdb.events.stop.connect(_on_stopped)


def _on_stopped(event: Any) -> None:
    gdb.post_event(turn_forward)  # not now: gdb is about to restore what it was


def turn_forward() -> None:
    with suppress(ValueError):
        gdb.events.stop.disconnect(_on_stopped)
    gdb.execute("set exec-direction forward")


def install() -> None:
    plain = getattr(_next, "exec_and_expect_stop", None)
    if plain is None:
        return  # a gdb that lets programs go in another way

    def let_go(command: str, *more: Any) -> None:
        try:
            plain(command, *more)
        except Exception as error:
            _events._suppress_cont = False  # else the next evaluation's stop would be taken for the program's
            halted_again()
            said = _reason_of(error)
            if command in ANSWERED_BEFORE:
                tell_relay("refused", thread=gdb.selected_thread().global_num, error=said)
            raise _startup.DAPException(said) from error

    _next.exec_and_expect_stop = let_go
