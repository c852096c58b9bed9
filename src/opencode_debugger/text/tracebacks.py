"""Reads tracebacks as Python prints them, for the places that they name."""

from __future__ import annotations

import re
from typing import NamedTuple

from .paths import is_library

_BEGIN = re.compile(r"^[ |+-]*(?:Exception Group )?Traceback \(most recent call last\):$", re.MULTILINE)
_FRAME = re.compile(r'^[ |]*File "([^"\n]*)", line (\d+)(?:, in (.*))?$', re.MULTILINE)


class RaisedIn(NamedTuple):
    path: str
    line: int
    function: str


def own_places(traceback: str) -> list[list[RaisedIn]]:
    """Return the places in the program's own code of each exception of a chain, the last exception and call first."""
    parts = _BEGIN.split(traceback)
    return [_own_frames(part) for part in reversed(parts[1:] or parts)]


def _own_frames(text: str) -> list[RaisedIn]:
    found = [RaisedIn(path, int(line), function) for path, line, function in _FRAME.findall(text)]
    return [frame for frame in reversed(found) if not is_library(frame.path)]
