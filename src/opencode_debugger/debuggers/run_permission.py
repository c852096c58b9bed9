"""Permission of the call that is being carried out to run code: of the program, or of its debugger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

may_run: ContextVar[bool] = ContextVar("may_run", default=True)
"""False for callers who may only read: values are then shown, and names looked up, without calling anything.

The doors of the relay set it when they know who calls. Each call to a runner carries it, false if no door has set it;
the runner sets it for the call. What a session does by itself, and what is asked from its own process, may."""

UNREAD = "not evaluated: this caller may only read"
"""In the place of a value of a watch that would have to be evaluated."""


@contextmanager
def only_looks() -> Iterator[None]:
    """Look only, whoever asks: run no code inside this block."""
    before = may_run.set(False)
    try:
        yield
    finally:
        may_run.reset(before)
