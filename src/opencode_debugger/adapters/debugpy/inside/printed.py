"""What an evaluation prints: noted while it goes where it would go anyway.

The pipes of the program do not tell it. A test framework has put other streams in the place of sys.stdout and
sys.stderr, and a program that was attached to has its own.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List

from . import raw
from .texts import encodable

MOST = 8000
STREAMS = ("stdout", "stderr")

Write = Callable[[Any], Any]


class Printed:
    """In the order in which it was written, at most so many characters."""

    def __init__(self) -> None:
        self._parts: List[Dict[str, str]] = []
        self._room = MOST
        self._is_cut = False

    def note(self, category: str, text: str) -> None:
        taken, self._is_cut = text[: self._room], self._is_cut or len(text) > self._room
        self._room -= len(taken)
        if self._parts and self._parts[-1]["category"] == category:
            self._parts[-1]["output"] += taken
        elif taken:
            self._parts.append({"category": category, "output": taken})

    def told(self) -> Dict[str, Any]:
        """As a part of the answer: nothing, if nothing was printed."""
        parts = [{**part, "output": encodable(part["output"])} for part in self._parts]
        return {**({"output": parts} if parts else {}), **({"output_truncated": True} if self._is_cut else {})}


_LOCK = threading.RLock()
_noting: List[Printed] = []
_listened_to: List[Any] = []
"""Streams whose `write` is ours: as long as anybody notes anything, so that evaluations may overlap."""


def renew() -> None:
    """In a forked child: what was evaluated in other threads stayed in the parent."""
    global _LOCK
    _LOCK = threading.RLock()
    _stop()


@contextlib.contextmanager
def noted() -> Iterator[Printed]:
    printed = Printed()
    with _LOCK:
        _noting.append(printed)
        for category in STREAMS:
            _listen(getattr(sys, category, None), category)
    try:
        yield printed
    finally:
        with _LOCK:
            _noting.remove(printed)
            if not _noting:
                _stop()


def _listen(stream: Any, category: str) -> None:
    """Not by another sys.stdout: logging and others hold the stream itself, and the program may look which it is."""
    own = raw.instance_dict(stream)
    if own is None or "write" in own or any(stream is known for known in _listened_to):
        return  # takes no attributes, or has a `write` of its own

    def write(text: Any) -> Any:
        written = original(text)
        if type(text) is str:
            for each in tuple(_noting):
                each.note(category, text)
        return written

    with contextlib.suppress(Exception):
        original: Write = stream.write
        stream.write = write
        _listened_to.append(stream)


def _stop() -> None:
    while _listened_to:
        with contextlib.suppress(Exception):
            del _listened_to.pop().write
