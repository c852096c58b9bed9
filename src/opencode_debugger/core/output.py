"""The program's output: from bytes in pipes to lines in the log."""

from __future__ import annotations

import asyncio
import codecs

from .events import EventLog

UNFINISHED = 0.02
"""Seconds for which the beginning of a line waits for its rest: unbuffered prints write a line in two pieces."""
LONGEST = 32 * 1024
LONGEST_PROMPT = 1000


class Output:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("backslashreplace") for name in ("stdout", "stderr")
        }
        self._pending = dict.fromkeys(self._decoders, "")
        self._begun = dict.fromkeys(self._decoders, 0.0)
        """when the line that is pending began"""
        self._timer: asyncio.TimerHandle | None = None
        self._lines: dict[str, str] = {}
        """what stands in the line that each is in, the one written to last at the end"""

    @property
    def prompt(self) -> str:
        """What was written last and not ended by a newline, as a terminal would show it."""
        line = next((line for line in reversed(self._lines.values()) if line), "")
        return line.rstrip("\r").rpartition("\r")[2]

    def answered(self) -> None:
        """The program has its input: in a terminal the line would have ended with it."""
        self._lines.clear()

    def feed(self, category: str, data: bytes) -> None:
        new = self._decoders[category].decode(data)
        end = new.rfind("\n")
        line = self._lines.pop(category, "") if end < 0 else ""
        self._lines[category] = (line + new[max(end + 1, len(new) - LONGEST_PROMPT) :])[-LONGEST_PROMPT:]
        text = self._pending[category] + new
        *lines, rest = text.split("\n")
        for line in lines:
            self._add(category, line + "\n")
        while len(rest) > LONGEST:
            self._add(category, rest[:LONGEST])
            rest = rest[LONGEST:]
        if rest:
            self._wait_for_the_rest(category, bool(lines) or not self._pending[category])
        self._pending[category] = rest

    def _wait_for_the_rest(self, category: str, is_new: bool) -> None:
        loop = asyncio.get_running_loop()
        if is_new:
            self._begun[category] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(UNFINISHED, self._flush_old)

    def _flush_old(self) -> None:
        """Where lines come fast, there is always one that has just begun: its rest is on the way."""
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        for category, rest in self._pending.items():
            wait = self._begun[category] + UNFINISHED - now
            if rest and wait <= 0:
                self._pending[category] = ""
                self._log.add_output(category, rest)
            elif rest and self._timer is None:
                self._timer = loop.call_later(max(wait, 0.001), self._flush_old)

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
        self._lines.clear()
        for category, decoder in self._decoders.items():
            self._pending[category] += decoder.decode(b"", final=True)
        self.flush()
