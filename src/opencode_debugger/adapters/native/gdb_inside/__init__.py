"""Runs inside gdb, on its own Python (3.8 or newer): what its DAP server does not do, or not well.

The relay reaches it by two requests of DAP's form: `ocdb` while the program is halted, `ocdbAlways` at any time.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from . import beginning, forks, going, looking, machine, marks, rust, throws

_server: Any = importlib.import_module("gdb.dap.server")

METHODS: dict[str, Callable[..., Any]] = {
    "begin": beginning.begin,
    "follow": forks.follow,
    "release": forks.release,
    "scopes": looking.scopes,
    "children": looking.children,
    "report": looking.report,
    "watch": looking.watch,
    "evaluate": looking.evaluate,
    "look": looking.look,
    "command": looking.command,
    "names": looking.names,
    "complete": looking.complete,
    "set_variable": looking.set_variable,
    "set_expression": looking.set_expression,
    "signal": throws.signal,
    "thrown": throws.thrown,
    "mark": marks.place,
    "hits": marks.hits,
    "throws": throws.define,
    "sources": looking.sources,
    "watch_data": machine.watch_data,
    "instructions": machine.instructions,
    "turn_back": machine.turn_back,
    "turn_forward": machine.turn_forward,
    "deeper": looking.deeper,
    "tops": looking.tops,
    "rust_printers": rust.load_printers,
}


def _call(method: str, arguments: Any) -> Any:
    return METHODS[method](**arguments)


def install() -> None:
    # What an evaluation does to the program is told while it happens, so that it can be told from what follows.
    at_once = {"defer_events": False} if "defer_events" in inspect.signature(_server.request).parameters else {}

    @_server.request("ocdb", **at_once)
    def halted(*, method, arguments=None, looks=False, **extra):  # type: ignore[no-untyped-def]  # gdb checks annotations
        try:
            with looking.only_looks() if looks else contextlib.nullcontext():
                return _call(method, arguments or {})
        finally:
            going.halted_again()

    @_server.request("ocdbAlways", expect_stopped=False)
    def always(*, method, arguments=None, **extra):  # type: ignore[no-untyped-def]
        return _call(method, arguments or {})

    forks.install()
    going.install()
    looking.install()
    marks.install()


install()
