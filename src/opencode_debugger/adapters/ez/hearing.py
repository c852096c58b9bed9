"""The stdout of a debugger taken apart: its messages, and between them what the program printed, byte by byte."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...ez import lines
from ...ez.messages import check_event
from ...ez.protocol import EVENTS

LONGEST = 50 * 1024 * 1024
"""Bytes of a message; what is longer is none."""
BEGINS = re.compile(rb'\{\s{0,8}"(?:type|event|data)"\s{0,8}:')
"""How a message begins: at the start of a line, or behind what the program printed without ending its line."""
WITHIN = re.compile(rb'\{\s{0,8}"type"\s{0,8}:\s{0,8}"event"')
KEYS = (b'"type"', b'"event"', b'"data"')
LONGEST_BEGINNING = 32
TRIES = 8
"""Places in a line at which a message may begin that is not the first thing in it."""
NOWHERE = {"file": "", "line": 0, "column": 1}

Event = tuple[str, dict[str, Any]]


class Hearing:
    def __init__(
        self,
        on_event: Callable[[str, dict[str, Any]], bool | None],
        on_text: Callable[[bytes], None],
        longest: int = LONGEST,
    ) -> None:
        self._on_event = on_event
        """says False to what is no message after all, but printed by the program"""
        self._on_text = on_text
        self._longest = longest
        self._begun = bytearray()
        """of a line that may hold a message, from where that begins"""
        self._waiting: list[bytes] = []
        self._is_busy = False

    def feed(self, data: bytes) -> None:
        """In order: whoever hears a message may be the one who feeds the next."""
        self._waiting.append(data)
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._waiting:
                self._take(self._waiting.pop(0))
        finally:
            self._is_busy = False

    def _take(self, data: bytes) -> None:
        if self._begun and b"\n" not in data:
            self._begun += data
            if len(self._begun) > self._longest:
                self.end()
            return
        if self._begun:
            data = bytes(self._begun) + data
            self._begun = bytearray()
        self._take_apart(data)

    def end(self) -> bool:
        """Whether it broke off in the middle of a message; what there is of it counts as printed."""
        rest, self._begun = bytes(self._begun), bytearray()
        self._text(rest)
        return WITHIN.match(rest) is not None

    def _take_apart(self, data: bytes) -> None:
        start = at = 0
        while (match := BEGINS.search(data, at)) is not None:
            begin = match.start()
            end = data.find(b"\n", match.end())
            if end < 0:
                self._text(data[start:begin])
                self._begun += data[begin:]
                return
            found = _message_in(data, begin, end)
            if found is not None:
                begin, event = found
                self._text(data[start:begin])
                if self._on_event(*event) is False:
                    self._text(data[begin : end + 1])
                start = end + 1
            at = end + 1
        cut = _beginning(data, max(at, len(data) - LONGEST_BEGINNING))
        self._text(data[start:cut])
        self._begun += data[cut:]

    def _text(self, data: bytes) -> None:
        if data:
            self._on_text(data)


def _message_in(data: bytes, begin: int, end: int) -> tuple[int, Event] | None:
    """The message that a line ends with, and where it begins."""
    if b'"event"' not in data[begin:end]:
        return None
    places = [begin, *(each.start() for each in WITHIN.finditer(data, begin + 1, end))][-TRIES:]
    for place in places:
        event = _event(data[place:end])
        if event is not None:
            return place, event
    return None


def _event(line: bytes) -> Event | None:
    try:
        message = lines.decode(line)
    except lines.Malformed:
        return None
    if not isinstance(message, dict):
        return None
    name, data = message.get("event"), message.get("data") or {}
    if not isinstance(name, str) or name not in EVENTS or not isinstance(data, dict):
        return None
    data = _completed(name, data)
    judged = {**data, "reason": "step"} if name == "stopped" else data  # other reasons than we know are welcome
    return None if check_event({**message, "data": judged}) else (name, data)


def _completed(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """With what some debuggers leave out: a stop without its place is a stop."""
    if name == "stopped":
        data = {"reason": "step", **data, "location": data.get("location") or NOWHERE}
    if isinstance(data.get("location"), dict):
        data = {**data, "location": {"column": 1, **data["location"]}}
    if name == "output":
        data = {"category": "stdout", **data}
    return data


def _beginning(data: bytes, at: int) -> int:
    """Where, near the end, the beginning of a message may be."""
    while (at := data.find(b"{", at)) >= 0:
        rest = data[at + 1 :].lstrip()
        if any(key.startswith(rest) or (rest.startswith(key) and not rest[len(key) :].strip()) for key in KEYS):
            return at
        at += 1
    return len(data)
