"""Lets a program with breakpoints run at its own speed: they are decided where they are, and pydevd only stops.

Each Python has one way: from 3.12 on events of `sys.monitoring` that exist only on lines with breakpoints, up to 3.11
code with a test put in front of such lines.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Optional

from ..processes.interpreter_end import call_at_end
from ..python_versions import monitoring
from . import leaving_exceptions

way: Any
if monitoring is not None:
    from . import monitoring_way as way
else:
    from . import rewriting_way as way


def install() -> None:
    """Patch pydevd, once per process; after every other part, so that what they patched is part of it."""
    leaving_exceptions.install()
    way.install()
    call_at_end(_fall_silent)


def begin_session() -> None:
    way.begin_session()


def end_session() -> None:
    """Leave the program, or a forked child, as if nobody had looked at it."""
    leaving_exceptions.end_session()
    way.end_session()


def _fall_silent() -> None:
    """Hear of nothing any more: takes no lock, for threads that are gone by now may hold one."""
    leaving_exceptions.end_session()
    if monitoring is not None:
        way.tool.fall_silent()


prepare_code: Optional[Callable[[CodeType], CodeType]] = getattr(way, "prepare_code", None)
"""Returns what is to run instead of code that is about to run as the program, where a way needs that."""
