"""Letting the program go, and being right about where it is when gdb refuses to."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from .marks import tell

gdb: Any = importlib.import_module("gdb")
_events: Any = importlib.import_module("gdb.dap.events")
_next: Any = importlib.import_module("gdb.dap.next")
_startup: Any = importlib.import_module("gdb.dap.startup")

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


@contextlib.contextmanager
def inserted_at_once() -> Iterator[None]:
    """What is set in here goes into the program now: what does not fit is an error now, and not when it goes on."""
    with gdb.with_parameter("breakpoint always-inserted", True):
        yield


def plainly(error: Any) -> str:
    """gdb's complaint about breakpoints in one line."""
    return " ".join(str(error).replace("Warning:", "").split())


def _why(error: Any) -> str:
    if ABORTED not in str(error):
        return str(error)
    try:
        with inserted_at_once():  # has all of them inserted once more, which says why that fails
            gdb.Breakpoint(f"*{gdb.newest_frame().pc()}", internal=True).delete()
    except gdb.error as reason:
        return plainly(reason)
    return str(error)


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
            said = _why(error)
            if command in ANSWERED_BEFORE:
                tell("refused", thread=gdb.selected_thread().global_num, error=said)
            raise _startup.DAPException(said) from error

    _next.exec_and_expect_stop = let_go
