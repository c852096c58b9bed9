"""How tests wait: for what comes, for as long as it may take; they never sleep and hope."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import psutil

T = TypeVar("T")

PATIENCE = 60
"""Seconds that anything may take on a busy machine."""
BETWEEN_LOOKS = 0.01


def wait_until(what: Callable[[], T], told: Callable[[], object] | None = None) -> T:
    """Return its first true value; `told` says what there is instead, should it never come."""
    deadline = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < deadline, told() if told else "it did not happen in time"
        time.sleep(BETWEEN_LOOKS)
    return found


def holds_for(seconds: float, what: Callable[[], object], told: Callable[[], object] | None = None) -> None:
    """Hold that something is so all the time: what must not happen is given the time in which it would."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert what(), told() if told else "it is no more"
        time.sleep(BETWEEN_LOOKS)


@contextlib.contextmanager
def soon(seconds: float = 20) -> Iterator[None]:
    """Hold that something ends by itself: a limit that it might run into instead, as those of requests, is longer."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds, "it ended because it was given up"


def stop_process(pid: int) -> None:
    """Stop it with a signal: that is sent at once, and takes effect when the process has its turn."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)


def runs(pid: int) -> bool:
    """Tell whether it is there, and not only as an entry that nobody has collected."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
