"""The program's output: from bytes in pipes to lines in the log."""

from __future__ import annotations

import asyncio
import codecs

from .events import EventLog

UNFINISHED = 0.02
"""Seconds for which the beginning of a line waits for its rest: unbuffered prints write a line in two pieces."""
LONGEST = 32 * 1024


class Output:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("backslashreplace") for name in ("stdout", "stderr")
        }
        self._pending = dict.fromkeys(self._decoders, "")
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, category: str, data: bytes) -> None:
        text = self._pending[category] + self._decoders[category].decode(data)
        *lines, rest = text.split("\n")
        for line in lines:
            self._add(category, line + "\n")
        while len(rest) > LONGEST:
            self._add(category, rest[:LONGEST])
            rest = rest[LONGEST:]
        self._pending[category] = rest
        if rest and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UNFINISHED, self.flush)

    def _add(self, category: str, line: str) -> None:
        for start in range(0, len(line), LONGEST):
            self._log.add_output(category, line[start : start + LONGEST])

    def flush(self) -> None:
        """Shows unfinished lines too: a prompt, or whatever was printed before a stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for category, rest in self._pending.items():
            if rest:
                self._pending[category] = ""
                self._log.add_output(category, rest)

    def finish(self) -> None:
        for category, decoder in self._decoders.items():
            self._pending[category] += decoder.decode(b"", final=True)
        self.flush()
