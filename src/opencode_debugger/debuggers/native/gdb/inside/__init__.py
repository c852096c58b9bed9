"""Runs inside gdb, on its own Python (3.8 or newer): what its DAP server does not do, or not well.

The relay reaches it by two requests of DAP's form: `ocdb` while the program is halted, `ocdbAlways` at any time.
"""

from __future__ import annotations

import contextlib
import inspect

from gdb.dap.server import request

from . import containers, frames_and_scopes, gdb_breakpoints, program_events, resuming, thrown_errors

METHODS = {
    name: each
    for part in (containers, frames_and_scopes, gdb_breakpoints, program_events, resuming, thrown_errors)
    for name, each in vars(part).items()
    if inspect.isfunction(each) and each.__module__ == part.__name__
}
"""Functions of these modules that the relay calls by their names."""


def install() -> None:
    # What an evaluation does to the program is told while it happens, so that it can be told from what follows.
    at_once = {"defer_events": False} if "defer_events" in inspect.signature(request).parameters else {}

    @request("ocdb", **at_once)
    def halted(*, method, arguments=None, looks=False, **extra):  # type: ignore[no-untyped-def]  # gdb checks annotations
        try:
            with frames_and_scopes.only_looks() if looks else contextlib.nullcontext():
                return METHODS[method](**arguments or {})
        finally:
            resuming.halted_again()

    @request("ocdbAlways", expect_stopped=False)
    def always(*, method, arguments=None, **extra):  # type: ignore[no-untyped-def]
        return METHODS[method](**arguments or {})

    program_events.install()
    resuming.install()
    frames_and_scopes.install()
    gdb_breakpoints.install()


install()
