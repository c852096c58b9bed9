"""What the debugger needs to go on is there again after code that took it away."""

from __future__ import annotations

import contextlib
import sys
from typing import Iterator

_modules = sys.modules
_settrace, _gettrace = sys.settrace, sys.gettrace
_OURS = __name__.partition(".")[0]


@contextlib.contextmanager
def debugger() -> Iterator[None]:
    """Tracing of this thread, and, if its own modules are gone, all modules that were loaded.

    A module that the program drops to load it anew stays dropped.
    """
    tracing, loaded = _gettrace(), dict(_modules)
    try:
        yield
    finally:
        if _gettrace() is not tracing:
            _settrace(tracing)
        if _OURS not in _modules or "_pydevd_bundle" not in _modules:
            for name, module in loaded.items():
                _modules.setdefault(name, module)
