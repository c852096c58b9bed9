"""Notes what an evaluation prints, while it goes where it would go anyway.

The pipes of the program do not tell it. A test framework has put other streams in the place of sys.stdout and
sys.stderr, and a program that was attached to has its own.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterator, List

from ..values import raw
from ..values.atom_texts import encodable

if TYPE_CHECKING:
    from ....rows import EvaluationRow, PrintedRow

_LOCK = threading.RLock()
_noting: List[PrintedOutput] = []
_wrapped_streams: List[Any] = []
"""Streams whose `write` is ours, as long as any evaluation notes its output: several may overlap."""


class PrintedOutput:
    """Texts in the order in which they were written, at most so many characters."""

    def __init__(self) -> None:
        self._parts: List[PrintedRow] = []
        self._room = 8000
        self._is_cut = False

    def note_text(self, category: str, text: str) -> None:
        taken, self._is_cut = text[: self._room], self._is_cut or len(text) > self._room
        self._room -= len(taken)
        if self._parts and self._parts[-1]["category"] == category:
            self._parts[-1]["output"] += taken
        elif taken:
            self._parts.append({"category": category, "output": taken})

    def as_answer(self) -> EvaluationRow:
        """Return the part of the answer that tells it; nothing, if nothing was printed."""
        answer: EvaluationRow = {}
        if self._parts:
            answer["output"] = [{**part, "output": encodable(part["output"])} for part in self._parts]
        if self._is_cut:
            answer["output_truncated"] = True
        return answer


def renew_after_fork() -> None:
    """Start anew in a forked child: what was evaluated in other threads stayed in the parent."""
    global _LOCK
    _LOCK = threading.RLock()
    _stop_listening()


@contextlib.contextmanager
def note_printed() -> Iterator[PrintedOutput]:
    printed = PrintedOutput()
    with _LOCK:
        _noting.append(printed)
        for category in ("stdout", "stderr"):
            _listen_to(getattr(sys, category, None), category)
    try:
        yield printed
    finally:
        with _LOCK:
            _noting.remove(printed)
            if not _noting:
                _stop_listening()


def _listen_to(stream: Any, category: str) -> None:
    """Wrap the stream's own `write`.

    Another sys.stdout would not do: logging and others hold the stream, and the program may look which it is.
    """
    own = raw.instance_dict(stream)
    if own is None or "write" in own or any(stream is known for known in _wrapped_streams):
        return  # takes no attributes, or has a `write` of its own

    def write(text: Any) -> object:
        written = original(text)
        if type(text) is str:
            for each in tuple(_noting):
                each.note_text(category, text)
        return written

    with contextlib.suppress(Exception):
        original: Callable[[Any], object] = stream.write
        stream.write = write
        _wrapped_streams.append(stream)


def _stop_listening() -> None:
    while _wrapped_streams:
        with contextlib.suppress(Exception):
            del _wrapped_streams.pop().write
