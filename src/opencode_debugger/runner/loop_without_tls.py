"""Loads uvloop without OpenSSL, which it would bring along: 5 MB of each runner, and no runner speaks TLS."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class NoTls(ModuleType):
    """Stands in for `ssl` while uvloop is loaded, which asks for names that only TLS has a use for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return 0 if name.isupper() else type(name, (Exception,), {})


def load_uvloop() -> ModuleType:
    """Return uvloop. To be called before anything else loads asyncio."""
    if "ssl" in sys.modules:
        import uvloop
    else:
        sys.modules["ssl"] = None  # type: ignore[assignment]
        import asyncio  # noqa: F401  it does without

        sys.modules["ssl"] = NoTls("ssl")
        import uvloop

        del sys.modules["ssl"]  # whoever needs it gets the real one
    return uvloop
