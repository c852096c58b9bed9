"""Debug programs from Python: a relay is found, or started, and asked.

    with debug("app.py", stop=["app.py:42"]) as d:
        print(d.locals["x"].value, d.eval("len(items)").result)
        d.step()

The names below are loaded when they are used: the command line only needs the light modules beside them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .address import Problem
    from .async_session import AsyncDebugSession
    from .debugging import attach, attach_async, debug, debug_async
    from .http import DebugError, RelayGone
    from .session import DebugSession
    from .spec_client import DebugClient

__all__ = [
    "AsyncDebugSession", "DebugClient", "DebugError", "DebugSession", "Problem", "RelayGone", "attach",
    "attach_async", "debug", "debug_async",
]

_MODULES = {
    "address": ("Problem",),
    "async_session": ("AsyncDebugSession",),
    "debugging": ("attach", "attach_async", "debug", "debug_async"),
    "http": ("DebugError", "RelayGone"),
    "session": ("DebugSession",),
    "spec_client": ("DebugClient",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
