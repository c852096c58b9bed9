"""The stdout of a debugger taken apart: its messages, and between them what the program printed, byte by byte."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from ...ez import lines
from ...ez.messages import EventData, check_event
from ...ez.protocol import EVENTS

BEGINS = re.compile(rb'\{\s{0,8}"(?:type|event|data)"\s{0,8}:')
"""How a message begins: at the start of a line, or behind what the program printed without ending its line."""
WITHIN = re.compile(rb'\{\s{0,8}"type"\s{0,8}:\s{0,8}"event"')
KEYS = (b'"type"', b'"event"', b'"data"')
NOWHERE = {"file": "", "line": 0, "column": 1}
DEFAULTS: dict[str, dict[str, Any]] = {"stopped": {"reason": "step"}, "output": {"category": "stdout"}}

Event = tuple[str, EventData]


@dataclass(eq=False)
class OutputSplitter:
    on_event: Callable[[str, EventData], bool | None]
    """says False to what is no message after all, but printed by the program"""
    on_text: Callable[[bytes], None]
    longest: int = 50 * 1024 * 1024
    """bytes of a message; what is longer is none"""
    _begun: bytearray = field(default_factory=bytearray)
    """of a line that may hold a message, from where that begins"""
    _waiting: list[bytes] = field(default_factory=list)
    _is_busy: bool = False

    def feed(self, data: bytes) -> None:
        """Take what came, in order: whoever hears a message may be the one who feeds the next."""
        self._waiting.append(data)
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._waiting:
                self._take_data(self._waiting.pop(0))
        finally:
            self._is_busy = False

    def _take_data(self, data: bytes) -> None:
        if self._begun and b"\n" not in data:
            self._begun += data
            if len(self._begun) > self.longest:
                self.end()
            return
        if self._begun:
            data = bytes(self._begun) + data
            self._begun = bytearray()
        self._take_apart(data)

    def end(self) -> bool:
        """Say whether it broke off in the middle of a message; what there is of that counts as printed."""
        rest, self._begun = bytes(self._begun), bytearray()
        self._pass_text(rest)
        return WITHIN.match(rest) is not None

    def _take_apart(self, data: bytes) -> None:
        start = at = 0
        while (match := BEGINS.search(data, at)) is not None:
            begin = match.start()
            end = data.find(b"\n", match.end())
            if end < 0:
                self._pass_text(data[start:begin])
                self._begun += data[begin:]
                return
            found = _message_in(data, begin, end)
            if found is not None:
                begin, event = found
                self._pass_text(data[start:begin])
                if self.on_event(*event) is False:
                    self._pass_text(data[begin : end + 1])
                start = end + 1
            at = end + 1
        cut = _find_beginning(data, max(at, len(data) - 32))
        self._pass_text(data[start:cut])
        self._begun += data[cut:]

    def _pass_text(self, data: bytes) -> None:
        if data:
            self.on_text(data)


def _message_in(data: bytes, begin: int, end: int) -> tuple[int, Event] | None:
    """Find the message that a line ends with, and where it begins."""
    if b'"event"' not in data[begin:end]:
        return None
    places = [begin, *(each.start() for each in WITHIN.finditer(data, begin + 1, end))][-8:]
    return next(((place, event) for place in places if (event := _read_event(data[place:end]))), None)


def _read_event(line: bytes) -> Event | None:
    try:
        message = lines.decode_line(line)
    except lines.Malformed:
        return None
    known: dict[str, Any] = message if isinstance(message, dict) else {}
    name, data = known.get("event"), known.get("data") or {}
    if not isinstance(name, str) or name not in EVENTS or not isinstance(data, dict):
        return None
    # Some debuggers leave things out: a stop without its place is a stop.
    data = DEFAULTS.get(name, {}) | data
    if name == "stopped":
        data["location"] = data.get("location") or NOWHERE
    if isinstance(data.get("location"), dict):
        data["location"] = {"column": 1, **data["location"]}
    judged = {**data, "reason": "step"} if name == "stopped" else data  # other reasons than we know are welcome
    return None if check_event({**known, "data": judged}) else (name, cast("EventData", data))


def _find_beginning(data: bytes, at: int) -> int:
    """Find where, near the end, the beginning of a message may be."""
    while (at := data.find(b"{", at)) >= 0:
        rest = data[at + 1 :].lstrip()
        if any(key.startswith(rest) or (rest.startswith(key) and not rest[len(key) :].strip()) for key in KEYS):
            return at
        at += 1
    return len(data)
